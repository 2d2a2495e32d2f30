"""mini-swe-agent: trajectories (`.traj.json`), as a list of messages or an object around it."""

from kedge.formats.mini_swe_agent.reader import FORMAT

__all__ = ["FORMAT"]

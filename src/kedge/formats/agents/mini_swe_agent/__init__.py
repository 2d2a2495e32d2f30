"""mini-swe-agent: trajectories (`.traj.json`), as a list of messages or an object around it."""

from kedge.formats.agents.mini_swe_agent.reader import FORMAT

__all__ = ["FORMAT"]

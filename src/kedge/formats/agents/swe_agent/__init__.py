"""SWE-agent: trajectories (`.traj`), in text mode and with function calls."""

from kedge.formats.agents.swe_agent.reader import FORMAT

__all__ = ["FORMAT"]

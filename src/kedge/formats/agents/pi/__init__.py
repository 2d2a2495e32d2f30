"""pi: session files (JSON Lines)."""

from kedge.formats.agents.pi.reader import FORMAT

__all__ = ["FORMAT"]

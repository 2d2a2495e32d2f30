"""pi: session files (JSON Lines)."""

from kedge.formats.pi.reader import FORMAT

__all__ = ["FORMAT"]

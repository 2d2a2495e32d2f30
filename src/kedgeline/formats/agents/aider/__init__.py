"""aider: chat histories (`.aider.chat.history.md`) and chat transcripts in web pages."""

from kedgeline.formats.agents.aider.reader import FORMAT

__all__ = ["FORMAT"]

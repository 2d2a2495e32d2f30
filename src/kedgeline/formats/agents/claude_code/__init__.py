"""Claude Code: session files (JSON Lines) and web exports."""

from kedgeline.formats.agents.claude_code.reader import FORMAT

__all__ = ["FORMAT"]

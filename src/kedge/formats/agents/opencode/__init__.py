"""OpenCode: exported sessions, one JSON document each."""

from kedge.formats.agents.opencode.reader import FORMAT

__all__ = ["FORMAT"]

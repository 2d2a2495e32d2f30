"""Gemini CLI: recorded chats, a JSON document or, in newer versions, JSON Lines."""

from kedge.formats.agents.gemini_cli.reader import FORMAT

__all__ = ["FORMAT"]

"""Codex: rollout files (JSON Lines)."""

from kedge.formats.agents.codex.reader import FORMAT

__all__ = ["FORMAT"]

"""Codex: rollout files (JSON Lines)."""

from kedge.formats.codex.reader import FORMAT

__all__ = ["FORMAT"]

"""Codex: rollout files (JSON Lines)."""

from kedgeline.formats.agents.codex.reader import FORMAT

__all__ = ["FORMAT"]

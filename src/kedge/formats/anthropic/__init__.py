"""Anthropic's Messages API: lists of messages, and whole requests."""

from kedge.formats.anthropic.reader import FORMAT

__all__ = ["FORMAT"]

"""Anthropic's Messages API: lists of messages, and whole requests."""

from kedge.formats.providers.anthropic.reader import FORMAT

__all__ = ["FORMAT"]

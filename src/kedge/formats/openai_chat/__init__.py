"""OpenAI's Chat Completions API, and the many that speak it: lists of messages, whole requests."""

from kedge.formats.openai_chat.reader import FORMAT

__all__ = ["FORMAT"]

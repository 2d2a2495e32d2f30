"""OpenAI's Chat Completions API, and the many that speak it: lists of messages, whole requests."""

from kedge.formats.providers.openai_chat.reader import FORMAT

__all__ = ["FORMAT"]

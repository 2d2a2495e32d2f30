"""OpenAI's Responses API: lists of items, requests and responses."""

from kedge.formats.providers.openai_responses.reader import FORMAT

__all__ = ["FORMAT"]

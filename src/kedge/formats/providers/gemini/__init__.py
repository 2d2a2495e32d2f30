"""Google's Gemini API: lists of contents, and whole requests."""

from kedge.formats.providers.gemini.reader import FORMAT

__all__ = ["FORMAT"]

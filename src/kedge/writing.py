"""Writing a transcript as the message list of a provider's API."""

from __future__ import annotations

from kedge.formats import Written, load_provider
from kedge.model import Transcript


def write(transcript: Transcript, *, to: str) -> Written:
    """The transcript in a provider's shape.

    In the shape it was read from, the messages are equal to those that were read. In another, they
    are legal there, and what has no place is named in `left_out`."""
    return load_provider(to).write(transcript)

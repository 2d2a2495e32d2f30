"""The list of messages that a provider gets of a session."""

from __future__ import annotations

from msgspec.structs import replace

from kedge.formats import Written
from kedge.living.tail import behind
from kedge.model import Transcript, Turn
from kedge.validity import PROVIDERS, problems
from kedge.writing import write

JOINED = " twice"
"""Ends what is found where messages of one role follow each other: a provider joins them."""
UNLIKE = "a message is not of the provider's shape: the list is as it came"


def sendable(transcript: Transcript, provider: str) -> Written:
    """The transcript in a provider's shape. Messages stay as they came and in the order they came
    in, unless the provider refuses that: words may come while a call runs, and a result when the
    next turn has begun. What it would still refuse is said in `left_out`."""
    written = write(transcript, to=provider)
    if not (found := _refused(provider, written)):
        return written
    repaired = write(_cut(transcript), to=provider)
    left = _refused(provider, repaired)
    if len(left) >= len(found):
        repaired, left = written, found
    return repaired._replace(left_out=(*repaired.left_out, *left))


def _refused(provider: str, written: Written) -> list[str]:
    if provider not in PROVIDERS:
        return []
    try:
        found = problems(provider, written.messages)
    except (KeyError, TypeError, AttributeError, ValueError):
        return [UNLIKE]
    return [f"{provider} refuses it: {one}" for one in found if not one.endswith(JOINED)]


def _cut(transcript: Transcript) -> Transcript:
    """The transcript as one whose list lacks a message: such a list is made legal, and one that is
    there from its first message on is written as it was."""

    def moved(turn: Turn) -> Turn:
        return replace(turn, messages=behind(turn.messages, 1))

    pending = transcript.pending
    return replace(
        transcript,
        turns=tuple(map(moved, transcript.turns)),
        pending=moved(pending) if pending else None,
    )

"""A whole session as one summary, for a hand-off."""

from __future__ import annotations

from kedge.facts import facts_of
from kedge.model import Summary, Transcript
from kedge.summary import build


def summarize(transcript: Transcript) -> Summary:
    """All facts of a session, words that wait for an answer included. Render it at any length with
    `kedge.summary`."""
    turns = (*transcript.turns, *([transcript.pending] if transcript.pending else ()))
    return build(facts_of(transcript), through=turns[-1].index if turns else -1)

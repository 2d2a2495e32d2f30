"""Turns made ready: numbered, with their exchanges, and counted; those read are already."""

from __future__ import annotations

from msgspec.structs import replace

from kedge.earlier import numbered
from kedge.model import Transcript, Turn
from kedge.tokens import Counter, tokens_of


def prepared(transcript: Transcript, counter: Counter) -> Transcript:
    ready = numbered(transcript)
    turns = tuple(_counted(turn, counter) for turn in ready.turns)
    return ready if turns == ready.turns else replace(ready, turns=turns)


def _counted(turn: Turn, counter: Counter) -> Turn:
    return (
        turn
        if turn.tokens or turn.is_blank
        else replace(turn, tokens=tokens_of(turn, counter).total)
    )

"""Turns made ready: numbered, with their exchanges, and counted; those read are already."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from kedge.model import Transcript, Turn
from kedge.tokens import Counter, tokens_of

_MARK = re.compile(r"\[t\d[^\]]{0,200}\]")
_NUMBER = re.compile(r"\d{1,9}")


def prepared(transcript: Transcript, counter: Counter) -> Transcript:
    """The transcript with turns that were built by hand brought in order.

    Where a summary of an earlier compaction leads the list, numbers go on behind those it cites."""
    turns = transcript.turns
    first = _cited(transcript)
    if not _is_numbered(turns, first):
        exchanges = _exchanges(turns)
        turns = tuple(
            replace(turn, index=first + place, exchange=exchange)
            for place, (turn, exchange) in enumerate(zip(turns, exchanges, strict=True))
        )
    turns = tuple(_counted(turn, counter) for turn in turns)
    return transcript if turns == transcript.turns else replace(transcript, turns=turns)


def _is_numbered(turns: Sequence[Turn], first: int) -> bool:
    base = turns[0].index if turns else 0
    return base >= first and all(turn.index == base + n for n, turn in enumerate(turns))


def _exchanges(turns: Sequence[Turn]) -> Iterator[int]:
    """The exchanges as they are; those of turns that were never given one begin with words."""
    if any(turn.exchange for turn in turns):
        yield from (turn.exchange for turn in turns)
        return
    number = -1
    for turn in turns:
        number += bool(turn.user_message) or number < 0
        yield number


def _counted(turn: Turn, counter: Counter) -> Turn:
    return turn if turn.tokens else replace(turn, tokens=tokens_of(turn, counter).total)


def _cited(transcript: Transcript) -> int:
    """The number behind the last that an earlier summary of ours cites."""
    ours = [one for one in transcript.compactions if one.by == "kedge" and not one.turn]
    marks = _MARK.findall(ours[-1].summary) if ours else []
    return max((int(n) + 1 for mark in marks for n in _NUMBER.findall(mark)), default=0)

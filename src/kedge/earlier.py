"""What an earlier compaction of ours left in a conversation: its summary, and its numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from kedge.model import Entry, SectionName, Summary, Transcript, Turn
from kedge.summary import entries_of
from kedge.viewing import unwrapped

ELSEWHERE: SectionName = "Current State"
"""Where the lines of an earlier summary go that has no sections."""
_CURRENT = re.compile(r'^(?:Now|Asked last, answered in t\d+): (?=")')
_MARK = re.compile(r"\[t\d[^\]]{0,200}\]")
_NUMBER = re.compile(r"\d{1,9}")


def earlier_summary(transcript: Transcript, *, before: int | None = None) -> Summary:
    """What the newest summary of ours in a conversation tells, up to a position in its turns."""
    for earlier in reversed(transcript.compactions):
        if earlier.by == "kedge" and (before is None or earlier.turn < before):
            return told(unwrapped(earlier.summary))
    return Summary()


def told(text: str) -> Summary:
    """The entries of a text, each as it stands there; what was asked last then is no longer."""
    entries = tuple(
        replace(entry, text=_CURRENT.sub("Asked: ", entry.text)) for entry in entries_of(text)
    )
    if not entries:
        lines = (line.removeprefix("- ") for line in text.split("\n") if line.strip())
        entries = tuple(Entry(section=ELSEWHERE, text=line) for line in lines)
    return replace(Summary(), carried=entries)


def numbered(transcript: Transcript) -> Transcript:
    """With turns that were built by hand, or follow a summary of ours, brought in order: numbers go
    on behind those it cites."""
    turns, first = transcript.turns, _cited(transcript)
    if _is_numbered(turns, first):
        return transcript
    exchanges = _exchanges(turns)
    turns = tuple(
        replace(turn, index=first + place, exchange=exchange)
        for place, (turn, exchange) in enumerate(zip(turns, exchanges, strict=True))
    )
    pending = transcript.pending
    if pending is not None:
        pending = replace(pending, index=first + len(turns))
    return replace(transcript, turns=turns, pending=pending)


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


def _cited(transcript: Transcript) -> int:
    """The number behind the last that an earlier summary of ours cites."""
    ours = [one for one in transcript.compactions if one.by == "kedge" and not one.turn]
    marks = _MARK.findall(ours[-1].summary) if ours else []
    return max((int(n) + 1 for mark in marks for n in _NUMBER.findall(mark)), default=0)

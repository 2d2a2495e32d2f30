"""What an earlier compaction of ours left in a conversation: its summary, and its numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from msgspec.structs import replace

from kedge.model import Entry, SectionName, Summary, Transcript, Turn
from kedge.summary import entries_of
from kedge.viewing import is_wrapped, unwrapped

ELSEWHERE: SectionName = "Current State"
"""Where the lines of an earlier summary go that has no sections."""
_CURRENT = re.compile(r'^(?:Now|Asked last, answered in t\d+): (?=")')
_AT_END = re.compile(r"\[t(?:\d{1,9}-)?(\d{1,9})\]$", re.MULTILINE)
"""The mark of a line that stands in no section."""


def earlier_summary(transcript: Transcript, *, before: int | None = None) -> Summary:
    """What the summary of ours tells that leads a conversation, up to a position in its turns."""
    text = leading(transcript)
    return told(text) if text and before != 0 else Summary()


def leading(transcript: Transcript) -> str:
    """The summary that a compaction of ours put before all else; only there is it ours. What looks
    like one and stands further on, or has another form, somebody else wrote."""
    ours = next((one for one in transcript.compactions if one.by == "kedge"), None)
    return unwrapped(ours.summary) if ours and not ours.turn and is_wrapped(ours.summary) else ""


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
    text = leading(transcript)
    entries = entries_of(text)
    turns = (turn for entry in entries for turn in entry.turns)
    marks = () if entries else map(int, _AT_END.findall(text))
    return max((*turns, *marks), default=-1) + 1

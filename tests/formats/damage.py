"""Session files line by line, and what is read of them.

A file is a list of rows, one per physical line. A row knows which records stand on it, which of
them can be read in spite of what was done to the line, and what has to be reported. So the oracle
needs no expected values: what an undamaged record reads as is taken from the clean file.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from kedgeline.formats import Format
from kedgeline.model import Damage, Opaque, Text, Transcript, Turn
from kedgeline.pipeline.read import Reading, collect, open_source

MARKER = re.compile(r"mark(\d{3})x")
Key = tuple[str, str]
"""Where something was found (who said it, in which conversation) and the exact text."""


class Row(NamedTuple):
    """One physical line, its end included."""

    data: bytes
    whole: tuple[int, ...] = ()
    """Records that must be read from it exactly."""
    altered: tuple[tuple[int, str], ...] = ()
    """Records that must be read with this text behind their marker."""
    parts: tuple[int, ...] = ()
    """Records of which something stands here; they may be lost, but not silently."""
    must: frozenset[str] = frozenset()
    """One of these kinds of damage must be reported for this line."""
    may: bool = False
    """Damage may be reported although none has to be."""
    unknowable: bool = False
    """Nothing in the line shows that it is damaged, so that it may be read as anything."""


class Expected(NamedTuple):
    key: Key
    turn: int


class Session(NamedTuple):
    format: Format
    rows: tuple[Row, ...]
    """The clean file; row and record have the same number."""
    expected: dict[int, Expected]
    """What each record with a marker reads as."""
    keys: frozenset[Key]
    """Everything that is read from the clean file."""
    answers: dict[int, int]
    """Record of a result to the record of its call."""
    ignored: int
    identified: frozenset[int]
    """Records that carry an id, so that a second copy is known for one."""
    structured: bool
    """Whether a line shows by itself that it is not whole."""


class Found(NamedTuple):
    keys: dict[Key, int]
    """With the turn each stands in."""
    ids: dict[Key, str]
    """The call's id, for calls and results."""
    damage: list[Damage]
    ignored: int


def session_of(
    format: Format,
    lines: Sequence[bytes],
    *,
    identified: Callable[[int], bool] = lambda _: False,
    structured: bool = True,
) -> Session:
    """A session out of clean lines; a marker names the number of the line it stands on."""
    rows = tuple(Row(data=line + b"\n", whole=(number,)) for number, line in enumerate(lines))
    clean = read(format, rows)
    assert clean.damage == [], f"{format.name}: a clean session reads as damaged"
    expected: dict[int, Expected] = {}
    for key, turn in clean.keys.items():
        for number in MARKER.findall(key[1]):
            assert int(number) not in expected, f"{format.name}: record {number} is read twice"
            expected[int(number)] = Expected(key, turn)
    marked = {int(n) for n, line in enumerate(lines) if MARKER.search(line.decode())}
    assert marked == set(expected), f"{format.name}: some of the clean records are not read"
    calls = {clean.ids[e.key]: n for n, e in expected.items() if is_one(e.key, {"call"})}
    answers = {
        number: calls[clean.ids[found.key]]
        for number, found in expected.items()
        if is_one(found.key, {"result"}) and clean.ids[found.key] in calls
    }
    return Session(
        format=format,
        rows=rows,
        expected=expected,
        keys=frozenset(clean.keys),
        answers=answers,
        ignored=clean.ignored,
        identified=frozenset(filter(identified, range(len(lines)))),
        structured=structured,
    )


def read(format: Format, rows: Sequence[Row]) -> Found:
    reading = Reading(open_source(b"".join(row.data for row in rows)), format)
    transcripts = collect(reading)
    keys: dict[Key, int] = {}
    ids: dict[Key, str] = {}
    for transcript in transcripts:
        for key, turn, call_id in _spoken(transcript):
            keys[key] = turn
            ids[key] = call_id
    return Found(keys, ids, reading.log.damage, reading.log.ignored.total())


def _spoken(transcript: Transcript) -> Iterator[tuple[Key, int, str]]:
    prefix = f"{transcript.agent}/" if transcript.agent else ""
    for turn in (*transcript.turns, *((transcript.pending,) if transcript.pending else ())):
        for where, text in _said(turn):
            yield (prefix + where, text), turn.index, ""
        for call in turn.tool_calls:
            yield (prefix + "call", f"{call.tool} {call.parameters}"), turn.index, call.id
        for result in turn.tool_results:
            key = (prefix + "result", f"{result.success} {result.output}")
            yield key, turn.index, result.call_id
    for where, text in _beside(transcript):
        yield (where, text), 0, ""
    for agent in transcript.agents:
        yield from _spoken(agent)


def _beside(transcript: Transcript) -> Iterator[Key]:
    """What a transcript holds beside its turns."""
    for message in transcript.head:
        yield from (("system", part.text) for part in message.parts if isinstance(part, Text))
    for compaction in transcript.compactions:
        yield "compaction", compaction.summary
    for change in transcript.session.changes:
        if change.name == "title":
            yield "title", change.value


def _said(turn: Turn) -> Iterator[Key]:
    said = {"user": turn.user_message, "assistant": turn.assistant_response}
    for who, texts in (said | {"thinking": turn.thinking}).items():
        yield from ((who, text) for text in texts.split("\n\n") if text)
    for note in turn.notes:
        yield f"note {note.kind}", note.text
    for message in turn.messages:
        for part in message.parts:
            if isinstance(part, Opaque):
                yield "opaque", str(part.wire)


def is_one(key: Key, kinds: set[str]) -> bool:
    return key[0].rpartition("/")[2] in kinds

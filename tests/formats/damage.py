"""Session files line by line, what is done to them, and what must then be read and reported.

A row is one physical line. It knows which records can be read in spite of what was done to it, and
what has to be reported. What an undamaged record reads as is taken from the clean file.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from functools import cache
from random import Random
from typing import Any, NamedTuple

from kedgeline.formats import Format, load_format
from kedgeline.model import Opaque, Text, Transcript, Turn
from kedgeline.pipeline.read import Reading, collect, open_source
from tests.formats.sessions import TEXTS, lines_of

MARKER = re.compile(r"mark(\d{3})x")
Key = tuple[str, str]
"""Where something was found (who said it, in which conversation) and the exact text."""
ANY = frozenset({"torn", "json", "shape", "utf8", "nul", "too_deep", "fused"})
RELATIONS = {"orphan_result", "unanswered_call", "duplicate"}
"""Damage that is about two records, and may be reported at the one that is not broken."""
NOBODY = ("opaque", "note injected", "title")
"""Places where text cannot be taken for anybody's words, in a sub-agent's conversation too."""


class Row(NamedTuple):
    data: bytes
    """With its line end."""
    whole: tuple[int, ...] = ()
    """Records that must be read from it exactly."""
    parts: tuple[int, ...] = ()
    """Records of which something stands here; they may be lost, but not silently."""
    must: frozenset[str] = frozenset()
    """One of these kinds of damage must be reported for this line."""
    may: bool = False
    """Damage may be reported although none has to be."""
    behind: str = ""
    """What stands behind the marker of a whole record."""
    unknowable: bool = False
    """Nothing in the line shows that it is damaged, so that it may be read as anything."""


class Session(NamedTuple):
    format: Format
    rows: tuple[Row, ...]
    """The clean file; row and record have the same number."""
    keys: dict[int, Key]
    """What each record with a marker reads as."""
    found: Found


class Found(NamedTuple):
    keys: dict[Key, int]
    """With the turn each stands in."""
    damage: list[Any]
    ignored: int


@cache
def session(name: str) -> Session:
    format = load_format(name)
    rows = tuple(Row(line + b"\n", (number,)) for number, line in enumerate(lines_of(name)))
    clean = read(format, rows)
    assert clean.damage == []
    keys = {int(number): key for key in clean.keys for number in MARKER.findall(key[1])}
    marked = {n for n, row in enumerate(rows) if MARKER.search(row.data.decode())}
    assert marked == keys.keys(), f"{name}: some of the clean records are not read"
    return Session(format, rows, keys, clean)


def read(format: Format, rows: Sequence[Row]) -> Found:
    data = b"".join(row.data for row in rows)
    reading = Reading(open_source(data), format)
    try:
        transcripts = collect(reading)
    except Exception as error:
        error.add_note(f"while reading {data[:4000]!r}")
        raise
    keys = {key: turn for one in transcripts for key, turn in _spoken(one)}
    return Found(keys, reading.log.damage, reading.log.ignored.total())


def _spoken(transcript: Transcript) -> Iterator[tuple[Key, int]]:
    prefix = f"{transcript.agent}/" if transcript.agent else ""
    for turn in (*transcript.turns, *((transcript.pending,) if transcript.pending else ())):
        for where, text in _said(turn):
            yield (prefix + where, text), turn.index
    for message in transcript.head:
        yield from ((("system", part.text), 0) for part in message.parts if isinstance(part, Text))
    for change in transcript.session.changes:
        if change.name == "title":
            yield ("title", change.value), 0
    for agent in transcript.agents:
        yield from _spoken(agent)


def _said(turn: Turn) -> Iterator[Key]:
    said = {"user": turn.user_message, "assistant": turn.assistant_response}
    for who, texts in (said | {"thinking": turn.thinking}).items():
        yield from ((who, text) for text in texts.split("\n\n") if text)
    yield from ((f"note {note.kind}", note.text) for note in turn.notes)
    yield from (("call", f"{call.tool} {call.parameters}") for call in turn.tool_calls)
    yield from (("result", f"{one.success} {one.output}") for one in turn.tool_results)
    for message in turn.messages:
        for part in message.parts:
            if isinstance(part, Opaque):
                yield "opaque", str(part.wire)
            elif message.role == "system" and isinstance(part, Text):
                yield "system", part.text


# The oracle: everything that is wrong with how a damaged file is read.


def complaints(session: Session, rows: Sequence[Row]) -> Iterator[str]:
    found = read(session.format, rows)
    reports: dict[int, set[str]] = {}
    for damage in found.damage:
        reports.setdefault(damage.line, set()).add(damage.kind)
    start, starts = 0, []
    for line, row in enumerate(rows):
        starts.append(start)
        start += len(row.data)
        if row.must and not row.must & reports.get(line, set()):
            yield f"line {line}: none of {sorted(row.must)} reported, but {reports.get(line)}"
    yield from _lost(session, rows, found)
    yield from _silent(session, rows, found, reports)
    yield from _misplaced(session, rows, found)
    troubled = sorted(n for row in rows for n in row.whole) != list(range(len(session.rows)))
    for damage in found.damage:
        row = rows[damage.line]
        if damage.offset != starts[damage.line] and len(rows) > 1:  # one line may be a document
            yield f"line {damage.line} begins at {starts[damage.line]}, not at {damage.offset}"
        if not (row.must or row.may or (damage.kind in RELATIONS and troubled)):
            yield f"line {damage.line} is sound, but {damage.kind} was reported: {damage.detail}"


def _lost(session: Session, rows: Sequence[Row], found: Found) -> Iterator[str]:
    """What is whole must be read, and in its order."""
    last = 0
    for record, behind in [(record, row.behind) for row in rows for record in row.whole]:
        marker = f"mark{record:03d}x"
        where, text = session.keys.get(record, ("", ""))
        turn = found.keys.get((where, text.replace(marker, marker + behind)))
        if where and turn is None:
            yield f"record {record} is whole and was not read: {where}"
        elif where in ("assistant", "call") and turn is not None:
            if turn < last:
                yield f"record {record} is in turn {turn}, behind turn {last}"
            last = turn


def _silent(
    session: Session, rows: Sequence[Row], found: Found, reports: dict[int, set[str]]
) -> Iterator[str]:
    """What is not found must have been reported, or counted as unknown, or stand elsewhere."""
    lost = [
        record
        for line, row in enumerate(rows)
        for record in (() if row.unknowable or line in reports else row.parts)
        if record in session.keys
        and session.keys[record] not in found.keys
        and session.keys[record][0] != "title"
    ]
    elsewhere = found.keys.keys() - session.found.keys.keys()
    if len(lost) > len(elsewhere) + found.ignored - session.found.ignored:
        yield f"records {lost} vanished without a word"


def _misplaced(session: Session, rows: Sequence[Row], found: Found) -> Iterator[str]:
    """Nobody speaks in another's name."""
    mingled = {n for row in rows if len(row.parts) > 1 or row.unknowable for n in row.parts}
    for where, text in found.keys.keys() - session.found.keys.keys():
        for number in map(int, MARKER.findall(text)):
            moved = where != session.keys[number][0] and where.rpartition("/")[2] not in NOBODY
            if moved and number not in mingled:
                yield f"record {number} was {session.keys[number][0]!r} and is now {where!r}"


# What happens to lines.

NUL_BLOCKS = (1, 2, 7, 64, 4096)
BAD_UTF8 = (
    b"\xff",
    b"\x80",
    b"\xc3",
    b"\xc0\xaf",
    b"\xed\xa0\xbd",
    b"\xf5\x80\x80\x80",
    b"\xe7\x81",
)
SURROGATES = (
    (rb"\ud83d", "\ufffd"),
    (rb"\udc00", "\ufffd"),
    (rb"\ude00\ud83d", "\ufffd\ufffd"),
    (rb"\ud83d\ud83d\ude00", "\ufffd\U0001f600"),
)
GARBAGE = (
    *(b"lamp", b"17", b'"lamp"', b"[1, 2]", b"null", b"{", b"}", b"[", b'{"', b"<html>"),
    *(b"{]", b"NaN", b'{"type": "user"', b"}}{{", b",", b"[" * 100_000, b'[{"a":' * 600),
    *(b'{"role": "user", "content": [{"a": {}}, {"b"', b'{"a":' * 100_000),
)
STRAY = (b"lamp", b'"}}', b"}", b"]}", b",", b"null", b"0")
BLANK = (b"\n", b"  \n", b"\r\n", b"\t\n")
WRONG = (
    *("null", "true", "7", "-1", "3.5", "1e400", "NaN", "1" * 30, "1" * 5_000, '"lamp"', '""'),
    *("[]", '["lamp"]', "[null]", "{}", '{"x":1}', "[" * 300 + "]" * 300, "[" * 700 + "]" * 700),
)
EMPTY = ("null", '""', "[]", "{}", "[null]", "1e400", "NaN", "1" * 5_000)
"""Values that also stand for nothing, or are read as null; the field may as well be absent."""
FLAGS = ("isMeta", "isSidechain", "thought", "isError")
"""Fields that are as good as absent when they are not true."""
LOOSE = frozenset(
    {"timestamp", "cwd", "version", "usage", "model", "signature", "thinkingSignature", "stdout"}
    | {"durationMs", "encrypted_content"}
)
"""Fields that say nothing about who said what; a wrong value in one loses no words."""

Edit = Callable[[Sequence[Row], Random], list[Row]]


def tear(rows: Sequence[Row], chance: Random) -> list[Row]:
    """The end of a record never reached the disk."""
    return [Row(_begun(rows[0], chance) + b"\n", parts=rows[0].whole, must=frozenset({"torn"}))]


def tear_into_next(rows: Sequence[Row], chance: Random) -> list[Row]:
    """A client died while writing, and another one went on in the same file."""
    data = _begun(rows[0], chance) + rows[1].data
    return [Row(data, rows[1].whole, parts=rows[0].whole, must=frozenset({"torn", "fused"}))]


def tear_deep_into_next(rows: Sequence[Row], chance: Random) -> list[Row]:
    inner = b'{"type":"user","content":[{"role":"user"}]},' * chance.randrange(40)
    data = b'{"type":"user","uuid":"u0","role":"user","content":[' + inner
    data += b'{"a":' * chance.randrange(1, 20) + chance.choice((b'"x', b'"', b"", b"[1,", b"tru"))
    return [Row(data + rows[0].data, rows[0].whole, must=frozenset({"torn", "fused"}))]


def fuse(rows: Sequence[Row], chance: Random) -> list[Row]:
    """The line end between records is missing."""
    data = chance.choice((b"", b" ", b"\r")).join(row.data[:-1] for row in rows) + b"\n"
    return [Row(data, rows[0].whole + rows[1].whole, must=frozenset({"fused"}))]


def fuse_with_torn(rows: Sequence[Row], chance: Random) -> list[Row]:
    data = rows[0].data[:-1] + _begun(rows[1], chance) + b"\n"
    return [Row(data, rows[0].whole, parts=rows[1].whole, must=frozenset({"torn", "fused"}))]


def stray_text(rows: Sequence[Row], chance: Random) -> list[Row]:
    """The rest of something else stands before or behind a record."""
    stray, line = chance.choice(STRAY), rows[0].data[:-1]
    data = chance.choice((stray + line, line + stray))
    return [Row(data + b"\n", rows[0].whole, must=ANY)]


def nul_inside(rows: Sequence[Row], chance: Random) -> list[Row]:
    """NUL bytes at the beginning of a line or anywhere in it; without them all is there."""
    place = chance.choice((0, chance.randrange(len(rows[0].data))))
    data = rows[0].data[:place] + b"\0" * chance.choice(NUL_BLOCKS) + rows[0].data[place:]
    return [Row(data, rows[0].whole, must=frozenset({"nul"}))]


def nul_over(rows: Sequence[Row], chance: Random) -> list[Row]:
    """NUL bytes in place of what was written, across the line end."""
    first, second = rows[0].data[:-1], rows[1].data
    data = first[: chance.randrange(len(first))] + b"\0" * chance.choice(NUL_BLOCKS)
    data += second[chance.randrange(1, len(second) - 1) :]
    return [Row(data, parts=rows[0].whole + rows[1].whole, must=frozenset({"nul"}), may=True)]


def bad_utf8(rows: Sequence[Row], chance: Random) -> list[Row]:
    bad = chance.choice(BAD_UTF8)
    return _altered(rows[0], bad, bad.decode(errors="replace"), "utf8")


def surrogate(rows: Sequence[Row], chance: Random) -> list[Row]:
    return _altered(rows[0], *chance.choice(SURROGATES), "surrogate")


def other_byte(rows: Sequence[Row], chance: Random) -> list[Row]:
    """A byte anywhere became another; a key of another name is nothing that can be noticed."""
    data = bytearray(rows[0].data)
    data[chance.randrange(len(data) - 1)] = chance.choice(b'\xff\x80\xc3"{}[]:,\\ \x01')
    return [Row(bytes(data), parts=rows[0].whole, may=True, unknowable=True)]


def other_end(rows: Sequence[Row], chance: Random) -> list[Row]:
    """Blank lines, byte order marks and other line ends are no damage."""
    mark, end = chance.choice((b"", b"\xef\xbb\xbf")), chance.choice((b"\n", b"\r\n"))
    json_line = rows[0].data.startswith(b"{")
    blank = [Row(chance.choice(BLANK))] if json_line and chance.random() < 0.5 else []
    return [rows[0]._replace(data=mark + rows[0].data[:-1] + end), *blank]


def garbage(rows: Sequence[Row], chance: Random) -> list[Row]:
    return [Row(chance.choice(GARBAGE) + b"\n", must=ANY), *rows]


def drop(rows: Sequence[Row], chance: Random) -> list[Row]:
    """A call, a result or anything else was never written."""
    return []


def wrong_type(rows: Sequence[Row], chance: Random) -> list[Row]:
    record = json.loads(rows[0].data)
    path, holder, key = chance.choice(list(_places(record, ())))
    old = json.dumps(holder[key], ensure_ascii=False)
    new = chance.choice([value for value in WRONG if _type(value) != _type(old)])
    if path[-1] == "parentId" and new == "null":
        new = "7"  # null would say that the entry begins a branch of its own
    holder[key] = "@"
    data = json.dumps(record, ensure_ascii=False).replace('"@"', new, 1).encode() + b"\n"
    if LOOSE.intersection(path) and not MARKER.search(old) and len(new) < 600:
        return [Row(data, rows[0].whole, may=True)]
    # Gemini CLI may bring parts of a new kind.
    unknowable = new in EMPTY or path[-1] in FLAGS or (new[0] == "{" and "toolCalls" not in path)
    return [Row(data, parts=rows[0].whole, may=True, unknowable=unknowable)]


def _begun(row: Row, chance: Random) -> bytes:
    """The beginning of a record, never all of it."""
    return row.data[: chance.randrange(1, len(row.data) - 1)]


def _altered(row: Row, inserted: bytes, read_as: str, kind: str) -> list[Row]:
    found = MARKER.search(row.data.decode("latin-1"))
    if found is None:
        return [row]
    data = row.data[: found.end()] + inserted + row.data[found.end() :]
    return [Row(data, row.whole, behind=read_as, must=frozenset({kind}))]


def _places(value: Any, path: tuple[Any, ...]) -> Iterator[tuple[tuple[Any, ...], Any, Any]]:
    """Every field and item of a record: its path, what holds it, and under which key."""
    keys = value if isinstance(value, dict) else range(len(value))
    for key in list(keys):
        yield (*path, key), value, key
        if isinstance(value[key], (dict, list)):
            yield from _places(value[key], (*path, key))


def _type(value: str) -> str:
    kinds = {"{": "object", "[": "list", '"': "string", "t": "bool", "f": "bool", "n": "null"}
    return kinds.get(value[0], "number")


EDITS: dict[Edit, tuple[int, int]] = {
    tear: (1, 8),
    tear_into_next: (2, 10),
    tear_deep_into_next: (1, 4),
    fuse: (2, 2),
    fuse_with_torn: (2, 5),
    stray_text: (1, 6),
    nul_inside: (1, 6),
    nul_over: (2, 4),
    bad_utf8: (1, 4),
    other_byte: (1, 12),
    surrogate: (1, 3),
    other_end: (1, 4),
    garbage: (1, 8),
    drop: (1, 1),
    wrong_type: (1, 16),
}
"""How many rows each replaces, and how often it is tried at each place."""
TEXT_EDITS = (nul_inside, bad_utf8, other_end)
"""What can happen to a line of text, where there are no records to tear."""


def variants(name: str, seed: int = 20260101, often: int = 1) -> Iterator[tuple[str, list[Row]]]:
    """Damaged variants of a session, the same ones every time: each kind of damage at each place,
    two of them at once, and the file cut at every byte of its last records."""
    chance, rows = Random(seed), session(name).rows
    edits = TEXT_EDITS if name in TEXTS else tuple(EDITS)
    for edit in edits:
        width, times = EDITS[edit]
        for at in range(len(rows) - width + 1):
            for _ in range(times * often):
                yield edit.__name__, edited(rows, edit, at, chance)
    for _ in range(200 * often):
        early, late = chance.choice(edits), chance.choice(edits)
        middle = chance.randrange(2, len(rows) - 2)
        both = edited(rows, late, chance.randrange(middle, len(rows) - 1), chance)
        yield "two", edited(both, early, chance.randrange(middle - 1), chance)
    for at in (len(rows) - 1, len(rows) - 2):
        for cut in range(1, len(rows[at].data) - 1):
            structured = name not in TEXTS
            must = frozenset({"torn"} if structured else ())
            row = Row(rows[at].data[:cut], parts=rows[at].whole, must=must)
            yield "cut", [*rows[:at], row._replace(may=True, unknowable=not structured)]


def edited(rows: Sequence[Row], edit: Edit, at: int, chance: Random) -> list[Row]:
    width = EDITS[edit][0]
    return [*rows[:at], *edit(rows[at : at + width], chance), *rows[at + width :]]

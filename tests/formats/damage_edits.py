"""What happens to the lines of session files: one function for every kind of damage."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Any, NamedTuple, TypeVar

from tests.formats.damage import MARKER, Row, Session

Chosen = TypeVar("Chosen")
ANY = frozenset({"torn", "json", "shape", "utf8", "nul", "too_deep"})
BOM = b"\xef\xbb\xbf"
NUL_BLOCKS = (1, 2, 3, 7, 64, 511, 4096)
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
    (rb"\ud83dx", "\ufffdx"),
    (rb"\ud83d\ud83d\ude00", "\ufffd\U0001f600"),
)
GARBAGE = (
    *(
        b"lamp",
        b"17",
        b'"lamp"',
        b"[1, 2]",
        b"null",
        b"{",
        b"}",
        b"[",
        b'{"',
        b"<html>",
        b"\x01\x1b",
    ),
    *(
        b"{]",
        b"NaN",
        b'{"type": "user"',
        b'{"role": "user", "content": [{"a": {}}, {"b"',
        b"}}{{",
        b",",
    ),
)
STRAY = (b"lamp", b'"}}', b"}", b"]}", b",", b"null", b"0")
DEEP = (b"[" * 100_000, b'{"a":' * 100_000, b"[" * 100_000 + b"]" * 100_000, b'[{"a":' * 600)
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
    | {"durationMs", "provider", "modelId", "encrypted_content", "info", "tokensBefore"}
)
"""Fields that say nothing about who said what; a wrong value in one loses no words."""


class Chance(Random):
    """Chance, and the number of this try at a place: choices go through all there are."""

    turn = 0

    def each(self, choices: Sequence[Chosen]) -> Chosen:
        return choices[self.turn % len(choices)]


Change = Callable[[Session, Sequence[Row], Chance], list[Row]]


class Edit(NamedTuple):
    change: Change
    times: int
    """How often at each place."""
    width: int = 1
    """Rows that it replaces."""
    marked: bool = False
    """Whether it needs a marker to work on."""


def tear(session: Session, rows: Sequence[Row], chance: Chance) -> list[Row]:
    """The end of a record never reached the disk."""
    return [Row(_begun(rows[0], chance) + b"\n", parts=rows[0].whole, must=frozenset({"torn"}))]


def tear_into_next(session: Session, rows: Sequence[Row], chance: Chance) -> list[Row]:
    """A client died while writing, and another one went on in the same file."""
    data = _begun(rows[0], chance) + rows[1].data
    return [Row(data, rows[1].whole, parts=rows[0].whole, must=frozenset({"torn", "fused"}))]


def tear_deep_into_next(session: Session, rows: Sequence[Row], chance: Chance) -> list[Row]:
    inner = b'{"type":"user","content":[{"role":"user"}]},' * chance.randrange(40)
    data = b'{"type":"user","uuid":"u0","role":"user","content":[' + inner
    data += b'{"a":' * chance.randrange(1, 20) + chance.choice((b'"x', b'"', b"", b"[1,", b"tru"))
    return [Row(data + rows[0].data, rows[0].whole, must=frozenset({"torn", "fused"}))]


def fuse(session: Session, rows: Sequence[Row], chance: Chance) -> list[Row]:
    """The line end between records is missing."""
    gap = chance.choice((b"", b"", b" ", b"\r"))
    data = gap.join(row.data[:-1] for row in rows) + b"\n"
    whole = tuple(record for row in rows for record in row.whole)
    return [Row(data, whole, must=frozenset({"fused"}))]


def fuse_with_torn(session: Session, rows: Sequence[Row], chance: Chance) -> list[Row]:
    data = rows[0].data[:-1] + _begun(rows[1], chance) + b"\n"
    return [Row(data, rows[0].whole, parts=rows[1].whole, must=frozenset({"torn", "fused"}))]


def stray_text(session: Session, rows: Sequence[Row], chance: Chance) -> list[Row]:
    """The rest of something else stands before or behind a record."""
    stray = chance.each(STRAY)
    line = rows[0].data[:-1]
    data = stray + line if chance.turn < len(STRAY) else line + stray
    return [Row(data + b"\n", rows[0].whole, must=ANY | {"fused"})]


def nul_row(session: Session, rows: Sequence[Row], chance: Chance) -> list[Row]:
    return [Row(_nuls(chance) + b"\n", must=frozenset({"nul"})), *rows]


def nul_inside(session: Session, rows: Sequence[Row], chance: Chance) -> list[Row]:
    """NUL bytes at the beginning of a line or anywhere in it; without them all is there."""
    place = chance.choice((0, chance.randrange(len(rows[0].data))))
    data = rows[0].data[:place] + _nuls(chance) + rows[0].data[place:]
    return [Row(data, rows[0].whole, must=frozenset({"nul"}))]


def nul_over(session: Session, rows: Sequence[Row], chance: Chance) -> list[Row]:
    """NUL bytes in place of what was written, across the line end."""
    first, second = rows[0].data[:-1], rows[1].data
    data = first[: chance.randrange(len(first))] + _nuls(chance)
    data += second[chance.randrange(1, len(second) - 1) :]
    return [Row(data, parts=rows[0].whole + rows[1].whole, must=frozenset({"nul"}), may=True)]


def bad_utf8(session: Session, rows: Sequence[Row], chance: Chance) -> list[Row]:
    bad = chance.each(BAD_UTF8)
    altered = tuple((record, bad.decode(errors="replace")) for record in rows[0].whole)
    return [Row(_behind_marker(rows[0], bad), altered=altered, must=frozenset({"utf8"}))]


def other_byte(session: Session, rows: Sequence[Row], chance: Chance) -> list[Row]:
    """A byte anywhere became another; a key of another name is nothing that can be noticed."""
    data = bytearray(rows[0].data)
    data[chance.randrange(len(data) - 1)] = chance.choice(b'\xff\x80\xc3"{}[]:,\\ \x01')
    return [Row(bytes(data), parts=rows[0].whole, may=True, unknowable=True)]


def surrogate(session: Session, rows: Sequence[Row], chance: Chance) -> list[Row]:
    escape, read_as = chance.each(SURROGATES)
    altered = tuple((record, read_as) for record in rows[0].whole)
    return [Row(_behind_marker(rows[0], escape), altered=altered, must=frozenset({"surrogate"}))]


def byte_order_mark(session: Session, rows: Sequence[Row], chance: Chance) -> list[Row]:
    return [rows[0]._replace(data=BOM + rows[0].data)]


def carriage_return(session: Session, rows: Sequence[Row], chance: Chance) -> list[Row]:
    return [rows[0]._replace(data=rows[0].data.removesuffix(b"\n") + b"\r\n")]


def duplicate(session: Session, rows: Sequence[Row], chance: Chance) -> list[Row]:
    """A line once more, or another record under the same ids."""
    row = rows[0]
    grows = session.format.name == "gemini-cli"  # a message under the same id replaces the first
    again = row.data if grows else chance.each((row.data, row.data.replace(b"mark", b"twin")))
    known = row.whole[0] in session.identified or row.whole[0] in session.answers
    must = frozenset({"duplicate", "orphan_result"} if known else ())
    return [row, Row(again, row.whole, must=must, may=True)]


def garbage(session: Session, rows: Sequence[Row], chance: Chance) -> list[Row]:
    return [Row(chance.each(GARBAGE) + b"\n", must=ANY), *rows]


def blank(session: Session, rows: Sequence[Row], chance: Chance) -> list[Row]:
    return [Row(chance.each(BLANK)), *rows]


def drop(session: Session, rows: Sequence[Row], chance: Chance) -> list[Row]:
    """A call, a result or anything else was never written."""
    return []


def wrong_type(session: Session, rows: Sequence[Row], chance: Chance) -> list[Row]:
    record = json.loads(rows[0].data)
    path, holder, key = chance.choice(list(_places(record, ())))
    old = json.dumps(holder[key], ensure_ascii=False)
    new = chance.choice([value for value in WRONG if _type(value) != _type(old)])
    if path[-1] == "parentId" and new == "null":
        new = "7"  # null would say that the entry begins a branch of its own
    holder[key] = "@"
    data = json.dumps(record, ensure_ascii=False).replace('"@"', new, 1).encode() + b"\n"
    loose = LOOSE.intersection(path) and not MARKER.search(old) and len(new) < 600
    if loose:
        return [Row(data, rows[0].whole, may=True)]
    unknowable = new in EMPTY or path[-1] in FLAGS
    unknowable |= new[0] == "{" and session.format.name == "gemini-cli"  # a part of a new kind
    return [Row(data, parts=rows[0].whole, may=True, unknowable=unknowable)]


def _begun(row: Row, chance: Chance) -> bytes:
    """The beginning of a record, never all of it."""
    return row.data[: chance.randrange(1, len(row.data) - 1)]


def _nuls(chance: Chance) -> bytes:
    return b"\0" * chance.each(NUL_BLOCKS)


def _behind_marker(row: Row, inserted: bytes) -> bytes:
    found = MARKER.search(row.data.decode("latin-1"))
    assert found is not None
    return row.data[: found.end()] + inserted + row.data[found.end() :]


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


EDITS: dict[str, Edit] = {
    "tear": Edit(tear, times=40),
    "tear into next": Edit(tear_into_next, times=50, width=2),
    "tear deep into next": Edit(tear_deep_into_next, times=15),
    "fuse two": Edit(fuse, times=4, width=2),
    "fuse three": Edit(fuse, times=4, width=3),
    "fuse with torn": Edit(fuse_with_torn, times=20, width=2),
    "stray text": Edit(stray_text, times=14),
    "NUL row": Edit(nul_row, times=4),
    "NUL inside": Edit(nul_inside, times=20),
    "NUL over": Edit(nul_over, times=10, width=2),
    "bad UTF-8": Edit(bad_utf8, times=7, marked=True),
    "other byte": Edit(other_byte, times=60),
    "surrogate": Edit(surrogate, times=6, marked=True),
    "byte order mark": Edit(byte_order_mark, times=1),
    "carriage return": Edit(carriage_return, times=1),
    "duplicate": Edit(duplicate, times=2),
    "garbage": Edit(garbage, times=len(GARBAGE)),
    "blank": Edit(blank, times=4),
    "drop": Edit(drop, times=1),
    "wrong type": Edit(wrong_type, times=60),
}

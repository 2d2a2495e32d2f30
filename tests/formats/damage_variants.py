"""Damaged variants of a session: every kind of damage, at every place, alone and in pairs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tests.formats.damage import Row, Session
from tests.formats.damage_edits import BOM, EDITS, GARBAGE, Chance, Edit, carriage_return

SEED = 20260101
CUT_BYTES = 1_500
"""The last records are cut at every byte, as many records as hold this many bytes."""
PAIRS = 1_600
UNSTRUCTURED_PAIRS = 5_000
UNSTRUCTURED = ("NUL row", "NUL inside", "bad UTF-8", "byte order mark", "carriage return")
"""What can happen to a line of text, where there are no records to tear."""


class Variant(NamedTuple):
    family: str
    rows: Sequence[Row]


def variants(session: Session, seed: int = SEED) -> Iterator[Variant]:
    """Every damaged variant of a session, each once, and the same ones every time."""
    seen = {b"".join(row.data for row in session.rows)}
    for variant in _every(session, Chance(seed)):
        data = b"".join(row.data for row in variant.rows)
        if data not in seen:
            seen.add(data)
            yield variant


def _every(session: Session, chance: Chance) -> Iterator[Variant]:
    edits = tuple(EDITS) if session.structured else UNSTRUCTURED
    yield from (Variant("cut", rows) for rows in cut_at_every_byte(session))
    yield from (Variant("whole file", rows) for rows in _whole_file(session, chance))
    for name in edits:
        for at in _places_of(session, EDITS[name]):
            for chance.turn in range(_times(session, EDITS[name])):
                yield Variant(name, _edited(session, session.rows, name, at, chance))
    for _ in range(PAIRS if session.structured else UNSTRUCTURED_PAIRS):
        yield _pair(session, edits, chance)


def cut_at_every_byte(session: Session) -> Iterator[list[Row]]:
    """The file ends anywhere in its last records."""
    left = CUT_BYTES
    for at in range(len(session.rows) - 1, -1, -1):
        before, row = list(session.rows[:at]), session.rows[at]
        whole = len(row.data) - 1
        yield [*before, row._replace(data=row.data[:whole])]
        for cut in range(1, whole):
            yield [*before, _cut(session, row, cut)]
        yield before
        if (left := left - len(row.data)) <= 0:
            return


def _cut(session: Session, row: Row, cut: int) -> Row:
    if session.structured:
        return Row(row.data[:cut], parts=row.whole, must=frozenset({"torn"}))
    return Row(row.data[:cut], parts=row.whole, may=True, unknowable=True)


def _whole_file(session: Session, chance: Chance) -> Iterator[list[Row]]:
    rows = session.rows
    ended = [carriage_return(session, [row], chance)[0] for row in rows]
    yield ended
    yield [row._replace(data=BOM + row.data) for row in rows]
    yield [*(again for row in rows for again in (row, Row(b"\n")))]
    yield [row._replace(data=b"\0" + row.data, must=frozenset({"nul"})) for row in rows]
    for _ in range(20):
        yield [pair[chance.random() < 0.5] for pair in zip(rows, ended, strict=True)]


def _pair(session: Session, edits: Sequence[str], chance: Chance) -> Variant:
    """Two kinds of damage at places that do not touch."""
    first, second = chance.choice(edits), chance.choice(edits)
    chance.turn = chance.randrange(1_000)
    wide = EDITS[first].width
    early = [at for at in _places_of(session, EDITS[first]) if at + wide < len(session.rows)]
    start = chance.choice(early)
    late = [at for at in _places_of(session, EDITS[second]) if at >= start + wide]
    rows = session.rows
    if late:
        rows = _edited(session, rows, second, chance.choice(late), chance)
    rows = _edited(session, rows, first, start, chance)
    end = len(rows[-1].data) - 1
    if rows[-1] is session.rows[-1] and end > 1 and chance.random() < 0.3:
        rows = [*rows[:-1], _cut(session, rows[-1], chance.randrange(1, end))]
    elif chance.random() < 0.1:
        rows = [carriage_return(session, [row], chance)[0] for row in rows]
    return Variant(f"{first} + {second}", rows)


def _edited(
    session: Session, rows: Sequence[Row], name: str, at: int, chance: Chance
) -> Sequence[Row]:
    edit = EDITS[name]
    changed = edit.change(session, rows[at : at + edit.width], chance)
    return [*rows[:at], *changed, *rows[at + edit.width :]]


def _places_of(session: Session, edit: Edit) -> list[int]:
    last = len(session.rows) - edit.width
    return [at for at in range(last + 1) if not edit.marked or at in session.expected]


def _times(session: Session, edit: Edit) -> int:
    """How often at each place; what is left to chance is tried less often in a longer session."""
    chosen = edit.times <= len(GARBAGE)
    return edit.times if chosen else max(edit.times * 10 // len(session.rows), 1)

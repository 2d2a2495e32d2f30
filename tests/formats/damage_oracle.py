"""The oracle of the damage suite: what is wrong with how a damaged file is read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from tests.formats.damage import MARKER, Found, Row, Session, is_one, read

RELATIONS = {"orphan_result", "unanswered_call", "duplicate"}
"""Damage that is about two records, and may be reported at the one that is not broken."""
ANSWERS = {"assistant", "thinking", "call"}

NOBODY = ("opaque", "note injected", "title")
"""Places where text cannot be taken for anybody's words."""


def complaints(session: Session, rows: Sequence[Row]) -> Iterator[str]:
    """Everything that is wrong with how a damaged file is read."""
    _check_rows(rows)
    try:
        found = read(session.format, rows)
    except Exception as error:
        error.add_note(f"while reading {b''.join(row.data for row in rows)[:4000]!r}")
        raise
    reports: dict[int, list[str]] = {}
    for damage in found.damage:
        reports.setdefault(damage.line, []).append(damage.kind)
    yield from _lost(session, rows, found)
    yield from _silent(session, rows, found, reports)
    yield from _misplaced(session, rows, found)
    yield from _unreported(session, rows, found, reports)
    yield from _spurious(session, rows, found)


def _lost(session: Session, rows: Sequence[Row], found: Found) -> Iterator[str]:
    for row in rows:
        for record in row.whole:
            expected = session.expected.get(record)
            if expected is not None and expected.key not in found.keys:
                yield f"record {record} is whole and was not read: {expected.key}"
        for record, inserted in row.altered:
            if (expected := session.expected.get(record)) is None:
                continue
            where, text = expected.key
            marker = f"mark{record:03d}x"
            if (where, text.replace(marker, marker + inserted)) not in found.keys:
                yield f"record {record} is readable and was not read: {expected.key}"


def _silent(
    session: Session, rows: Sequence[Row], found: Found, reports: dict[int, list[str]]
) -> Iterator[str]:
    """What is not found must have been reported, or counted as unknown."""
    lost = [
        (record, row)
        for line, row in enumerate(rows)
        for record in (() if row.unknowable or line in reports else row.parts)
        if record in session.expected
        and session.expected[record].key not in found.keys
        and session.expected[record].key[0] != "title"
    ]
    read_differently = len(found.keys.keys() - session.keys) + found.ignored - session.ignored
    if len(lost) > read_differently:
        for record, row in lost:
            yield f"record {record} vanished without a word: {row.data[:2000]!r}"


def _misplaced(session: Session, rows: Sequence[Row], found: Found) -> Iterator[str]:
    """Nobody speaks in another's name, and the order stays."""
    mingled = {
        record for row in rows if len(row.parts) > 1 or row.unknowable for record in row.parts
    }
    for where, text in found.keys.keys() - session.keys:
        for number in MARKER.findall(text):
            at_first = session.expected[int(number)].key[0]
            if where not in (at_first, *NOBODY) and int(number) not in mingled:
                yield f"record {number} was {at_first!r} and is now {where!r}: {text!r}"
    last = -1
    for row in rows:
        for record in row.whole:
            expected = session.expected.get(record)
            if expected is not None and expected.key[0] in ANSWERS:
                if (turn := found.keys.get(expected.key, last)) < last:
                    yield f"record {record} is in turn {turn}, behind turn {last}"
                last = turn


def _unreported(
    session: Session, rows: Sequence[Row], found: Found, reports: dict[int, list[str]]
) -> Iterator[str]:
    for line, row in enumerate(rows):
        if row.must and not row.must & set(reports.get(line, ())):
            yield f"line {line}: none of {sorted(row.must)} reported, but {reports.get(line)}"
    gone = _gone(session, rows, found)
    kinds: dict[int, set[str]] = {}
    for line, row in enumerate(rows):
        for record in row.whole:
            kinds.setdefault(record, set()).update(reports.get(line, ()))
    for result, call in session.answers.items() if gone else ():
        if call in gone and "orphan_result" not in kinds.get(result, {"orphan_result"}):
            yield f"the result {result} has lost its call {call}, and nobody says so"
        unsaid = "unanswered_call" not in kinds.get(call, {"unanswered_call"})
        if result in gone and unsaid and _goes_on(session, found, call):
            yield f"the call {call} has lost its result {result}, and nobody says so"


def _gone(session: Session, rows: Sequence[Row], found: Found) -> set[int]:
    """Records of which nothing can have been read."""
    uncertain = {record for row in rows if row.may for record in (*row.parts, *row.whole)}
    uncertain |= {record for row in rows for record, _ in row.altered}
    return {
        record
        for record, expected in session.expected.items()
        if expected.key not in found.keys and record not in uncertain
    }


def _goes_on(session: Session, found: Found, call: int) -> bool:
    """Whether the assistant is heard again in a turn behind that of a call."""
    key = session.expected[call].key
    agent = key[0].rpartition("/")[0]
    turn = found.keys.get(key, -1)
    return any(
        other > turn and where.rpartition("/")[0] == agent and is_one((where, text), ANSWERS)
        for (where, text), other in found.keys.items()
    )


def _spurious(session: Session, rows: Sequence[Row], found: Found) -> Iterator[str]:
    starts = [0]
    for row in rows:
        starts.append(starts[-1] + len(row.data))
    at_hand: dict[int, int] = {}
    for row in rows:
        for record in row.whole:
            at_hand[record] = at_hand.get(record, 0) + 1
    troubled = {record for record in range(len(session.rows)) if at_hand.get(record) != 1}
    for result, call in session.answers.items():
        if troubled & {result, call}:
            troubled |= {result, call}
    for damage in found.damage:
        if not 0 <= damage.line < len(rows):
            yield f"{damage.kind} at line {damage.line}, which is not there"
            continue
        row = rows[damage.line]
        if damage.offset != starts[damage.line] and len(rows) > 1:  # one line may be a document
            yield f"line {damage.line} begins at {starts[damage.line]}, not at {damage.offset}"
        related = damage.kind in RELATIONS and troubled & {*row.whole, *row.parts}
        if not (row.must or row.may or related):
            yield f"line {damage.line} is sound, but {damage.kind} was reported: {damage.detail}"


def _check_rows(rows: Sequence[Row]) -> None:
    """A row that is not one line would make the oracle count lines wrongly."""
    for row in rows[:-1]:
        assert row.data.find(b"\n") == len(row.data) - 1, row
    if rows:
        assert rows[-1].data.count(b"\n", 0, -1) == 0, rows[-1]

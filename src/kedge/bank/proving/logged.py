"""The decision log held against its chain: nothing may be gone, changed or moved."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterable, Iterator, Sequence

from kedge.bank.proving.chain import (
    AWAY,
    Matching,
    Row,
    chain_name,
    expected_order,
    matched,
    read_chain,
    way_out,
)
from kedge.bank.proving.findings import Finding
from kedge.bank.shapes.markdown import visible
from kedge.bank.shapes.reading import BYTE_ORDER_MARK
from kedge.bank.values import Document, Other
from kedge.errors import BankMalformed

FORMS = (
    "headings with an id (`### DEC-001: title`) or a date (`### [2026-01-31] title`), and JSON "
    "Lines in a file that ends in .jsonl"
)
"""Of entries of a log."""


def against_chain(document: Document, chain: bytes | None) -> Iterator[Finding]:
    name = chain_name(document.name)
    if chain is None:
        if next(document.entries(), None):
            yield Finding(
                file=document.name,
                line=0,
                what="the log has no chain yet, so nothing can be said about its past",
                gravity="note",
                advice="the next change of ours begins one",
            )
        return
    try:
        rows = read_chain(name, chain)
    except BankMalformed as broken:
        yield Finding(
            file=name,
            line=broken.line,
            what=broken.why,
            gravity="violation",
            advice=way_out(name),
        )
        return
    matching = matched(rows, document.entries())
    yield from _lost(document.name, rows, matching)
    yield from _moved(document.name, rows, matching)
    yield from _superseded(document.name, rows, matching)
    yield from _misnamed(name, rows, matching)
    if matching.new:
        yield Finding(
            file=name,
            line=0,
            what=f"{len(matching.new)} entries of the log are not in its chain yet",
            gravity="note",
            advice="the next change of ours adds them",
        )


def unrecognised(document: Document) -> Iterator[Finding]:
    if is_unrecognised(document):
        yield Finding(
            file=document.name,
            line=0,
            what=f"no entry was recognised in {document.name}, so nothing was proven",
            gravity="warning",
            advice=f"known are {FORMS}",
        )


def is_unrecognised(document: Document) -> bool:
    """Whether there is text other than headings and comments, and nothing that is an entry."""
    if any(not isinstance(piece, Other) for piece in document.pieces):
        return False
    lines = visible(document.text.removeprefix(BYTE_ORDER_MARK)).splitlines()
    return any(line.strip() and not line.lstrip().startswith("#") for line in lines)


def known_rows(document: Document, chain: bytes | None) -> list[Row]:
    """None where the chain cannot be read; that is said elsewhere."""
    try:
        return read_chain(chain_name(document.name), chain or b"")
    except BankMalformed:
        return []


def first_statuses(document: Document, rows: Sequence[Row]) -> dict[int, str]:
    """What entries had as their status when they were first seen, by their lines."""
    same = matched(rows, document.entries()).same
    return {entry.line: rows[number - 1].status for number, entry in same.items()}


def since_when(document: Document, rows: Sequence[Row]) -> Iterator[str]:
    """From when on the chain can tell: what was lost before it began is not in it."""
    if rows:
        since = f" and counts since {rows[0].at}" if rows[0].at else ""
        yield f"the chain of {document.name} has {len(rows):,} rows{since}"


def _lost(name: str, rows: Sequence[Row], matching: Matching) -> Iterator[Finding]:
    for row in matching.missing:
        yield Finding(
            file=name,
            line=0,
            what=f"the entry {_called(row)} was taken out of the log",
            gravity="violation",
            advice=f"put it back from git, {_anew(name)}",
        )
    for number, entry in matching.changed.items():
        yield Finding(
            file=name,
            line=entry.line,
            what=f"the entry {_called(rows[number - 1])} was changed",
            gravity="violation",
            advice=f"put it back as it was and write a new decision, {_anew(name)}",
        )


def _moved(name: str, rows: Sequence[Row], matching: Matching) -> Iterator[Finding]:
    """Entries that are not where they were among the others: the fewest that explain the order."""
    there = {**matching.same, **matching.changed}
    expected = [number for number in expected_order(rows) if number in there]
    place = {number: n for n, number in enumerate(expected)}
    actual = sorted(there, key=lambda number: there[number].line)
    stayed = set(_longest_rising([place[number] for number in actual]))
    for number in actual:
        if place[number] not in stayed:
            yield Finding(
                file=name,
                line=there[number].line,
                what=f"the entry {_called(rows[number - 1])} was moved to another place",
                gravity="violation",
                advice=f"put it back where it was, {_anew(name)}",
            )


def _superseded(name: str, rows: Sequence[Row], matching: Matching) -> Iterator[Finding]:
    for number, entry in matching.same.items():
        row = rows[number - 1]
        if row.status != entry.status:
            yield Finding(
                file=name,
                line=entry.line,
                what=f"the status of {_called(row)} is {entry.status!r}, it was {row.status!r}",
                gravity="note",
            )


def _misnamed(name: str, rows: Sequence[Row], matching: Matching) -> Iterator[Finding]:
    """The last row has none behind it that would know, but the log does."""
    for number, entry in matching.same.items():
        if rows[number - 1].id != entry.id:
            yield Finding(
                file=name,
                line=number,
                what=f"the row has the content of {entry.id or 'an entry without an id'} and "
                f"another id",
                gravity="violation",
                advice=way_out(name),
            )


def _anew(log: str) -> str:
    chain = chain_name(log)
    return (
        f"or, to accept the log as it is, move its chain away (`mv {chain} {chain}{AWAY}`): "
        f"the next change begins a new one"
    )


def _called(row: Row) -> str:
    return row.id or f"number {row.number}"


def _longest_rising(numbers: Iterable[int]) -> list[int]:
    """The longest part of a sequence that rises, by patience sorting."""
    ends: list[int] = []
    before: dict[int, int | None] = {}
    for number in numbers:
        n = bisect_left(ends, number)
        before[number] = ends[n - 1] if n else None
        ends[n : n + 1] = [number]
    rising: list[int] = []
    last = ends[-1] if ends else None
    while last is not None:
        rising.append(last)
        last = before[last]
    return rising

"""The chain of the decision log: a row for every entry that was ever seen in it, each row with the
hash of the row before. It lies beside the log, which is never touched.

A row says below which other its entry stood. So an entry that a person put in between later is
no reordering, one that was moved is, and it does not matter which end of the log grows."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import lru_cache
from hashlib import sha256

import msgspec

from kedge.bank.values import CHAIN, Document, Entry
from kedge.errors import BankMalformed
from kedge.model import Value

REMEMBERED = 16_384
"""Hashes kept by their text: the versions of a log in git have nearly all their entries in
common."""
_STATUS = re.compile(r"^[ \t]*(?:[-*+][ \t]+)?[*_]{0,3}Status\b[^\n]*\n?", re.MULTILINE | re.I)


class Row(Value, frozen=True):
    """One entry of the log, as it was when it was first seen."""

    number: int
    """Counted from 1, in the order in which entries were seen."""
    id: str
    sha256: str
    """Of the entry without its Status line: decisions get superseded."""
    below: int
    """Number of the row whose entry stood above it in the file; 0 where it was the first."""
    status: str = ""
    predecessor: str = ""
    """Hash of the row before, as it stands in the file."""


class Matching(Value, frozen=True):
    """Rows of a chain held against the entries of a log."""

    same: dict[int, Entry] = msgspec.field(default_factory=dict)
    """By the row's number."""
    changed: dict[int, Entry] = msgspec.field(default_factory=dict)
    """Entries that have the row's id and another content."""
    missing: tuple[Row, ...] = ()
    new: tuple[Entry, ...] = ()
    """Entries without a row."""


def chain_name(name: str) -> str:
    """decisionLog.md has decisionLog.chain.jsonl."""
    return f"{name.rpartition('.')[0] or name}{CHAIN}.jsonl"


def content_hash(entry: Entry) -> str:
    """Of what an entry says without its status; line ends and blank lines behind it do not
    count."""
    return _content_hash(entry.text, entry.status)


@lru_cache(maxsize=REMEMBERED)
def _content_hash(text: str, status: str) -> str:
    text = text.replace("\r\n", "\n").rstrip()
    if text.startswith("{"):
        try:
            fields = msgspec.json.decode(text, type=dict[str, object])
        except msgspec.DecodeError:  # no JSON Lines after all: a heading of a person's own kind
            pass
        else:
            fields.pop("status", None)
            return sha256(msgspec.json.encode(fields, order="sorted")).hexdigest()
    if text.lstrip().startswith("|"):
        cells = [cell.strip() for cell in text.split("|")]
        text = "|".join(cell for cell in cells if not status or cell != status)
    return sha256(_STATUS.sub("", text, count=1).rstrip().encode()).hexdigest()


def read_chain(name: str, data: bytes) -> list[Row]:
    """Raises BankMalformed with the line where rows are broken or do not follow each other."""
    rows: list[Row] = []
    predecessor = ""
    for line, text in enumerate(data.splitlines(), start=1):
        try:
            row = msgspec.json.decode(text, type=Row)
        except msgspec.DecodeError as error:
            raise BankMalformed(name, line, f"no row of a chain: {error}") from None
        if row.number != line or row.predecessor != predecessor or not 0 <= row.below < line:
            raise BankMalformed(name, line, "the row does not follow the one before it")
        rows.append(row)
        predecessor = sha256(text).hexdigest()
    return rows


def updated(chain: bytes | None, document: Document) -> bytes:
    """The chain with a row for every entry of the log that has none. Rows are never changed, so
    that what was taken out of the log is still missed. Raises BankMalformed."""
    data = chain or b""
    rows = read_chain(chain_name(document.name), data)
    matching = matched(rows, document.entries())
    numbers = {entry.line: n for n, entry in (matching.same | matching.changed).items()}
    lines = [data if not data or data.endswith(b"\n") else data + b"\n"]
    predecessor = sha256(data.splitlines()[-1]).hexdigest() if rows else ""
    above, number = 0, len(rows)
    for entry in document.entries():
        if entry.line not in numbers:
            number += 1
            numbers[entry.line] = number
            row = Row(
                number=number,
                id=entry.id,
                sha256=content_hash(entry),
                below=above,
                status=entry.status,
                predecessor=predecessor,
            )
            text = msgspec.json.encode(row)
            predecessor = sha256(text).hexdigest()
            lines.append(text + b"\n")
        above = numbers[entry.line]
    return b"".join(lines)


def matched(rows: Sequence[Row], entries: Iterable[Entry]) -> Matching:
    """Which row belongs to which entry: by content first, then by id."""
    by_hash: dict[str, list[Row]] = defaultdict(list)
    for row in reversed(rows):
        by_hash[row.sha256].append(row)
    same: dict[int, Entry] = {}
    left: list[Entry] = []
    for entry in entries:
        if candidates := by_hash[content_hash(entry)]:
            same[candidates.pop().number] = entry
        else:
            left.append(entry)
    by_id = {row.id: row for row in reversed(rows) if row.id and row.number not in same}
    changed: dict[int, Entry] = {}
    new = []
    for entry in left:
        if entry.id in by_id:
            changed[by_id.pop(entry.id).number] = entry
        else:
            new.append(entry)
    known = same.keys() | changed.keys()
    missing = tuple(row for row in rows if row.number not in known)
    return Matching(same=same, changed=changed, missing=missing, new=tuple(new))


def expected_order(rows: Sequence[Row]) -> list[int]:
    """Numbers of the rows in the order in which their entries stood in the log."""
    follower: dict[int, int] = {}
    for row in rows:
        if row.below in follower:
            follower[row.number] = follower[row.below]
        follower[row.below] = row.number
    order, number = [], 0
    while number in follower:
        number = follower[number]
        order.append(number)
    return order

"""The chain of the decision log: a row for every entry that was ever seen in it, each row with the
hash of the row before. It lies beside the log, which is never touched.

A row says below which other its entry stood. So an entry that a person put in between later is
no reordering, one that was moved is, and it does not matter which end of the log grows."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from hashlib import sha256

import msgspec

from kedge.bank.proving.hashing import content_hash
from kedge.bank.shapes.times import stamp
from kedge.bank.values import CHAIN, Document, Entry
from kedge.errors import BankMalformed
from kedge.model import Value

AWAY = ".damaged"
"""What is put behind the name of a chain that is moved away: no bank file ends like this."""
_CONFLICT = (b"<<<<<<<", b"=======", b">>>>>>>")


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
    at: str = ""
    """When the entry was first seen; empty where nobody said."""


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
    """decisionLog.md has decisionLog.chain.jsonl, decisionLog.jsonl beside it
    decisionLog.jsonl.chain.jsonl: two logs are never proven by one chain."""
    return f"{name.removesuffix('.md')}{CHAIN}.jsonl"


def read_chain(name: str, data: bytes) -> list[Row]:
    """Raises BankMalformed with the line where rows are broken or do not follow each other."""
    rows: list[Row] = []
    predecessor = ""
    for line, text in enumerate(data.splitlines(), start=1):
        try:
            row = msgspec.json.decode(text, type=Row)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
            why = f"no row of a chain: {error}"
            if text.startswith(_CONFLICT):
                why = "a merge conflict was left here"
            raise BankMalformed(name, line, why) from None
        if row.number != line or row.predecessor != predecessor or not 0 <= row.below < line:
            raise BankMalformed(name, line, "the row does not follow the one before it")
        rows.append(row)
        predecessor = sha256(text).hexdigest()
    return rows


def way_out(name: str) -> str:
    """What to do with a chain that cannot be read, or that is not wanted any more."""
    return (
        f"put {name} back from a copy or from git (after a merge, all rows of one side and none of "
        f"the other), or accept the log as it is and move its chain away (`mv {name} {name}{AWAY}`)"
        f": the next change begins a new one"
    )


def updated(chain: bytes | None, document: Document, *, at: datetime | None = None) -> bytes:
    """The chain with a row for every entry of the log that has none. Rows are never changed, so
    that what was taken out of the log is still missed. `at`: the time of the change. Raises
    BankMalformed where the chain is damaged: it is all that is left of what was lost."""
    data, name = chain or b"", chain_name(document.name)
    try:
        rows = read_chain(name, data)
    except BankMalformed as broken:
        raise BankMalformed(name, broken.line, f"{broken.why}; {way_out(name)}") from None
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
                at=stamp(at.replace(microsecond=0)) if at else "",
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

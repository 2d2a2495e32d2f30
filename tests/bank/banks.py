"""Small banks by hand, as they are found in the field, a bank that lives without a disk, and one
that lives on it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path

from kedgeline import bank
from kedgeline.bank.archive import ArchiveBlock, read_archive
from kedgeline.bank.compaction import BankPlan, BankSignals, bank_plan
from kedgeline.bank.documents import read_document
from kedgeline.bank.entries import (
    DECISIONS,
    LIMITS,
    Document,
    FileChange,
    Limits,
    NewEntry,
    Piece,
    Reference,
    chain_name,
    is_derived,
    stem,
)
from kedgeline.bank.verify import Findings, updated_chain, verify_bank

NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)
MANUAL = BankSignals(manual=True)


def stamp(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%dT%H:%M:%SZ")


def active_entry(number: int, at: datetime | None = None, words: str = "") -> str:
    at = at or NOW - timedelta(hours=1000 - number)
    said = words or f"Wired the parser of part {number} (src/part_{number}.py); its tests pass."
    return f"### [{stamp(at)}] agent-{number % 3}\n\n{said}\n\n"


def active(count: int, *, newest_first: bool = True) -> str:
    """An active context of so many entries, an hour apart."""
    rows = [active_entry(n) for n in range(count)]
    return "# Active Context\n\n" + "".join(reversed(rows) if newest_first else rows)


def active_lines(count: int, *, start: int = 0, before: str = "") -> str:
    """The same as JSON Lines, each with the hash of the line before."""
    lines = []
    for n in range(start, start + count):
        row = {
            "ts": stamp(NOW - timedelta(hours=1000 - n)),
            "source_agent": f"agent-{n % 3}",
            "source_chunks": [f"src/part_{n}.py"],
            "summary_128": f"Wired the parser of part {n}; its tests pass.",
            "predecessor_hash": before,
        }
        lines.append(json.dumps(row))
        before = sha256(lines[-1].encode()).hexdigest()
    return "".join(f"{line}\n" for line in lines)


def decision(number: int, status: str = "Active") -> str:
    day = (NOW - timedelta(days=400 - number)).date().isoformat()
    return (
        f"### DEC-{number:03}: Use way {number}\n\n**Date:** {day}\n"
        f"**Context:** Part {number} was slow.\n**Decision:** We use way {number}.\n"
        f"**Rationale:** It is the fastest of three.\n**Status:** {status}\n\n"
    )


def decisions(numbers: Iterable[int]) -> str:
    return "# Decision Log\n\n" + "".join(map(decision, numbers))


def milestone(number: int, *, days: int, status: str = "completed") -> str:
    at = stamp(NOW - timedelta(days=days))
    return f"| TASK-{number:03} | {status} | agent-1 | high | {at} |\n"


def progress(rows: Iterable[str]) -> str:
    head = "| task_id | status | agent | milestone_severity | updated_at |\n|---|---|---|---|---|\n"
    return "# Progress\n\n" + head + "".join(rows)


class Bank:
    """Files by name, with everything that moving and proving do to them."""

    def __init__(self, limits: Limits = LIMITS, **files: str) -> None:
        self.limits = limits
        self._read: dict[str, tuple[bytes, Document]] = {}
        self.files = {name.replace("_", "."): text.encode() for name, text in files.items()}

    def documents(self) -> list[Document]:
        return [self.document(name) for name in self.files if name not in self.derived]

    @property
    def derived(self) -> dict[str, bytes]:
        return {name: data for name, data in self.files.items() if is_derived(name)}

    def plan(self, signals: BankSignals = MANUAL, now: datetime = NOW) -> BankPlan:
        return bank_plan(
            self.documents(), self.derived, limits=self.limits, now=now, signals=signals
        )

    def compact(self, signals: BankSignals = MANUAL, now: datetime = NOW) -> BankPlan:
        plan = self.plan(signals, now)
        self.write(plan.changes)
        self.chain()
        return plan

    def write(self, changes: Iterable[FileChange]) -> None:
        for change in changes:
            assert self.files.get(change.name) == change.before, change.name
            self.files[change.name] = change.after

    def chain(self) -> None:
        for document in self.documents():
            if stem(document.name) == DECISIONS:
                name = chain_name(document.name)
                self.files[name] = updated_chain(self.files.get(name), document, at=NOW)

    def document(self, name: str) -> Document:
        known = self._read.get(name)
        if known is None or known[0] != self.files[name]:
            known = self._read[name] = (self.files[name], read_document(name, self.files[name]))
        return known[1]

    def text(self, name: str) -> str:
        return self.files[name].decode()

    def verify(self) -> Findings:
        return verify_bank(self.documents(), self.derived, limits=self.limits)


class Kept(Bank):
    """The same on a disk, through the real one: locks, transactions, the chain, undo."""

    def __init__(self, folder: Path, limits: Limits = LIMITS, **files: str) -> None:
        super().__init__(limits, **files)
        self.folder = folder
        folder.mkdir()
        self.save()
        self.real = bank.Bank(folder, limits=limits, clock=lambda: self.now)
        self.now = NOW

    def put(self, **files: str) -> None:
        """Somebody writes with an editor."""
        self.files.update({name: text.encode() for name, text in files.items()})
        self.save()

    def save(self) -> None:
        for name, data in self.files.items():
            (self.folder / name).write_bytes(data)

    def look(self) -> None:
        found = (path for path in self.folder.iterdir() if path.is_file())
        self.files = {path.name: path.read_bytes() for path in found}

    def compact(self, signals: BankSignals = MANUAL, now: datetime = NOW) -> BankPlan:
        self.save()
        self.now = now
        plan = self.real.compact("agent-1", signals).plan
        self.look()
        return plan

    def add(self, file: str, new: NewEntry) -> None:
        self.real.add(file, new)
        self.look()

    def undo(self) -> None:
        self.real.undo("agent-1")
        self.look()

    def verify(self) -> Findings:
        return self.real.verify()


def blocks(archive: bytes) -> tuple[ArchiveBlock, ...]:
    return read_archive(archive).blocks


def pieces_with_archived(document: Document, archive: bytes) -> Iterator[Piece]:
    """The pieces of a document, each reference followed by what it stands for."""
    whole = {block.sha256: block for block in blocks(archive) if not block.damage}
    left: list[Piece] = list(reversed(document.pieces))
    while left:
        piece = left.pop()
        yield piece
        if isinstance(piece, Reference):
            block = whole[piece.sha256]
            data = block.lead + block.content
            left.extend(reversed(read_document(document.name, data).pieces))


def refusals(plan: BankPlan) -> list[str]:
    return [note for note in plan.notes if "left as it is" in note]

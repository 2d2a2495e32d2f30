"""Whether a bank is what was written into it: the hashes of archives and of decisions, the index.

The chain of a decision log has a line with the hash of each entry. Lines are only ever added, so
that an entry that was taken out or changed is missed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from hashlib import sha256
from itertools import pairwise
from typing import Literal

import msgspec

from kedgeline.bank.archive import Archive, archive_name, archives_of
from kedgeline.bank.compaction import index_of, index_wanted
from kedgeline.bank.documents import is_unrecognised, understood
from kedgeline.bank.entries import (
    CHAIN,
    DECISIONS,
    INDEX,
    LIMITS,
    BankEntry,
    Document,
    Limits,
    Other,
    chain_name,
    derived_name,
    field_key,
    read_fields,
    stamp,
    stem,
)
from kedgeline.bank.rows import line_hash, named_by
from kedgeline.model import Value

Gravity = Literal["violation", "warning", "note"]
GRAVITIES: tuple[Gravity, ...] = ("violation", "warning", "note")
"""Something was lost or changed that must not be; something that we can correct; something worth
knowing."""


class Finding(Value, frozen=True):
    file: str
    line: int
    """From 1; 0 where it is about the file as a whole."""
    what: str
    gravity: Gravity
    advice: str = ""
    """What to do."""

    def __str__(self) -> str:
        place = f"{self.file}, line {self.line}" if self.line else self.file
        return f"{self.gravity}: {place}: {self.what}" + (f"; {self.advice}" * bool(self.advice))


class Findings(Value, frozen=True):
    found: tuple[Finding, ...] = ()
    """The worst first."""
    checked: tuple[str, ...] = ()
    """One sentence for each thing that was looked at: no finding says nothing where nothing was."""

    @property
    def sound(self) -> bool:
        """Whether nothing was lost or changed that must not be."""
        return not any(finding.gravity == "violation" for finding in self.found)


def verify_bank(
    documents: Sequence[Document],
    derived: Mapping[str, bytes],
    *,
    limits: Limits = LIMITS,
    links: Sequence[str] = (),
) -> Findings:
    """`derived`: archives, the index and the chain as they are, by name. `links`: names of the bank
    that are symbolic links, and so were not read."""
    archives = archives_of(derived)
    found = [*_archives(documents, archives), *_without_log(documents, derived, links)]
    what = "this is a symbolic link, and links are not followed, so nothing in it was checked"
    found += (_violation(name, 0, what, "put the file itself there") for name in links)
    entries = sum(1 for document in documents for _ in document.entries())
    count = sum(len(one.blocks) for one in archives.values())
    checked = [f"{len(documents)} files with {entries:,} entries, {count:,} archive blocks"]
    for document in documents:
        found += _predecessors(document)
        if document.stem == DECISIONS:
            chain = derived.get(chain_name(document.name))
            found += (*_against_chain(document, chain), *_log_alone(document, derived, limits))
            rows, _ = read_chain(chain)
            since = f", since {rows[0].at}" if rows and rows[0].at else ""
            checked.append(f"{len(rows):,} decisions of {document.name} by their hashes{since}")
    order = sorted(found, key=lambda one: (GRAVITIES.index(one.gravity), one.file, one.line))
    return Findings(found=tuple(order), checked=tuple(checked))


def _finding(gravity: Gravity, file: str, line: int, what: str, advice: str = "") -> Finding:
    return Finding(file=file, line=line, what=what, gravity=gravity, advice=advice)


_violation, _warning, _note = (partial(_finding, gravity) for gravity in GRAVITIES)


# Archives.


def _archives(documents: Sequence[Document], archives: Mapping[str, Archive]) -> Iterator[Finding]:
    """Blocks against their own hashes, and references, also those in blocks, against the blocks."""
    restore = "put the archive back from a copy or from git"
    led: defaultdict[str, set[str]] = defaultdict(set)
    for document in documents:
        name = archive_name(document.name)
        whole = archives.get(name, Archive()).whole()
        left = [(document.name, one.line, one) for one in document.references()]
        while left:
            file, line, reference = left.pop()
            block = whole.get(reference.sha256)
            if block is None:
                some, digest = reference.entries, reference.sha256[:12]
                what = f"a reference stands for {some} entries, and no whole block of {name} has"
                yield _violation(file, line, f"{what} its hash {digest}", restore)
                continue
            if block.entries != reference.entries:
                what = f"a reference says {reference.entries} entries, its block has"
                yield _warning(file, line, f"{what} {block.entries}", "correct the number by hand")
            if block.sha256 not in led[name]:
                held = understood(document.name, block.lead + block.content)
                left += [(name, block.line, one) for one in held.references()]
            led[name].add(block.sha256)
    for name, archive in archives.items():
        whole = archive.whole()
        undone = {block.sha256 for block in archive.blocks if block.run in archive.undone}
        for block in archive.blocks:
            called = f"the block {block.sha256[:12]} of {block.entries} entries"
            if block.damage and block.sha256 not in whole:
                yield _violation(name, block.line, f"{called} is damaged: {block.damage}", restore)
            elif not block.damage and block.sha256 not in led[name] | undone:
                advice = "its line was taken out of the file by hand; the entries are here"
                yield _note(name, block.line, f"no reference leads to {called}", advice)


def _predecessors(document: Document) -> Iterator[Finding]:
    """In JSON Lines each entry names the line before it; people also write lines without a hash."""
    if document.shape != "json_lines":
        return
    pieces = [piece for piece in document.pieces if not isinstance(piece, Other)]
    for before, piece in pairwise(pieces):
        named = named_by(piece) if isinstance(piece, BankEntry) else ""
        if named and named != line_hash(before):
            what = (
                "the predecessor_hash is not that of the line before: a line was taken out, "
                "changed or put in between"
            )
            advice = "put the lines back from a copy or from git"
            yield _violation(document.name, piece.line, what, advice)


# The decision log.


class _Row(Value, frozen=True):
    """A line of the chain: an entry as it was when it was first seen."""

    id: str
    sha256: str
    """Of the entry without its status: decisions get superseded."""
    at: str = ""
    """When it was first seen."""


def read_chain(data: bytes | None) -> tuple[list[_Row], list[int]]:
    """The rows, and the numbers of lines that are none."""
    rows: list[_Row] = []
    broken = []
    for line, text in enumerate((data or b"").splitlines(), start=1):
        try:
            rows.append(msgspec.json.decode(text, type=_Row))
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            broken.append(line)
    return rows, broken


def updated_chain(chain: bytes | None, document: Document, *, at: datetime) -> bytes:
    """The chain with a row for every entry of the log that has none."""
    data = chain or b""
    known = {row.sha256 for row in read_chain(data)[0]}
    lines = [data if not data or data.endswith(b"\n") else data + b"\n"]
    for entry in document.entries():
        if (digest := content_hash(entry)) not in known:
            known.add(digest)
            row = _Row(id=entry.id, sha256=digest, at=stamp(at.replace(microsecond=0)))
            lines.append(msgspec.json.encode(row) + b"\n")
    return b"".join(lines)


def content_hash(entry: BankEntry) -> str:
    """Of what an entry says without its status. Line ends, blank lines, and rules and comments
    behind it do not count: people put those between entries."""
    text = entry.text.strip()
    if text.startswith("{"):
        said = {key: value for key, value in entry.fields.items() if key != "status"}
        text = msgspec.json.encode(said, order="sorted").decode()
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    if text.startswith("|"):
        cells = [cell.strip() for cell in text.split("|")]
        lines = [cell for cell in cells if not entry.status or cell != entry.status]
    while len(lines) > 1 and (lines[-1].startswith("<!--") or set(lines[-1]) <= set("-*_ ")):
        lines.pop()
    lines = [line for line in lines if not _is_status(line)]
    return sha256("\n".join(lines).encode()).hexdigest()


def _is_status(line: str) -> bool:
    return any(field_key(name) in ("status", "state") for name in read_fields(line))


def _against_chain(log: Document, chain: bytes | None) -> Iterator[Finding]:
    """Nothing may be gone or changed."""
    name = chain_name(log.name)
    anew = f"or, to accept the log as it is, move its chain away (`mv {name} {name}.damaged`)"
    rows, broken = read_chain(chain)
    for line in broken:
        advice = f"put {name} back from a copy or from git, take the line out, {anew}"
        yield _violation(
            name, line, "this is not a row of a chain; a merge may have left it", advice
        )
    there = {content_hash(entry): entry for entry in log.entries()}
    by_id = {entry.id: entry for entry in log.entries() if entry.id}
    known = {row.sha256 for row in rows}
    for number, row in enumerate(rows, start=1):
        if row.sha256 in there:
            continue
        called = row.id or f"number {number}"
        stands = by_id.get(row.id)
        if stands and content_hash(stands) not in known:
            advice = f"put it back as it was and write a new decision, {anew}"
            yield _violation(log.name, stands.line, f"the entry {called} was changed", advice)
        else:
            advice = f"put it back from a copy or from git, {anew}"
            yield _violation(log.name, 0, f"the entry {called} was taken out of the log", advice)
    new = sum(digest not in known for digest in there)
    if new:
        what = f"{new} entries of {log.name} are not in its chain yet"
        yield _note(name, 0, what, "the next change through kedgeline adds them")


def _without_log(
    documents: Sequence[Document], derived: Mapping[str, bytes], links: Sequence[str]
) -> Iterator[Finding]:
    """Chains and indexes are only ever made of a log."""
    named = [*(document.name for document in documents), *links]
    made = {name for log in named for name in (chain_name(log), derived_name(log, INDEX))}
    for name in sorted(derived.keys() - made):
        log, kind, _ = name.rpartition(CHAIN if stem(name).endswith(CHAIN) else INDEX)
        if kind and stem(log) == DECISIONS:
            what = "it was made from a decision log that is not there any more"
            yield _violation(name, 0, what, "put the log back from a copy or from git")


def _log_alone(log: Document, derived: Mapping[str, bytes], limits: Limits) -> Iterator[Finding]:
    """Its index, its ids, and whether anything was recognised in it."""
    name = derived_name(log.name, INDEX)
    index = derived.get(name)
    if index_wanted(log, index, limits) and index != index_of(log):
        what = "the index is not that of the log" if index is not None else "there is no index"
        yield _warning(name, 0, what, "`kedgeline bank compact` makes it again")
    seen: dict[str, int] = {}
    for entry in log.entries():
        if entry.id in seen:
            what = f"the id {entry.id} was given already in line {seen[entry.id]}"
            advice = "leave both, and write the next decisions with new ids"
            yield _warning(log.name, entry.line, what, advice)
        elif entry.id:
            seen[entry.id] = entry.line
    if is_unrecognised(log):
        what = f"no entry was recognised in {log.name}, so nothing was proven"
        known = "headings with an id (`### DEC-001: title`) or a date (`### [2026-01-31] title`)"
        advice = f"known are {known}, lists with dates, tables, and JSON Lines"
        yield _warning(log.name, 0, what, advice)

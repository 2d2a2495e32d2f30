"""The file that old entries go to: Markdown for people, in blocks that are found again to the byte.

    ## 2026-02-23T09:30:00Z: 2 entries

    <!-- kedgeline:block entries=2 lead=0 bytes=311 sha256=… run=7 -->
    (a copy of a table's head, `lead` bytes, then exactly `bytes` bytes, whatever they say)
    <!-- /kedgeline:block … -->

The number of bytes finds the end, so that an entry may hold fences, headings and markers of its
own. Behind a block that somebody edited, reading goes on at its closing marker. An archive only
grows: an undo adds a marker too."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from hashlib import sha256
from typing import NamedTuple

from msgspec.structs import replace

from kedgeline.bank.documents import read_document, understood
from kedgeline.bank.entries import (
    ARCHIVE,
    Document,
    Reference,
    derived_name,
    entries_told,
    stem,
    time_in,
)
from kedgeline.errors import BankChanged
from kedgeline.model import Value
from kedgeline.text.prose import cut, foreign

_OPENING = re.compile(
    rb"^<!-- kedgeline:block entries=(\d{1,9}) lead=(\d{1,9}) bytes=(\d{1,12}) "
    rb"sha256=([0-9a-f]{64}) run=(\d{1,9}) -->\r?\n",
    re.MULTILINE,
)
_HEADING = re.compile(rb"^## (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)[^\n]*$", re.MULTILINE)
_UNDONE = re.compile(rb"^<!-- kedgeline:undone run=(\d{1,9}) -->\r?$", re.MULTILINE)
_INTRODUCTION = (
    "Entries that were moved here from {name}, verbatim. What stands between two markers must not "
    "be changed: its hash is in the file it came from."
)


class ArchiveBlock(Value, frozen=True):
    """What goes to an archive together, or stands there."""

    content: bytes
    """Verbatim."""
    entries: int
    """With those that references in it stand for."""
    sha256: str
    lead: bytes = b""
    """The head of a table, so that people can read the rows."""
    run: int = 0
    """Number of the compaction that moved it."""
    at: datetime | None = None
    line: int = 0
    """Of its marker, from 1."""
    damage: str = ""
    """Why it is not what was moved; empty where it is."""


class Archive(NamedTuple):
    blocks: tuple[ArchiveBlock, ...] = ()
    undone: frozenset[int] = frozenset()
    """Runs that were taken back."""

    def whole(self) -> dict[str, ArchiveBlock]:
        """Blocks without damage, by their hash."""
        return {block.sha256: block for block in self.blocks if not block.damage}


def block_of(content: str, *, entries: int, lead: str = "") -> ArchiveBlock:
    data = content.encode()
    digest = sha256(data).hexdigest()
    return ArchiveBlock(content=data, entries=entries, lead=lead.encode(), sha256=digest)


def archive_name(name: str) -> str:
    """activeContext.md and activeContext.jsonl go to activeContext.archive.md."""
    return derived_name(name, ARCHIVE)


def appended(
    archive: bytes | None, block: ArchiveBlock, at: datetime, *, of: str = "this file", run: int = 1
) -> bytes:
    """The archive with a block behind all others. One that it has, whole and not taken back, is not
    written again: after a crash the same move is planned once more."""
    if archive and block.sha256.encode() in archive:
        known = read_archive(archive)
        there = known.whole().get(block.sha256)
        if there and there.run not in known.undone:
            return archive
    if not archive:
        archive = f"# Archive of {of}\n\n{_INTRODUCTION.format(name=of)}\n".encode()
    opening = (
        f"\n## {at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}: {entries_told(block.entries)}\n\n"
        f"<!-- kedgeline:block entries={block.entries} lead={len(block.lead)} "
        f"bytes={len(block.content)} sha256={block.sha256} run={run} -->\n"
    )
    end = b"\n" + _closing(block.sha256) + b"\n"
    return b"".join((_ended(archive), opening.encode(), block.lead, block.content, end))


def with_undone(archive: bytes, run: int) -> bytes:
    return _ended(archive) + f"\n<!-- kedgeline:undone run={run} -->\n".encode()


def _ended(archive: bytes) -> bytes:
    return archive if archive.endswith(b"\n") else archive + b"\n"


def archives_of(derived: Mapping[str, bytes]) -> dict[str, Archive]:
    """By the name of the archive."""
    return {n: read_archive(data) for n, data in derived.items() if stem(n).endswith(ARCHIVE)}


def read_archive(data: bytes) -> Archive:
    """All blocks in the order of the file, damaged ones with what is wrong."""
    found: list[ArchiveBlock] = []
    undone: set[int] = set()
    place, line, seen = 0, 1, 0
    while opening := _OPENING.search(data, place):
        start = opening.start()
        line, seen = line + data.count(b"\n", seen, start), start
        undone.update(map(int, _UNDONE.findall(data, place, start)))
        stamps = _HEADING.findall(data, place, start)
        block, place = _block_at(data, opening)
        at = time_in(stamps[-1].decode()) if stamps else None
        found.append(replace(block, at=at, line=line))
    undone.update(map(int, _UNDONE.findall(data, place)))
    return Archive(tuple(found), frozenset(undone))


def _block_at(archive: bytes, opening: re.Match[bytes]) -> tuple[ArchiveBlock, int]:
    """The block behind a marker, and where to read on."""
    entries, lead, size = (int(opening[n]) for n in (1, 2, 3))
    digest = opening[4].decode()
    closing = _closing(digest)
    start = opening.end() + lead
    block = ArchiveBlock(
        content=archive[start : start + size],
        entries=entries,
        sha256=digest,
        lead=archive[opening.end() : start],
        run=int(opening[5]),
    )
    if archive.startswith(b"\n" + closing, start + size):
        changed = sha256(block.content).hexdigest() != digest
        damage = "its content was changed" if changed else ""
        return replace(block, damage=damage), start + size + 1 + len(closing)
    end = archive.find(closing, opening.end())
    if end < 0:
        return replace(block, content=b"", damage="its end is missing"), opening.end()
    content = archive[start : max(start, end - 1)]
    unix = sha256(content.replace(b"\r\n", b"\n").removesuffix(b"\r")).hexdigest()
    damage = "its line ends were converted" if unix == digest else "its content was changed"
    return replace(block, content=content, damage=damage), end + len(closing)


def _closing(digest: str) -> bytes:
    return f"<!-- /kedgeline:block {digest} -->".encode()


def archived(name: str, archive: bytes) -> list[Document]:
    """What an archive holds, a document for each block, the newest first. An archive without
    blocks is somebody's own, and is read as it is."""
    origin = f"{name.partition(ARCHIVE)[0]}.md"
    found = [understood(origin, one.lead + one.content) for one in read_archive(archive).blocks]
    documents = found[::-1] or [understood(origin, archive)]
    return [replace(document, name=name) for document in documents]


def put_back(document: Document, blocks: Iterable[ArchiveBlock]) -> str:
    """The file with blocks in it again, each where its line stood, the last that went first. What
    was written since stays; a block that stands there already is passed over. Raises BankChanged
    where the line that stands for a block is gone."""
    for block in reversed(list(blocks)):
        content = block.content.decode()
        named = [
            n
            for n, one in enumerate(document.pieces)
            if isinstance(one, Reference) and one.sha256 == block.sha256
        ]
        if named:
            place = named[0] if document.order == "newest_first" else named[-1]
            texts = [piece.text for piece in document.pieces]
            texts[place] = content
        elif content.strip() in document.text:
            continue
        else:
            begin = cut(foreign(content.strip().partition("\n")[0]), 120)
            why = (
                f"the line with the hash {block.sha256[:12]} was removed or changed since, which "
                f"shows where {begin!r} comes back; nothing was undone; put it back and undo again"
            )
            raise BankChanged(document.name, why)
        document = read_document(document.name, "".join(texts).encode())
    return document.text

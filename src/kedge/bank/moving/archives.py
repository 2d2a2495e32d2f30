"""The file that old entries go to: Markdown for people, blocks that are found again to the byte.

    ## 2026-02-23T09:30:00Z: 2 entries

    <!-- kedge:block entries=2 lead=0 bytes=311 sha256=… -->
    (a copy of a table's head, `lead` bytes, then exactly `bytes` bytes, whatever they say)
    <!-- /kedge:block … -->

The count of bytes is what finds the end, so that an entry may hold fences, headings and markers of
its own. The closing marker has the hash again: behind a block that somebody edited, reading goes on
there and the other blocks are safe."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from hashlib import sha256

from msgspec import structs

from kedge.bank.shapes import read_document
from kedge.bank.shapes.prose import Prose
from kedge.bank.values import ARCHIVE, Document, Other
from kedge.errors import BankMalformed
from kedge.model import Value

_OPENING = re.compile(
    rb"^<!-- kedge:block entries=(\d{1,9}) lead=(\d{1,9}) bytes=(\d{1,12})"
    rb" sha256=([0-9a-f]{64}) -->\r?\n",
    re.MULTILINE,
)
_HEADING = re.compile(rb"^## (\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ)[^\n]*$", re.MULTILINE)
_INTRODUCTION = (
    "Entries that were moved here from {name}, verbatim. What stands between two markers must not "
    "be changed: its hash is in the file it came from."
)


class Block(Value, frozen=True):
    """What goes to an archive together."""

    content: bytes
    """Verbatim."""
    entries: int
    """How many, those included that references in it stand for."""
    lead: bytes = b""
    """What stands before it so that people can read it: the head of a table."""

    @property
    def sha256(self) -> str:
        return sha256(self.content).hexdigest()


class Found(Value, frozen=True):
    """A block as it stands in an archive."""

    sha256: str
    """As its marker says."""
    line: int
    """Of its marker, counted from 1."""
    entries: int = 0
    content: bytes = b""
    lead: bytes = b""
    at: str = ""
    """The time in the heading above it."""
    damage: str = ""
    """Why it is not what was moved; empty where it is."""


def archive_name(name: str) -> str:
    """activeContext.md and activeContext.jsonl go to activeContext.archive.md."""
    return f"{name.rpartition('.')[0] or name}{ARCHIVE}.md"


def appended(archive: bytes | None, block: Block, at: datetime, *, of: str = "this file") -> bytes:
    """The archive with a block behind all others. One that it has already, whole, is not written
    again: after a crash the same move is planned once more."""
    if archive and has(archive, block.sha256):
        return archive
    if not archive:
        title = f"# Archive of {of}\n\n{_INTRODUCTION.format(name=of)}\n"
        archive = title.encode()
    stamp = at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    counted = f"{block.entries} {'entry' if block.entries == 1 else 'entries'}"
    opening = (
        f"<!-- kedge:block entries={block.entries} lead={len(block.lead)} "
        f"bytes={len(block.content)} sha256={block.sha256} -->\n"
    )
    gap = b"" if archive.endswith(b"\n") else b"\n"
    heading = f"\n## {stamp}: {counted}\n\n{opening}".encode()
    return b"".join(
        (archive, gap, heading, block.lead, block.content, b"\n", _closing(block.sha256), b"\n")
    )


def has(archive: bytes, digest: str) -> bool:
    """Whether a block is there and whole."""
    if f"sha256={digest} -->".encode() not in archive:
        return False
    return any(found.sha256 == digest and not found.damage for found in blocks(archive))


def archived(name: str, archive: bytes) -> list[Document]:
    """What an archive holds, block by block and the newest first, each read as the file has it
    that it came from: what an entry says must not depend on where it lies. One without blocks is
    somebody's own, and is read as it is."""
    origin = f"{name.partition(ARCHIVE)[0]}.md"
    found = [understood(origin, block.lead + block.content) for block in blocks(archive)]
    documents = found[::-1] or [understood(origin, archive)]
    return [structs.replace(document, name=name) for document in documents]


def understood(name: str, data: bytes) -> Document:
    """A file as it is; where it cannot be understood, it is prose."""
    try:
        return read_document(name, data)
    except BankMalformed:
        text = data.decode("utf-8", "replace")
        return Document(name=name, shape=Prose.name, pieces=(Other(text=text, line=1),))


def blocks(archive: bytes) -> Iterator[Found]:
    """All blocks in the order of the file, damaged ones with what is wrong."""
    place, line, counted = 0, 1, 0
    while opening := _OPENING.search(archive, place):
        line, counted = line + archive.count(b"\n", counted, opening.start()), opening.start()
        stamps = _HEADING.findall(archive, place, opening.start())
        found, place = _block_at(archive, opening, line)
        yield structs.replace(found, at=stamps[-1].decode()) if stamps else found


def _block_at(archive: bytes, opening: re.Match[bytes], line: int) -> tuple[Found, int]:
    """The block behind a marker, and where to read on."""
    entries, lead, size = (int(opening[n]) for n in (1, 2, 3))
    digest, closing = opening[4].decode(), _closing(opening[4].decode())
    start = opening.end() + lead
    if archive.startswith(b"\n" + closing, start + size):
        content = archive[start : start + size]
        damage = _difference(content, digest)
        found = Found(
            sha256=digest,
            line=line,
            entries=entries,
            content=content,
            lead=archive[opening.end() : start],
            damage=damage,
        )
        return found, start + size + 1 + len(closing)
    end = archive.find(closing, opening.end())
    if end < 0:
        damage = "its end is missing"
        return Found(sha256=digest, line=line, entries=entries, damage=damage), opening.end()
    content = archive[start : max(start, end - 1)]
    damage = _difference(content, digest) or "its marker has another number of bytes"
    found = Found(sha256=digest, line=line, entries=entries, content=content, damage=damage)
    return found, end + len(closing)


def _difference(content: bytes, digest: str) -> str:
    if sha256(content).hexdigest() == digest:
        return ""
    unix = content.replace(b"\r\n", b"\n").removesuffix(b"\r")
    if sha256(unix).hexdigest() == digest:
        return "its line ends were converted"
    return "its content was changed"


def _closing(digest: str) -> bytes:
    return f"<!-- /kedge:block {digest} -->".encode()

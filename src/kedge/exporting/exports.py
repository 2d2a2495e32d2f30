"""A session written as lines."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from hashlib import sha256
from typing import BinaryIO

from kedge.archive import Damaged, checked_text
from kedge.archive.packing import PLAIN, Blob, as_bytes, decompressed
from kedge.errors import NoSuchSession, OutputUnwritable
from kedge.exporting.lines import (
    FORMAT,
    LONGEST_LINE,
    VERSION,
    End,
    Header,
    Line,
    TextLine,
    encoded,
    line_of,
)
from kedge.exporting.redacted import Cleaning, redacted
from kedge.model import Value
from kedge.names import checked
from kedge.store import Entry, Head, Store
from kedge.store.chain import chain_of

Watch = Callable[[int, int], None]
"""Is told how many entries are done, and how many there are."""


class ExportReport(Value, frozen=True):
    session: str
    entries: int
    texts: int
    """Large texts, each written once."""
    bytes: int
    redacted: bool


def export_session(
    store: Store,
    name: str,
    target: BinaryIO,
    *,
    cleaning: Cleaning | None = None,
    watch: Watch | None = None,
) -> ExportReport:
    """Write a session as it is now. Originals go out as they are, secrets included, unless
    `cleaning` takes these out. `Damaged` where something is not what was written: an export is
    whole or there is none."""
    head = store.head(checked("session", name))
    if not head.number:
        raise NoSuchSession(name)
    lines = _Lines(target)
    lines.write(
        Header(
            format=FORMAT,
            version=VERSION,
            session=name,
            entries=head.number,
            redacted=cleaning is not None,
        )
    )
    entries = _entries(store, name, head)
    chain = ""
    for entry, blob in _outgoing(entries, store.blob, cleaning):
        lines.write_entry(entry, blob)
        chain = entry.chain
        if watch is not None:
            watch(entry.number, head.number)
    lines.end(head.number, chain)
    return ExportReport(
        session=name,
        entries=head.number,
        texts=len(lines.texts),
        bytes=lines.bytes,
        redacted=cleaning is not None,
    )


def _outgoing(
    entries: Iterator[Entry], blob: Blob, cleaning: Cleaning | None
) -> Iterator[tuple[Entry, Blob]]:
    """Entries with where their texts are."""
    if cleaning is not None:
        return redacted(entries, blob, cleaning)
    return ((entry, blob) for entry in entries)


def _entries(store: Store, name: str, head: Head) -> Iterator[Entry]:
    """The entries up to a head, each held against its chain."""
    before = Head()
    for entry in store.entries(name):
        if entry.number != before.number + 1:
            raise Damaged(f"entry {before.number + 1} of {name} is gone")
        if entry.chain != chain_of(entry, before.chain):
            raise Damaged(f"entry {entry.number} of {name} breaks its chain")
        yield entry
        before = Head(number=entry.number, chain=entry.chain)
        if entry.number == head.number:
            return
    raise Damaged(f"entry {before.number + 1} of {name} is gone")


class _Lines:
    def __init__(self, target: BinaryIO) -> None:
        self._target, self._hash = target, sha256()
        self.bytes = 0
        self.texts: set[str] = set()
        """Hashes of those that are written."""

    def write(self, line: Line) -> None:
        data = encoded(line)
        if len(data) > LONGEST_LINE:
            raise OutputUnwritable(f"a line would be longer than {LONGEST_LINE:,} bytes")
        self._target.write(data)
        self._hash.update(data)
        self.bytes += len(data)

    def write_entry(self, entry: Entry, blob: Blob) -> None:
        for hash in entry.blobs:
            if hash not in self.texts:
                self._write_text(hash, checked_text(hash, blob(hash)))
        raw = decompressed(entry.data) if entry.data else b""
        self.write(line_of(entry, raw[1:] if raw[:1] == PLAIN else b""))

    def _write_text(self, hash: str, text: str) -> None:
        self.texts.add(hash)
        try:
            self.write(TextLine(hash=hash, text=text))
        except UnicodeEncodeError:
            self.write(TextLine(hash=hash, base64=as_bytes(text)))

    def end(self, entries: int, chain: str) -> None:
        hash = self._hash.hexdigest()
        self.write(End(entries=entries, texts=len(self.texts), chain=chain, hash=hash))

"""Whether what an entry names was there before it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from hashlib import sha256
from typing import BinaryIO

import msgspec

from kedgeline.errors import NotAnExport, SessionExists, SourceUnreadable
from kedgeline.files import checked
from kedgeline.model import Turn, Value
from kedgeline.session.archive import (
    LARGEST,
    PLAIN,
    Blob,
    Damaged,
    as_bytes,
    as_it_is,
    checked_text,
    compressed,
    decompressed,
    hash_of,
    passages_of,
    unpacked,
)
from kedgeline.session.checking import SPOKEN, faults
from kedgeline.session.deciding import Growing
from kedgeline.session.exports import (
    FORMAT,
    LARGEST_ODD,
    LONGEST_HEADER,
    LONGEST_LINE,
    VERSION,
    AnyLine,
    Cleaning,
    End,
    EntryLine,
    Header,
    Redaction,
    TextLine,
    decoded,
    header_of,
)
from kedgeline.session.journal import Pin, Recorded
from kedgeline.store import Entry, Head, Passage, Store, Writing
from kedgeline.store.values import chain_of

PLACED = ("turn", "words", "cut")


class Ranges:
    """Sees the entries of a session pass: turns without a gap, and nothing about what is not there.
    A view has a place for every turn up to the last, so that one far away would cost all memory."""

    def __init__(self) -> None:
        self._turns: dict[str, int] = {}
        """How many stand in each thread."""
        self._kinds: dict[int, str] = {}
        """Of the entries that others are about, by number."""

    def fault(self, entry: Entry, blob: Blob) -> str:
        """What is wrong with the next entry; empty where nothing is."""
        count = self._turns.get(entry.thread, 0)
        if entry.kind in PLACED:
            if not 0 <= entry.index <= count:
                return "has no place behind the turns before it"
            if entry.kind == "turn":
                self._turns[entry.thread] = entry.index + 1
            elif entry.kind == "cut":
                self._turns[entry.thread] = entry.index
        if entry.kind in ("compaction", "pin"):
            self._kinds[entry.number] = entry.kind
        wanted = {"undo": "compaction", "unpin": "pin"}.get(entry.kind)
        if wanted is not None and self._kinds.get(entry.index) != wanted:
            return f"is about entry {entry.index}, which is no {wanted}"
        return _inside(entry, self._turns.get("", 0), blob)


def _inside(entry: Entry, count: int, blob: Blob) -> str:
    """The same for what the data of an entry says; `count` turns stand."""
    if entry.kind in ("turn", "words"):
        same = unpacked(entry.data, Turn, blob).index == entry.index
        return "" if same else "says that it stands elsewhere"
    if entry.kind == "compaction":
        plan = unpacked(entry.data, Recorded, blob).compaction.plan
        inside = 0 <= plan.cut <= count and plan.cut == entry.index
        again = all(0 <= one.turn < count for one in plan.repeated)
        return "" if inside and again else "folds turns that are not there"
    if entry.kind == "pin":
        pin = unpacked(entry.data, Pin, blob)
        inside = pin.turn < count and pin.entry < entry.number
        return "" if inside else "pins a turn that is not there"
    return ""


# A session taken from lines, as a whole or not at all.

Clean = Callable[[str], str]
Watch = Callable[[int, int], None]
"""Is told how many entries are done, and how many there are."""


class ImportReport(Value, frozen=True):
    session: str
    """The name it has here."""
    origin: str
    """The name it had."""
    entries: int
    texts: int
    redacted: bool


def import_session(
    store: Store,
    source: BinaryIO,
    *,
    name: str | None = None,
    clean: Clean = as_it_is,
    cleaning: Cleaning | None = None,
    label: str = "<file>",
    watch: Watch | None = None,
) -> ImportReport:
    """Take in an exported session, under its own name or another. All hashes, ids, chains and
    counts are made anew and compared; what is wrong is a `NotAnExport`, and nothing is changed.
    `clean` takes secrets out of the index of words, `cleaning` out of all of it: ids and chains are
    made anew then. `label` names the source in messages."""
    lines = _Lines(source, label)
    header = lines.header()
    session = checked("session", header.session if name is None else name)
    with store.writing(session) as writing:
        if writing.head(session).number:
            raise SessionExists(session)
        taking = _Taking(writing, header, label, clean, cleaning)
        for line in lines:
            taking.take(line)
            if watch is not None:
                watch(taking.head.number, header.entries)
        taking.finish(lines)
    return ImportReport(
        session=session,
        origin=header.session,
        entries=taking.head.number,
        texts=len(taking.texts),
        redacted=header.redacted or cleaning is not None,
    )


class _Lines:
    """The lines of a file, none longer than it may be."""

    def __init__(self, source: BinaryIO, label: str) -> None:
        self._source, self._label = source, label
        self._hash = sha256()
        self.number = 0
        self.end: End | None = None
        self.hash = ""
        """Over all lines before the end."""

    def header(self) -> Header:
        line = self._line(LONGEST_HEADER)
        try:
            kind = msgspec.json.decode(line, type=_Kind)
        except (ValueError, RecursionError) as error:
            raise NotAnExport(self._label, "it is no exported session") from error
        if kind.format != FORMAT:
            raise NotAnExport(self._label, "it is no exported session")
        if kind.version > VERSION:
            why = f"a newer kedgeline wrote it (version {kind.version}, this one knows {VERSION})"
            raise NotAnExport(self._label, f"{why}; upgrade kedgeline")
        try:
            return header_of(line)
        except ValueError as error:
            raise NotAnExport(self._label, f"its first line is wrong: {error}") from error

    def __iter__(self) -> Iterator[AnyLine]:
        while self.end is None:
            before = self._hash.hexdigest()
            data = self._line(LONGEST_LINE)
            try:
                line = decoded(data)
            except ValueError as error:
                why = f"its line {self.number} cannot be read: {error}"
                raise NotAnExport(self._label, why) from error
            if isinstance(line, End):
                self.end, self.hash = line, before
            else:
                yield line
        if self._read(1):
            raise NotAnExport(self._label, "something follows behind its end")

    def _line(self, longest: int) -> bytes:
        data = self._read(longest + 1)
        self.number += 1
        if len(data) > longest:
            raise NotAnExport(self._label, f"its line {self.number} is too long")
        if not data.endswith(b"\n"):
            raise NotAnExport(self._label, f"it breaks off in line {self.number}")
        self._hash.update(data)
        return data

    def _read(self, most: int) -> bytes:
        try:
            return self._source.readline(most)
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or str(error)
            raise SourceUnreadable(self._label, why.lower()) from error


class _Kind(msgspec.Struct):
    format: str = ""
    version: int = 0


class _Taking:
    """What is taken in, checked line by line."""

    def __init__(
        self,
        writing: Writing,
        header: Header,
        label: str,
        clean: Clean,
        cleaning: Cleaning | None = None,
    ) -> None:
        self._writing, self._header, self._label, self._clean = writing, header, label, clean
        self._redaction = Redaction(cleaning) if cleaning is not None else None
        self._withheld: dict[str, bytes] = {}
        """Texts with a secret in them, packed: they are not written, and later entries may refer to
        them."""
        self._ranges = Ranges()
        self.head = Head()
        self.texts: set[str] = set()
        self._keys: set[str] = set()
        self._held: dict[str, bytes] = {}
        """Texts for the next entry, packed."""
        self._held_bytes = 0
        self._growing = Growing()

    def take(self, line: TextLine | EntryLine | End) -> None:
        if isinstance(line, TextLine):
            self._take_text(line)
        elif isinstance(line, EntryLine):
            self._take_entry(line)

    def finish(self, lines: _Lines) -> None:
        end = lines.end
        counted = (self.head.number, len(self.texts), self.head.chain)
        self._demand(not self._held, "a text in it belongs to no entry")
        self._demand(
            end is not None
            and (end.entries, end.texts, end.chain) == counted
            and self._header.entries == self.head.number,
            f"it has {self.head.number} entries and {len(self.texts)} texts, and says otherwise",
        )
        self._demand(end is not None and end.hash == lines.hash, "its lines were changed")
        self._demand(self.head.number > 0, "it has no entries")

    def _demand(self, fine: bool, why: str) -> None:
        if not fine:
            raise NotAnExport(self._label, why)

    def _take_text(self, line: TextLine) -> None:
        raw = line.base64 if line.text is None else as_bytes(line.text)
        shown = f"the text {line.hash[:12]!r}"
        self._demand(raw is not None and hash_of(raw) == line.hash, f"{shown} was changed")
        self._demand(line.hash not in self.texts, f"{shown} is in it twice")
        self._held_bytes += len(raw or b"")
        self._demand(self._held_bytes <= LARGEST, "an entry refers to more text than can be")
        self._held[line.hash] = compressed(raw or b"")
        self.texts.add(line.hash)

    def _take_entry(self, line: EntryLine) -> None:
        entry = line.entry()
        self._check_order(entry)
        self._check_data(line)
        self._check_texts(entry)
        why = self._ranges.fault(entry, self._blob)
        self._demand(not why, f"its entry {entry.number} {why}")
        self._write(entry)
        self.head = Head(number=entry.number, chain=entry.chain)
        self._held, self._held_bytes = {}, 0

    def _write(self, entry: Entry) -> None:
        blobs = self._held
        if self._redaction is not None:
            entry, others = self._redaction.cleaned(entry, self._blob)
            if others is not None:
                self._withheld |= {hash: blobs[hash] for hash in blobs if hash not in others}
                blobs = others
        passages: tuple[Passage, ...] = ()
        if entry.kind in SPOKEN:
            turn = unpacked(entry.data, Turn, lambda hash: blobs.get(hash) or self._blob(hash))
            passages = tuple(passages_of(turn, self._clean))
        before = self._growing.instead_of(entry)
        self._writing.add(entry, blobs=blobs, passages=passages, instead_of=before)

    def _check_order(self, entry: Entry) -> None:
        where = f"its entry {entry.number}"
        self._demand(entry.number == self.head.number + 1, f"{where} is not the next")
        self._demand(entry.chain == chain_of(entry, self.head.chain), f"{where} was changed")
        self._demand(not entry.key or entry.key not in self._keys, f"{where} repeats a key")
        self._keys.add(entry.key)

    def _check_data(self, line: EntryLine) -> None:
        """First how large it is when it is unpacked: it must be no more than is there to read."""
        where, data = f"its entry {line.number}", bytes(line.data)
        try:
            if line.packed:
                raw = decompressed(line.packed, largest=len(data) + 1 if data else LARGEST_ODD)
                self._demand(
                    not data or raw == PLAIN + data, f"the data of {where} is not what is packed"
                )
            for fault in faults(line.entry()):
                raise NotAnExport(self._label, f"{where}: {fault}")
        except Damaged as error:
            raise NotAnExport(self._label, f"{where} cannot be unpacked") from error

    def _check_texts(self, entry: Entry) -> None:
        """All it refers to is in the file, and nothing else came before it. What the store has
        already under the same hash must be sound: it is not written again."""
        where, needed = f"its entry {entry.number}", set(entry.blobs)
        self._demand(needed >= self._held.keys(), f"a text before {where} does not belong to it")
        self._demand(needed <= self.texts, f"a text that {where} refers to is missing")
        for hash in self._held:
            if (there := self._writing.blob(hash)) is not None:
                checked_text(hash, there)

    def _blob(self, hash: str) -> bytes | None:
        here = self._held.get(hash) or self._withheld.get(hash)
        return here or self._writing.blob(hash)

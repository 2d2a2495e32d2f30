"""A session exported as lines, and imported again.

One header; each large text before the first entry that refers to it; the entries in order; the end.
`packed` is what the store keeps, byte for byte: the chain is made over these bytes."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from hashlib import sha256
from typing import Annotated, Any, BinaryIO, NoReturn, Protocol

import msgspec
from msgspec.structs import asdict, replace

from kedgeline.errors import (
    FileRefused,
    NoSuchSession,
    OutputUnwritable,
    SourceUnreadable,
    StoreDamaged,
    UserError,
)
from kedgeline.files import checked
from kedgeline.model import Transcript, Turn, Value
from kedgeline.session.archive import (
    SPOKEN,
    Blob,
    Damaged,
    as_it_is,
    checked_text,
    decompressed,
    packed,
    passages_of,
    unpacked,
)
from kedgeline.session.checking import SAYS, Audit
from kedgeline.session.deciding import Growing
from kedgeline.session.journal import PLACED, Recorded
from kedgeline.store import Entry, Head, Kind, Passage, Store, Writing
from kedgeline.store.protocol import chain_of, linked

FORMAT, VERSION = "kedgeline-session", 2
LONGEST_HEADER = 1 << 16
"""Bytes of the first line: what is no export is refused by it, before more is read."""
LONGEST_LINE = 1 << 30
LARGEST_DATA = 1 << 27
"""Bytes that the data of an imported entry may unpack to. Large texts are never in it."""

Whole = Annotated[int, msgspec.Meta(ge=-(1 << 62), le=1 << 62)]
"""What every store can keep."""


class _Line(msgspec.Struct, frozen=True, kw_only=True, tag_field="line", omit_defaults=True):
    """The first field of a line says what it is."""


class _Header(_Line, frozen=True, tag="header"):
    format: str
    version: int
    session: str
    entries: int
    redacted: bool = False
    """Whether secrets were left out. Then ids and chains were made anew."""


class TextLine(_Line, frozen=True, tag="text"):
    hash: str
    packed: bytes


class EntryLine(_Line, frozen=True, tag="entry"):
    number: Whole
    kind: Kind
    chain: str
    at: Whole = 0
    thread: str = ""
    index: Whole = -1
    tokens: Whole = 0
    id: str = ""
    key: str = ""
    blobs: tuple[str, ...] = ()
    said: tuple[str, ...] = ()
    packed: bytes = b""

    def entry(self) -> Entry:
        fields = asdict(self)
        return Entry(data=fields.pop("packed"), **fields)


class _End(_Line, frozen=True, tag="end"):
    entries: int
    chain: str
    """Of the last entry."""
    hash: str
    """SHA-256 over all lines before this one."""


AnyLine = _Header | TextLine | EntryLine | _End
Watch = Callable[[int, int], None]
"""Gets how many entries are done, and how many there are."""


# Entries without the secrets in them.


class Cleaning(Protocol):
    """Takes secrets out, as `kedgeline.redact.Redactor` does."""

    def clean(self, text: str) -> str: ...

    def turn(self, turn: Turn) -> Turn: ...


class Redaction:
    """Sees the entries of a session in order. Of an entry that is changed, the ids of the messages
    it absorbed are left out: they are hashes of what was said, and a short secret could be
    guessed."""

    def __init__(self, cleaning: Cleaning) -> None:
        self._cleaning, self._head = cleaning, Head()
        self._chains: dict[int, str] = {}
        """Of the turns, by their numbers: the record of a compaction names one."""
        self._threads: dict[str, str] = {}
        """The cleaned names of sub-agents: two must not become one."""

    def cleaned(self, entry: Entry, blob: Blob) -> tuple[Entry, dict[str, bytes] | None]:
        """The next entry without secrets, with its number and chain; and the texts it refers to,
        where these are others than before."""
        entry = replace(entry, thread=self._thread(entry.thread))
        if self._cleaning.clean(entry.key) != entry.key:
            entry = replace(entry, key="")
        entry, texts = self._without_secrets(entry, blob)
        made = linked(entry, self._head)
        self._head = Head(number=made.number, chain=made.chain)
        if made.kind == "turn":
            self._chains[made.number] = made.chain
        return made, texts

    def _without_secrets(self, entry: Entry, blob: Blob) -> tuple[Entry, dict[str, bytes] | None]:
        expected = SAYS.get(entry.kind)
        if expected is None:
            return entry, None
        was = unpacked(entry.data, expected, blob)
        now = self._value(was)
        if isinstance(now, Recorded):
            now = replace(now, chain=self._chains.get(now.folded, ""))
        if isinstance(now, (Turn, Transcript)) and now.agent != entry.thread:
            now = replace(now, agent=entry.thread)
        if now == was:
            return entry, None
        made = packed(now, beside=PLACED if entry.kind in SPOKEN else ())
        said = () if entry.kind in SPOKEN else entry.said
        anew = replace(entry, data=made.data, id=made.id, blobs=tuple(made.blobs), said=said)
        return anew, made.blobs

    def _value(self, value: Value) -> Value:
        if isinstance(value, Turn):
            return self._cleaning.turn(value)
        return msgspec.convert(self._tree(msgspec.to_builtins(value)), type(value))

    def _tree(self, value: Any) -> Any:
        if isinstance(value, str):
            return self._cleaning.clean(value)
        if isinstance(value, dict):
            return {key: self._tree(inner) for key, inner in value.items()}
        if isinstance(value, (list, tuple)):
            return [self._tree(inner) for inner in value]
        return value

    def _thread(self, name: str) -> str:
        if name not in self._threads:
            cleaned, taken = self._cleaning.clean(name), {*self._threads.values()}
            same = sum(1 for one in taken if one.startswith(cleaned)) if cleaned != name else 0
            self._threads[name] = f"{cleaned} {same + 1}" if same else cleaned
        return self._threads[name]


# Exporting.


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
    """Write a session as it is now. Originals are exported as they are, secrets included, unless
    `cleaning` takes these out. `Damaged` where something is not what was written: an export is
    whole or there is none."""
    head = store.head(checked("session", name))
    if not head.number:
        raise NoSuchSession(name)
    written: set[str] = set()
    size, chain, hashed = 0, "", sha256()

    def write(line: _Line) -> None:
        nonlocal size
        data = json.dumps(msgspec.to_builtins(line)).encode("ascii") + b"\n"
        if len(data) > LONGEST_LINE:
            raise OutputUnwritable(f"a line would be longer than {LONGEST_LINE:,} bytes")
        target.write(data)
        hashed.update(data)
        size += len(data)

    redaction = Redaction(cleaning) if cleaning is not None else None
    header = _Header(format=FORMAT, version=VERSION, session=name, entries=head.number)
    write(replace(header, redacted=redaction is not None))
    for entry in _checked_entries(store, name, head):
        blobs: dict[str, bytes] | None = None
        if redaction is not None:
            entry, blobs = redaction.cleaned(entry, store.blob)
        for hash in entry.blobs:
            if hash not in written:
                written.add(hash)
                data = store.blob(hash) if blobs is None else blobs[hash]
                checked_text(hash, data)
                write(TextLine(hash=hash, packed=data or b""))
        fields = asdict(entry)
        write(EntryLine(packed=fields.pop("data"), **fields))
        chain = entry.chain
        if watch is not None:
            watch(entry.number, head.number)
    write(_End(entries=head.number, chain=chain, hash=hashed.hexdigest()))
    return ExportReport(
        session=name,
        entries=head.number,
        texts=len(written),
        bytes=size,
        redacted=redaction is not None,
    )


def _checked_entries(store: Store, name: str, head: Head) -> Iterator[Entry]:
    """The entries up to a head, each compared with its chain."""
    before = Head()
    for entry in store.entries(name):
        if entry.number != before.number + 1:
            break
        if entry.chain != chain_of(entry, before.chain):
            raise Damaged(f"entry {entry.number} of {name} breaks its chain")
        yield entry
        before = Head(number=entry.number, chain=entry.chain)
        if entry.number == head.number:
            return
    raise Damaged(f"entry {before.number + 1} of {name} is gone")


# Importing: a session as a whole or not at all.

Clean = Callable[[str], str]


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
    """Import an exported session, under its own name or another. All hashes, ids, chains and
    references are checked; what is wrong raises `FileRefused`, and nothing is changed.

    `clean` takes secrets out of the index of words, `cleaning` out of all of it: ids and chains are
    made anew then. `label` names the source in messages."""
    lines = _Lines(source, label)
    header = lines.header()
    session = checked("session", header.session if name is None else name)
    with store.writing(session) as writing:
        if writing.head(session).number:
            raise UserError(f"there is a session {session!r} already; choose another name")
        importing = _Importing(lines, writing, clean, cleaning)
        for line in lines:
            if isinstance(line, TextLine):
                importing.text(line)
            elif isinstance(line, EntryLine):
                importing.entry(line)
                if watch is not None:
                    watch(line.number, header.entries)
            elif isinstance(line, _End):
                importing.end(line, header)
                break
        lines.refuse_more()
        audit = Audit(writing, session)
        for entry in writing.entries(session):
            for fault in audit.faults(entry):
                lines.refuse(f"its entry {entry.number}: {fault}")
    return ImportReport(
        session=session,
        origin=header.session,
        entries=header.entries,
        texts=importing.texts,
        redacted=header.redacted or cleaning is not None,
    )


class _Lines:
    """The lines of a file, none longer than it may be."""

    def __init__(self, source: BinaryIO, label: str) -> None:
        self._source, self._label = source, label
        self._number, self._hash = 0, sha256()

    def refuse(self, why: str) -> NoReturn:
        raise FileRefused(self._label, f"{why}; nothing was changed")

    def header(self) -> _Header:
        data = self._read(LONGEST_HEADER + 1)
        self._number = 1
        try:
            found = json.loads(data)
        except (ValueError, RecursionError):
            found = None
        if not isinstance(found, dict) or found.get("format") != FORMAT:
            self.refuse("it is not an exported session")
        if (version := found.get("version")) != VERSION:
            older = isinstance(version, int) and version < VERSION
            step = "export it again with this one" if older else "upgrade kedgeline"
            another = f"{'an older' if older else 'a newer'} kedgeline wrote it"
            self.refuse(f"{another} (version {version}, this one reads {VERSION}); {step}")
        header = self._line(data)
        assert isinstance(header, _Header)
        return header

    def __iter__(self) -> Iterator[AnyLine]:
        while True:
            before, data = self._hash.hexdigest(), self._read(LONGEST_LINE + 1)
            self._number += 1
            line = self._line(data)
            if isinstance(line, _End) and line.hash != before:
                self.refuse("its lines were changed")
            yield line

    def _line(self, data: bytes) -> AnyLine:
        if len(data) > LONGEST_LINE:
            self.refuse(f"its line {self._number} is too long")
        if not data.endswith(b"\n"):
            self.refuse(f"it breaks off in line {self._number}")
        try:
            found: AnyLine = msgspec.convert(json.loads(data), AnyLine)
        except (ValueError, RecursionError) as error:
            self.refuse(f"its line {self._number} cannot be read: {error}")
        return found

    def refuse_more(self) -> None:
        if self._read(1):
            self.refuse("something follows behind its end")

    def _read(self, most: int) -> bytes:
        try:
            data = self._source.readline(most)
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or str(error)
            raise SourceUnreadable(self._label, why.lower()) from error
        self._hash.update(data)
        return data


class _Importing:
    """Writes line by line, and checks what cannot be checked afterwards."""

    def __init__(
        self, lines: _Lines, writing: Writing, clean: Clean, cleaning: Cleaning | None
    ) -> None:
        self._refuse, self._writing, self._clean = lines.refuse, writing, clean
        self._redaction = Redaction(cleaning) if cleaning is not None else None
        self._head, self._growing = Head(), Growing()
        self._keys: set[str] = set()
        self._texts: set[str] = set()
        self._held: dict[str, bytes] = {}
        """Texts for the next entry."""
        self._withheld: dict[str, bytes] = {}
        """Texts with a secret: they are not written, and later entries may refer to them."""

    @property
    def texts(self) -> int:
        return len(self._texts)

    def text(self, line: TextLine) -> None:
        if line.hash in self._texts:
            self._refuse(f"the text {line.hash[:12]!r} is in it twice")
        self._texts.add(line.hash)
        self._held[line.hash] = line.packed

    def entry(self, line: EntryLine) -> None:
        entry, where = line.entry(), f"its entry {line.number}"
        if entry != linked(entry, self._head):
            self._refuse(f"{where} is not the next, or was changed")
        self._head = Head(number=entry.number, chain=entry.chain)
        if not self._held.keys() <= set(entry.blobs) <= self._texts:
            self._refuse(f"{where} does not refer to the texts before it, or to others")
        if entry.key and entry.key in self._keys:
            self._refuse(f"{where} repeats a key")
        self._keys.add(entry.key)
        try:
            if entry.data:
                decompressed(entry.data, largest=LARGEST_DATA)
            for hash, data in self._held.items():
                checked_text(hash, data)
            self._write(entry)
        except StoreDamaged as error:
            self._refuse(f"{where} cannot be read: {error.why}")
        self._held = {}

    def _write(self, entry: Entry) -> None:
        blobs: dict[str, bytes] = self._held
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

    def _blob(self, hash: str) -> bytes | None:
        here = self._held.get(hash) or self._withheld.get(hash)
        return here or self._writing.blob(hash)

    def end(self, line: _End, header: _Header) -> None:
        if self._held:
            self._refuse("a text in it belongs to no entry")
        counted = (self._head.number, self._head.chain)
        if not self._head.number or (line.entries, line.chain) != counted:
            self._refuse(f"it has {self._head.number} entries, and says otherwise")
        if header.entries != line.entries:
            self._refuse("its first and last line differ in the number of entries")

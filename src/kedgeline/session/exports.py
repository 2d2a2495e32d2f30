"""A session exported as lines, and taken in again.

One header; each large text before the first entry that refers to it; the entries in order; the end,
with a hash over all lines before it. `packed` is an entry's data byte for byte, as its chain was
made over it; `data` is the same for readers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from hashlib import sha256
from typing import Annotated, Any, BinaryIO, Protocol

import msgspec
from msgspec.structs import asdict, replace

from kedgeline.errors import (
    FileRefused,
    NoSuchSession,
    OutputUnwritable,
    SourceUnreadable,
    UserError,
)
from kedgeline.files import checked
from kedgeline.model import Transcript, Turn, Value
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
    packed,
    passages_of,
    unpacked,
)
from kedgeline.session.checking import SAYS, SPOKEN, faults
from kedgeline.session.deciding import Growing
from kedgeline.session.journal import PLACED, Pin, Recorded
from kedgeline.store import Entry, Head, Kind, Passage, Store, Writing
from kedgeline.store.values import chain_of, linked

FORMAT, VERSION = "kedgeline-session", 1
LONGEST_HEADER = 1 << 16
"""Bytes of the first line. Whatever is no export is known by it, before more is read."""
LONGEST_LINE = 1 << 30
"""Bytes of any other line. No context window has a text of a hundredth of that."""
LARGEST_ODD = 1 << 26
"""Bytes that data may unpack to which is not there to be read. Large texts are never in it."""

Whole = Annotated[int, msgspec.Meta(ge=-(1 << 62), le=1 << 62)]
"""What every store can keep."""
Count = Annotated[int, msgspec.Meta(ge=0, le=1 << 62)]


NOTHING = msgspec.Raw(b"")


class Line(msgspec.Struct, frozen=True, kw_only=True, tag_field="line", omit_defaults=True):
    """What a line is, is named in its first field."""


class Header(Line, frozen=True, tag="header"):
    format: str
    version: int
    session: str
    entries: Count
    redacted: bool = False
    """Whether secrets were left out. Then ids and chains were made anew."""


class TextLine(Line, frozen=True, tag="text"):
    hash: str
    text: str | None = None
    base64: bytes | None = None
    """Instead of a text that is no Unicode, such as half a surrogate pair."""


class EntryLine(Line, frozen=True, tag="entry"):
    number: Count
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
    data: msgspec.Raw = NOTHING
    """As JSON, where it is such."""
    packed: bytes = b""

    def entry(self) -> Entry:
        fields = {name: value for name, value in asdict(self).items() if name != "packed"}
        return Entry(**{**fields, "data": self.packed})


class End(Line, frozen=True, tag="end"):
    entries: Count
    texts: Count
    chain: str
    """Of the last entry."""
    hash: str
    """Over all lines before this one."""


AnyLine = TextLine | EntryLine | End
_header = msgspec.json.Decoder(Header)
_line = msgspec.json.Decoder(AnyLine)


def line_of(entry: Entry, data: bytes) -> EntryLine:
    """An entry with its data as JSON; empty where that is none."""
    raw = msgspec.Raw(data) if data else NOTHING
    return EntryLine(**{**asdict(entry), "data": raw, "packed": entry.data})


def encoded(line: Line) -> bytes:
    try:
        return msgspec.json.encode(line) + b"\n"
    except UnicodeEncodeError:  # a name of an agent, or a key, that is no Unicode
        plain: dict[str, Any] = msgspec.to_builtins(line, builtin_types=(msgspec.Raw,))
        plain.pop("data", None)
        return json.dumps(plain).encode("ascii") + b"\n"


def decoded(line: bytes) -> AnyLine:
    """A line behind the header; a ValueError where it is none."""
    try:
        found: AnyLine = _line.decode(line)
    except msgspec.ValidationError:
        raise
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return _odd(line)
    return found


def _odd(line: bytes) -> AnyLine:
    """One with a name in it that is no Unicode."""
    try:
        plain = json.loads(line)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    if isinstance(plain, dict):
        plain.pop("data", None)
    found: AnyLine = msgspec.convert(plain, AnyLine)
    return found


# Entries without the secrets in them.


class Cleaning(Protocol):
    """Takes secrets out, as `kedgeline.redact.Redactor` does."""

    def clean(self, text: str) -> str: ...

    def turn(self, turn: Turn) -> Turn: ...


def redacted(
    entries: Iterable[Entry], blob: Blob, cleaning: Cleaning
) -> Iterator[tuple[Entry, Blob]]:
    """The entries in a chain of their own, each with where its texts are."""
    redaction = Redaction(cleaning)
    for entry in entries:
        made, texts = redaction.cleaned(entry, blob)
        yield made, blob if texts is None else texts.get


class Redaction:
    """Sees the entries of a session pass. Of an entry that is changed, the ids of the messages it
    took in are left out: they are hashes of what was said, and whoever guesses a short secret could
    make sure of it."""

    def __init__(self, cleaning: Cleaning) -> None:
        self._cleaning, self._head = cleaning, Head()
        self._chains: dict[int, str] = {}
        """Of the turns, by their numbers: the record of a compaction names one."""
        self._threads: dict[str, str] = {}
        """What became of the names of sub-agents: two must not become one."""

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
        now = _value(was, self._cleaning)
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

    def _thread(self, name: str) -> str:
        if name not in self._threads:
            cleaned, taken = self._cleaning.clean(name), {*self._threads.values()}
            same = sum(1 for one in taken if one.startswith(cleaned)) if cleaned != name else 0
            self._threads[name] = f"{cleaned} {same + 1}" if same else cleaned
        return self._threads[name]


def _value(value: Value, cleaning: Cleaning) -> Value:
    if isinstance(value, Turn):
        return cleaning.turn(value)
    return msgspec.convert(_tree(msgspec.to_builtins(value), cleaning), type(value))


def _tree(value: Any, cleaning: Cleaning) -> Any:
    if isinstance(value, str):
        return cleaning.clean(value)
    if isinstance(value, dict):
        return {key: _tree(inner, cleaning) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_tree(inner, cleaning) for inner in value]
    return value


# A session written as lines.

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
    lines = _Output(target)
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
    outgoing = (
        ((entry, store.blob) for entry in entries)
        if cleaning is None
        else redacted(entries, store.blob, cleaning)
    )
    for entry, blob in outgoing:
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


class _Output:
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


# An exported session taken in: whether what an entry names was there before it.


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
        if entry.kind in ("turn", "words", "cut"):
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


class ImportReport(Value, frozen=True):
    session: str
    """The name it has here."""
    origin: str
    """The name it had."""
    entries: int
    texts: int
    redacted: bool


def no_export(label: str, why: str) -> FileRefused:
    return FileRefused(label, f"{why}; nothing was changed")


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
    counts are made anew and compared; what is wrong raises `FileRefused`, and nothing is changed.
    `clean` takes secrets out of the index of words, `cleaning` out of all of it: ids and chains are
    made anew then. `label` names the source in messages."""
    lines = _Lines(source, label)
    header = lines.header()
    session = checked("session", header.session if name is None else name)
    with store.writing(session) as writing:
        if writing.head(session).number:
            raise UserError(f"there is a session {session!r} already; choose another name")
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
            raise no_export(self._label, "it is no exported session") from error
        if kind.format != FORMAT:
            raise no_export(self._label, "it is no exported session")
        if kind.version > VERSION:
            why = f"a newer kedgeline wrote it (version {kind.version}, this one knows {VERSION})"
            raise no_export(self._label, f"{why}; upgrade kedgeline")
        try:
            return _header.decode(line)
        except ValueError as error:
            raise no_export(self._label, f"its first line is wrong: {error}") from error

    def __iter__(self) -> Iterator[AnyLine]:
        while self.end is None:
            before = self._hash.hexdigest()
            data = self._line(LONGEST_LINE)
            try:
                line = decoded(data)
            except ValueError as error:
                why = f"its line {self.number} cannot be read: {error}"
                raise no_export(self._label, why) from error
            if isinstance(line, End):
                self.end, self.hash = line, before
            else:
                yield line
        if self._read(1):
            raise no_export(self._label, "something follows behind its end")

    def _line(self, longest: int) -> bytes:
        data = self._read(longest + 1)
        self.number += 1
        if len(data) > longest:
            raise no_export(self._label, f"its line {self.number} is too long")
        if not data.endswith(b"\n"):
            raise no_export(self._label, f"it breaks off in line {self.number}")
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
            raise no_export(self._label, why)

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
                raise no_export(self._label, f"{where}: {fault}")
        except Damaged as error:
            raise no_export(self._label, f"{where} cannot be unpacked") from error

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

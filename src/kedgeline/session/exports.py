"""The lines of an exported session.

One header; each large text before the first entry that refers to it; the entries in order; the end,
with a hash over all lines before it. `packed` is an entry's data byte for byte, as its chain was
made over it; `data` is the same for readers."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator
from hashlib import sha256
from typing import Annotated, Any, BinaryIO, Protocol

import msgspec
from msgspec.structs import replace

from kedgeline.errors import NoSuchSession, OutputUnwritable
from kedgeline.files import checked
from kedgeline.model import Transcript, Turn, Value
from kedgeline.session.archive import (
    PLAIN,
    Blob,
    Damaged,
    as_bytes,
    checked_text,
    decompressed,
    packed,
    unpacked,
)
from kedgeline.session.checking import SAYS, SPOKEN
from kedgeline.session.journal import PLACED, Recorded
from kedgeline.store import Entry, Head, Kind, Store
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
        return Entry(
            kind=self.kind,
            data=self.packed,
            at=self.at,
            thread=self.thread,
            index=self.index,
            tokens=self.tokens,
            id=self.id,
            key=self.key,
            blobs=self.blobs,
            said=self.said,
            number=self.number,
            chain=self.chain,
        )


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
    return EntryLine(
        number=entry.number,
        kind=entry.kind,
        at=entry.at,
        thread=entry.thread,
        index=entry.index,
        tokens=entry.tokens,
        id=entry.id,
        key=entry.key,
        blobs=entry.blobs,
        said=entry.said,
        chain=entry.chain,
        data=msgspec.Raw(data) if data else NOTHING,
        packed=entry.data,
    )


def encoded(line: Line) -> bytes:
    try:
        return msgspec.json.encode(line) + b"\n"
    except UnicodeEncodeError:  # a name of an agent, or a key, that is no Unicode
        plain: dict[str, Any] = msgspec.to_builtins(line, builtin_types=(msgspec.Raw,))
        plain.pop("data", None)
        return json.dumps(plain).encode("ascii") + b"\n"


def header_of(line: bytes) -> Header:
    """The header; a ValueError where the line is none."""
    return _header.decode(line)


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
    """Takes secrets out, as `kedgeline.redaction.Redactor` does."""

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

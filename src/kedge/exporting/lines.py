"""The lines of an exported session.

One header; each large text before the first entry that refers to it; the entries in order; the end,
with a hash over all lines before it. `packed` is an entry's data byte for byte, as its chain was
made over it; `data` is the same for readers."""

from __future__ import annotations

import json
from typing import Annotated, Any

import msgspec

from kedge.store import Entry, Kind

FORMAT, VERSION = "kedge-session", 1
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

"""Which formats there are, and which of them a file is in, told by its beginning. Shipped ones
register like a third party's: one line in the entry-point group `kedgeline.formats` (ours are in
pyproject.toml)."""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import chain, islice
from typing import Any, NamedTuple, Protocol, runtime_checkable

import msgspec

from kedgeline.errors import BrokenPlugin, UnknownName
from kedgeline.formats.log import Log
from kedgeline.formats.records import NOTHING, Lines, Record, document, documented, given_back
from kedgeline.formats.session import GrowingSession
from kedgeline.model import Transcript, Turn
from kedgeline.settings import FAULTS, load_registered, names

GROUP = "kedgeline.formats"
CERTAIN = 3
"""What `sniff` answers when no other format can be meant."""
GROWTH = 4
"""Times as much of a file that is looked at, where less of it told nothing."""


# The beginning of a file, as much of it as a format needs to recognise itself.

HEAD_BYTES = 256 * 1024
"""Enough for twenty ordinary records. A head ends with a line: records are seen whole."""
MOST_BYTES = 64 << 20
"""Of a file in which no format is seen yet: a system prompt or a list of tools may come before the
first message, and have any size."""
HEAD_LINES = 20
"""One odd line must not decide, and twenty always hold an ordinary one."""

_LONG_TEXT = re.compile(rb'("(?:[^"\\]|\\u[0-9a-fA-F]{4}|\\.){4096}+)(?:[^"\\]|\\.)*+"', re.DOTALL)
"""A text in a record that is larger than a head should be; its beginning tells enough."""


class FileHead:
    """Formats look at `text`, `document` or `records`; each is worked out once, when asked for."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    @cached_property
    def text(self) -> str:
        """As much of it as tells what kind of text it is."""
        return _plain(self.data[:HEAD_BYTES])

    @property
    def is_json(self) -> bool:
        """Whether it begins like a JSON object or list; Markdown formats need not look further."""
        return self.text[:1] in ("{", "[")

    @cached_property
    def document(self) -> Any:
        """The file as one JSON value, as far as the head goes; None when it is lines or no JSON."""
        if not self.is_json or len(self.lines) > 1:
            return None
        value = document([self.data], log := Log())
        if not log.damage_counts["torn"]:
            return value
        return None if self.lines else _whole_items(value)

    @cached_property
    def lines(self) -> tuple[Record, ...]:
        """Objects that stand alone on one of the first lines; an indented one is part of a
        document."""
        if not self.text.startswith("{") and "\n{" not in self.text:
            return ()
        if self.text.startswith("[") and documented(self.data.split(b"\n"))[0]:
            return ()
        lines = islice(_lines(self.data.lstrip(NOTHING)), HEAD_LINES)
        return tuple(filter(None, map(_object, lines)))

    @cached_property
    def records(self) -> tuple[Record, ...]:
        """The objects of a JSON Lines file; a file of one record is a document too."""
        if self.lines:
            return self.lines
        return (self.document,) if isinstance(self.document, dict) else ()

    def described(self) -> str:
        """What the file seems to be, for the one who asked to read it."""
        if not self.data.strip(b" \t\r\n\0"):
            return "an empty file"
        if b"\0" in self.data[:1024] and self.document is None and not self.lines:
            return "binary data"
        if isinstance(self.document, dict):
            return f"a JSON object with the keys {keys_of(self.document)}"
        if isinstance(self.document, list):
            inner = next((i for i in self.document if isinstance(i, dict)), None)
            return "a JSON list" + (f" of objects with the keys {keys_of(inner)}" if inner else "")
        if self.lines:
            return f"JSON Lines with the keys {keys_of(self.lines[0])}"
        return f"text that begins {self.text[:40]!r}"


def _whole_items(value: Any) -> Any:
    """A cut-off document without the item the cut went through; it lacks fields it really has."""
    if isinstance(value, list) and len(value) > 1:
        return value[:-1]
    if isinstance(value, dict) and value:
        key = next(reversed(value))
        return {**value, key: _whole_items(value[key])} if isinstance(value[key], list) else value
    return value


def _lines(data: bytes) -> Iterator[bytes]:
    """One after the other: together they would be the data once more."""
    at = 0
    while at < len(data):
        end = data.find(b"\n", at) + 1 or len(data)
        yield data[at:end]
        at = end


def _object(line: bytes) -> Record | None:
    if not line.startswith((b"{", b"\0")):
        return None
    if len(line) > HEAD_BYTES:
        line = _LONG_TEXT.sub(rb'\1"', line)
    try:
        value = msgspec.json.decode(line)
    except (ValueError, RecursionError):
        try:
            value = json.loads(_plain(line), strict=False)
        except (ValueError, RecursionError):
            return None
    return value if isinstance(value, dict) else None


def _plain(data: bytes) -> str:
    return data.replace(b"\0", b"").decode(errors="replace").lstrip("\ufeff \t\r\n")


def keys_of(record: Record) -> str:
    keys = ", ".join(repr(key) for key in list(record)[:6])
    return keys + (", …" if len(record) > 6 else "") if keys else "(none)"


# What formats can do.


class Format(Protocol):
    """How one kind of transcript is recognised and read."""

    name: str

    def sniff(self, head: FileHead) -> int:
        """How sure the content makes us: 0 not this format, 1 its general shape, 2 likely, 3
        certain."""

    def read(self, lines: Lines, log: Log) -> Iterator[Turn]:
        """Turns in order; everything else that is found goes into the log. Never raises for damage.

        A turn whose index is not behind the last one of its agent takes back the turns from there
        on."""


@runtime_checkable
class HasCompanions(Protocol):
    """A format whose client keeps parts of a session in files of their own."""

    def beside(self, stem: str, log: Log) -> Iterable[str]:
        """Glob patterns from the session's folder, for a session's file of this name; as far as
        what was read tells of them."""


class Unread(NamedTuple):
    """What a format would not read of a message."""

    place: str
    """Where it stands in the message, such as `.content[1]`; empty for the message itself."""
    what: str
    todo: str = "write it as a message of a provider that kedgeline knows, such as anthropic"


@runtime_checkable
class Grows(Protocol):
    """A format whose files are only ever added to, so that what was read need not be read again."""

    def grows(self, head: FileHead) -> bool:
        """Whether that is true of a file: one that was exported is written at once."""

    def growing(self, log: Log) -> GrowingSession: ...


class Recognised(NamedTuple):
    """What asking every format came to."""

    format: Format | None
    skipped: tuple[str, ...] = ()
    """Formats that could not be asked because they are broken."""


class Written(NamedTuple):
    """A transcript in a provider's shape, or as the one document of another format."""

    messages: list[dict[str, Any]]
    system: Any = None
    """System prompt, for providers that keep it beside the messages."""
    left_out: tuple[str, ...] = ()
    """What the provider has no place for, one sentence each."""


@runtime_checkable
class Provider(Protocol):
    """A format that can also be written: the message list of a model's API."""

    name: str

    def write(self, transcript: Transcript) -> Written: ...


def format_names() -> tuple[str, ...]:
    return names(GROUP)


def provider_names() -> tuple[str, ...]:
    return tuple(filter(is_provider, format_names()))


def load_format(name: str) -> Format:
    found: Format = load_registered(GROUP, "format", name, needs=("name", "sniff", "read"))
    return found


def load_provider(name: str) -> Provider:
    found = load_format(name) if name in format_names() else None
    if not isinstance(found, Provider):
        raise UnknownName("provider", name, known=provider_names())
    return found


def unread_in(name: str, messages: Iterable[Record]) -> tuple[int, Unread] | None:
    """The first message of which a format would lose something, by its number, and what."""
    of: Any = getattr(load_format(name), "unread", None)  # only formats of messages can say it
    found = ((number, of(message)) for number, message in enumerate(messages if of else ()))
    return next((one for one in found if one[1] is not None), None)


def is_provider(name: str) -> bool:
    """Whether a format of this name is there and can also be written."""
    try:
        return name in format_names() and isinstance(load_format(name), Provider)
    except BrokenPlugin:
        return False


def recognise(head: FileHead) -> Recognised:
    """The format that is surest of this content, on a tie the first by name, and those that are too
    broken to be asked."""
    best, strength = None, 0
    skipped: list[str] = []
    for name in format_names():
        try:
            found = load_format(name)
            sure = int(found.sniff(head))
        except (BrokenPlugin, *FAULTS):
            skipped.append(name)
            continue
        if sure > strength:
            best, strength = found, sure
        if strength >= CERTAIN:
            break
    return Recognised(best, tuple(skipped))


def recognised(lines: Iterator[bytes]) -> tuple[Recognised, FileHead, Iterator[bytes]]:
    """What the beginning of a file tells, as much of it as it takes, and all lines again."""
    taken: deque[bytes] = deque()
    size, wanted = 0, HEAD_BYTES
    for line in lines:
        taken.append(line)
        size += len(line)
        if size >= wanted:
            head = FileHead(b"".join(taken))
            found = recognise(head)
            if found.format is not None or not head.is_json or size >= MOST_BYTES:
                break
            wanted = size * GROWTH
    else:
        head = FileHead(b"".join(taken))
        found = recognise(head)
    return found, head, chain(given_back(taken), lines)

"""Which formats there are. Shipped ones register like a third party's: one line in the entry-point
group `kedgeline.formats` (ours are in pyproject.toml)."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator
from itertools import chain
from typing import Any, NamedTuple, Protocol, runtime_checkable

from kedgeline.errors import BrokenPlugin, UnknownName
from kedgeline.formats.head import HEAD_BYTES, MOST_BYTES, Head
from kedgeline.formats.log import Log
from kedgeline.formats.records import Lines, Record, given_back
from kedgeline.model import Transcript, Turn
from kedgeline.settings import FAULTS, load, names

GROUP = "kedgeline.formats"
CERTAIN = 3
"""What `sniff` answers when no other format can be meant."""
GROWTH = 4
"""Times as much of a file that is looked at, where less of it told nothing."""


class Format(Protocol):
    """How one kind of transcript is recognised and read."""

    name: str

    def sniff(self, head: Head) -> int:
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
class Particular(Protocol):
    """A format of messages that can say beforehand what it would lose of one."""

    def unread(self, message: Record) -> Unread | None: ...


class Growing(Protocol):
    """A session that is read while it is written. All it knows is plain data: it can be put away
    between two looks."""

    def take(self, lines: Lines) -> Iterator[Turn]:
        """The next lines, each of them whole."""

    def finish(self) -> Iterator[Turn]:
        """What is still open. Nothing can be taken afterwards."""


@runtime_checkable
class Grows(Protocol):
    """A format whose files are only ever added to, so that what was read need not be read again."""

    def grows(self, head: Head) -> bool:
        """Whether that is true of a file: one that was exported is written at once."""

    def growing(self, log: Log) -> Growing: ...


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


@runtime_checkable
class Exchange(Protocol):
    """A format that whole sessions are handed on in. No model takes it: no view is made in it."""

    name: str

    def export(self, transcript: Transcript) -> Written: ...


def format_names() -> tuple[str, ...]:
    return names(GROUP)


def provider_names() -> tuple[str, ...]:
    return tuple(filter(is_provider, format_names()))


def load_format(name: str) -> Format:
    found: Format = load(GROUP, "format", name, needs=("name", "sniff", "read"))
    return found


def load_provider(name: str) -> Provider:
    found = load_format(name) if name in format_names() else None
    if not isinstance(found, Provider):
        raise UnknownName("provider", name, known=provider_names())
    return found


def unread_in(name: str, messages: Iterable[Record]) -> tuple[int, Unread] | None:
    """The first message of which a format would lose something, by its number, and what."""
    found = load_format(name)
    if isinstance(found, Particular):
        for number, message in enumerate(messages):
            if (unread := found.unread(message)) is not None:
                return number, unread
    return None


def is_provider(name: str) -> bool:
    """Whether a format of this name is there and can also be written."""
    try:
        return name in format_names() and isinstance(load_format(name), Provider)
    except BrokenPlugin:
        return False


def detect(head: Head) -> Format | None:
    """The format that is surest of this content; on a tie the first by name."""
    return recognise(head).format


def recognise(head: Head) -> Recognised:
    """The format that is surest of this content, and those that are too broken to be asked."""
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


def recognised(lines: Iterator[bytes]) -> tuple[Recognised, Head, Iterator[bytes]]:
    """What the beginning of a file tells, as much of it as it takes, and all lines again."""
    taken: deque[bytes] = deque()
    size, wanted = 0, HEAD_BYTES
    for line in lines:
        taken.append(line)
        size += len(line)
        if size >= wanted:
            head = Head(b"".join(taken))
            found = recognise(head)
            if found.format is not None or not head.is_json or size >= MOST_BYTES:
                break
            wanted = size * GROWTH
    else:
        head = Head(b"".join(taken))
        found = recognise(head)
    return found, head, chain(given_back(taken), lines)

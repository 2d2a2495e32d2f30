"""Which formats there are. Shipped ones register like a third party's: one line in the entry-point
group `kedge.formats` (ours are in pyproject.toml)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple, Protocol, runtime_checkable

from kedge.errors import BrokenPlugin, UnknownName
from kedge.formats.intake.head import Head
from kedge.formats.intake.lines import Lines
from kedge.formats.intake.log import Log
from kedge.model import Transcript, Turn
from kedge.plugins import FAULTS, load, names

GROUP = "kedge.formats"
CERTAIN = 3
"""What `sniff` answers when no other format can be meant."""


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
    """A transcript in a provider's shape."""

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
    return tuple(name for name in format_names() if _is_provider(name))


def load_format(name: str) -> Format:
    found: Format = load(GROUP, "format", name, needs=("name", "sniff", "read"))
    return found


def load_provider(name: str) -> Provider:
    found = load_format(name) if name in format_names() else None
    if not isinstance(found, Provider):
        raise UnknownName("provider", name, known=provider_names())
    return found


def is_provider(name: str) -> bool:
    """Whether a format of this name is there and can also be written."""
    return name in format_names() and _is_provider(name)


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


def _is_provider(name: str) -> bool:
    try:
        return isinstance(load_format(name), Provider)
    except BrokenPlugin:
        return False

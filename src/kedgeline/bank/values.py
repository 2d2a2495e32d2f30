"""What a bank file consists of. A document is all of its text, cut into pieces: joined, they are
the file again, so that what nobody understands is never changed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Literal

import msgspec

from kedgeline.model import Value

Order = Literal["newest_first", "oldest_first"]
Shape = Literal["headings", "lists", "tables", "json_lines", "prose"]

ACTIVE, DECISIONS, PROGRESS = "activeContext", "decisionLog", "progress"
PATTERNS, PRODUCT = "systemPatterns", "productContext"
KNOWN = (ACTIVE, DECISIONS, PROGRESS, PATTERNS, PRODUCT)
"""The files every bank has (seed 003), without their ending; any others may lie beside them."""
ARCHIVE, INDEX, CHAIN = ".archive", ".index", ".chain"
"""What the names of files that are derived from others end with, before the ending."""
ENDINGS = (".md", ".markdown", ".jsonl", ".ndjson")
"""Of bank files; whatever else lies in the folder is nobody's business here."""
JSON_ENDINGS = (".jsonl", ".ndjson")
CHARACTERS = 4
"""Of one estimated token (seed 003); exact counting is for what is loaded."""

_SPELT = {name.casefold(): name for name in KNOWN}


def known_name(plain: str) -> str:
    """One of the five, however it is spelt (active-context, DecisionLog, decision_log); any other
    name as it is."""
    return _SPELT.get(re.sub(r"[-_ ]", "", plain).casefold(), plain)


def stem(name: str) -> str:
    """activeContext.md and activeContext.jsonl are activeContext, and so is active-context.md."""
    plain, dot, derived = (name.rpartition(".")[0] or name).partition(".")
    return f"{known_name(plain)}{dot}{derived}"


def is_derived(name: str) -> bool:
    """Whether a file is made by kedgeline from another one: an archive, an index, a chain."""
    return stem(name).endswith((ARCHIVE, INDEX, CHAIN))


def file_named(given: str, names: Iterable[str]) -> str:
    """The file that is meant by activeContext, or by activeContext.md: one that is there, however
    it is spelt, else a new one."""
    known = [name for name in names if name.endswith(ENDINGS)]
    if given in known:
        return given
    wanted = stem(given) if given.endswith(ENDINGS) else known_name(given)
    alike = (name for name in known if stem(name) == wanted and not is_derived(name))
    return next(alike, given if given.endswith(ENDINGS) else f"{given}{ENDINGS[0]}")


def derived_name(name: str, kind: str) -> str:
    """decisionLog.md has decisionLog.index.md, and its archive beside it."""
    return f"{name.rpartition('.')[0] or name}{kind}.md"


def chain_name(name: str) -> str:
    """decisionLog.md has decisionLog.chain.jsonl; any other log has its whole name in that of its
    chain, so that two logs never share one."""
    return f"{name.removesuffix('.md')}{CHAIN}.jsonl"


def estimated(text: str) -> int:
    return len(text) // CHARACTERS


def counted(entries: int) -> str:
    return "1 entry" if entries == 1 else f"{entries:,} entries"


class Entry(Value, frozen=True):
    """One thing that was written down."""

    text: str
    """To the byte: its heading, its lines, the blank ones behind it."""
    line: int
    """Number of its first line, counted from 1."""
    id: str = ""
    """DEC-001, or the task of a milestone."""
    at: datetime | None = None
    agent: str = ""
    title: str = ""
    status: str = ""
    """As it stands there: Active, Superseded by DEC-7, completed …"""
    done: bool = False
    """Whether it is a milestone that was reached."""
    sources: tuple[str, ...] = ()
    summary: str = ""
    """Its summary_128, where it has one."""


class Reference(Value, frozen=True):
    """What stands for entries that were moved to an archive."""

    archive: str
    """Name of the file they are in."""
    sha256: str
    """Of the block they are, as it stands in the archive."""
    entries: int
    """How many, those included that references among them stand for."""
    summary: str
    first: datetime | None = None
    last: datetime | None = None
    """When the oldest and the newest of them were written."""
    end: str = ""
    """In JSON Lines, the hash of the last of them: what the next line names."""
    text: str = ""
    line: int = 0


class Other(Value, frozen=True):
    """What is neither: titles, prose, comments, sections of somebody else."""

    text: str
    line: int


Piece = Entry | Reference | Other


class Document(Value, frozen=True):
    """A bank file as it is."""

    name: str
    shape: Shape
    """How its entries are written; `prose` where it has none."""
    pieces: tuple[Piece, ...] = ()
    order: Order = "oldest_first"
    newline: str = "\n"

    @property
    def text(self) -> str:
        return "".join(piece.text for piece in self.pieces)

    def entries(self) -> Iterator[Entry]:
        """In the order of the file."""
        return (piece for piece in self.pieces if isinstance(piece, Entry))

    def references(self) -> Iterator[Reference]:
        return (piece for piece in self.pieces if isinstance(piece, Reference))

    def by_age(self) -> list[Entry]:
        """Newest first: by time; where that is not known or the same, by the order of the file.
        An entry without a time is as old as its neighbour."""
        rows = list(self.entries())
        rows = rows if self.order == "newest_first" else rows[::-1]
        known = [row.at for row in rows]
        for n in range(1, len(known)):
            known[n] = known[n] or known[n - 1]
        for n in reversed(range(len(known) - 1)):
            known[n] = known[n] or known[n + 1]
        times = [-at.timestamp() if at else 0.0 for at in known]
        return [rows[n] for n in sorted(range(len(rows)), key=lambda n: times[n])]


class NewEntry(Value, frozen=True):
    """What somebody wants to write down; the shape of the file says how it will look."""

    agent: str
    at: datetime
    text: str = ""
    title: str = ""
    id: str = ""
    """Given by the file's own numbering where it has one and this is empty."""
    status: str = ""
    sources: tuple[str, ...] = ()
    summary: str = ""
    """A summary_128; made from the text where it is empty."""
    fields: dict[str, str] = msgspec.field(default_factory=dict)
    """Further ones with their names: Context, Decision, Rationale, Alternatives, Consequences."""


class Limits(Value, frozen=True):
    """Every number of the bank. The seed's own, unless a reason says otherwise."""

    entries: int = 50
    """Entries that stay in the active context."""
    least_entries: int = 10
    """Entries that stay there even where the bank has too many tokens: the work at hand."""
    references: int = 10
    """References that stay before older ones are moved to the archive as a batch."""
    index_after: int = 100
    """Decisions from which on the log has an index."""
    milestone_days: int = 30
    milestones: int = 10
    """Milestones that stay whatever their age."""
    tokens: int = 20_000
    """Estimated tokens of the working files, above which the bank is compacted."""
    session_share: float = 0.60
    """Share of a session's token budget that was used, from which on the bank is compacted."""
    lock_seconds: int = 600
    """How long the owner's lock holds without a heartbeat; the seed allows 30 to 3,600."""


LIMITS = Limits()


class Change(Value, frozen=True):
    """What shall become of one file. It is made only where the file still is what it was."""

    name: str
    before: bytes | None
    """None: there must be no such file."""
    after: bytes

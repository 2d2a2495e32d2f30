"""What a bank consists of: entries, references to archived ones, and documents cut into pieces.

A document is all of a file's text in pieces: joined, they are the file again, so that what nobody
understands is never changed."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from functools import lru_cache
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from kedgeline.errors import UserError
from kedgeline.model import Value
from kedgeline.redact import Redactor
from kedgeline.text.prose import cut, first_sentence, foreign, unmarked, visible, without_tags

Order = Literal["newest_first", "oldest_first"]
Shape = Literal["headings", "lists", "tables", "json_lines", "prose"]

ACTIVE, DECISIONS, PROGRESS = "activeContext", "decisionLog", "progress"
PATTERNS, PRODUCT = "systemPatterns", "productContext"
KNOWN = (ACTIVE, DECISIONS, PROGRESS, PATTERNS, PRODUCT)
"""The files every bank has (seed 003), without their ending; any others may lie beside them."""
ARCHIVE, INDEX, CHAIN = ".archive", ".index", ".chain"
"""What the names of derived files end with, before the ending."""
ENDINGS = (".md", ".markdown", ".jsonl", ".ndjson")
"""Of bank files; other files in the folder are ignored."""
JSON_ENDINGS = (".jsonl", ".ndjson")
CHARACTERS = 4
"""Of one estimated token (seed 003); what is loaded is counted exactly."""

_SPELT = {name.casefold(): name for name in KNOWN}


# Names of files.


def stem(name: str) -> str:
    """activeContext.md and active-context.jsonl are activeContext; `.archive` and the like stay."""
    plain, dot, derived = (name.rpartition(".")[0] or name).partition(".")
    return f"{_known_name(plain)}{dot}{derived}"


def _known_name(plain: str) -> str:
    return _SPELT.get(re.sub(r"[-_ ]", "", plain).casefold(), plain)


def is_derived(name: str) -> bool:
    """Whether kedgeline makes the file from another one: an archive, an index, a chain."""
    return stem(name).endswith((ARCHIVE, INDEX, CHAIN))


def file_named(given: str, names: Iterable[str]) -> str:
    """The file that `activeContext` or `activeContext.md` means: an existing one, however it is
    spelt, else a new one."""
    known = [name for name in names if name.endswith(ENDINGS)]
    if given in known:
        return given
    wanted = stem(given) if given.endswith(ENDINGS) else _known_name(given)
    alike = (name for name in known if stem(name) == wanted and not is_derived(name))
    return next(alike, given if given.endswith(ENDINGS) else f"{given}.md")


def derived_name(name: str, kind: str) -> str:
    """decisionLog.md has decisionLog.index.md; activeContext.jsonl has activeContext.archive.md."""
    return f"{name.rpartition('.')[0] or name}{kind}.md"


def chain_name(name: str) -> str:
    """decisionLog.md has decisionLog.chain.jsonl; another ending stays in the name, so that two
    logs never share a chain."""
    return f"{name.removesuffix('.md')}{CHAIN}.jsonl"


def estimated(text: str) -> int:
    return len(text) // CHARACTERS


def entries_told(entries: int) -> str:
    return "1 entry" if entries == 1 else f"{entries:,} entries"


# Values.


class BankEntry(Value, frozen=True):
    """One thing that was written down."""

    text: str
    """To the byte: its heading, its lines, the blank ones behind it."""
    line: int
    """Number of its first line, from 1."""
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
    fields: dict[str, str] = msgspec.field(default_factory=dict)
    """All that it says under a name, by names in lower case."""
    lead: str = ""
    """The head of its table, where it is a row."""


class Reference(Value, frozen=True):
    """The line that stands for entries in an archive."""

    archive: str
    """Name of the file they are in."""
    sha256: str
    """Of their block in the archive."""
    entries: int
    """How many, with those that references among them stand for."""
    summary: str
    first: datetime | None = None
    last: datetime | None = None
    """When the oldest and the newest of them were written."""
    end: str = ""
    """In JSON Lines, the hash of the last of them: what the next line names."""
    text: str = ""
    line: int = 0
    lead: str = ""


class Other(Value, frozen=True):
    """Neither: titles, prose, comments, sections of somebody else."""

    text: str
    line: int


Piece = BankEntry | Reference | Other


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

    @property
    def stem(self) -> str:
        return stem(self.name)

    def entries(self) -> Iterator[BankEntry]:
        """In the order of the file."""
        return (piece for piece in self.pieces if isinstance(piece, BankEntry))

    def references(self) -> Iterator[Reference]:
        return (piece for piece in self.pieces if isinstance(piece, Reference))

    def by_age(self) -> list[BankEntry]:
        """Newest first: by time; where that is missing or equal, by the order of the file. An entry
        without a time is as old as its neighbour."""
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
    """Where it is empty, the next number of a file that numbers its entries."""
    status: str = ""
    sources: tuple[str, ...] = ()
    summary: str = ""
    """A summary_128; made from the text where it is empty."""
    fields: dict[str, str] = msgspec.field(default_factory=dict)
    """Further ones with their names: Context, Decision, Rationale, Alternatives, Consequences."""


class Limits(Value, frozen=True):
    """Every number of the bank (seed 003)."""

    entries: int = 50
    """Entries that stay in the active context."""
    least_entries: int = 10
    """Entries that stay there even where the bank has too many tokens: the work at hand."""
    index_after: int = 100
    """Decisions beyond which the log has an index."""
    milestone_days: int = 30
    milestones: int = 10
    """Milestones that stay whatever their age."""
    tokens: int = 20_000
    """Estimated tokens of the working files, above which the bank is compacted."""
    session_share: float = 0.60
    """Used share of a session's token budget, from which on the bank is compacted."""


LIMITS = Limits()


class FileChange(Value, frozen=True):
    """What shall become of one file, as long as it is still what it was."""

    name: str
    before: bytes | None
    """None: there must be no such file."""
    after: bytes


# Times.

_DAY = re.compile(r"\d{4}-\d\d-\d\d(?!\d)")


@lru_cache(maxsize=1_024)
def time_in(text: str) -> datetime | None:
    """The time a text is; None where it is none. One without an offset is UTC."""
    plain = text.strip().replace("/", "-").removesuffix(" UTC")
    if not _DAY.match(plain):
        return None
    try:
        at = datetime.fromisoformat(plain)
    except ValueError:
        return None
    return aware(at)


def aware(at: datetime) -> datetime:
    if at.tzinfo is None:
        return at.replace(tzinfo=UTC)
    try:
        return at.astimezone(UTC)
    except OverflowError:  # the calendar ends there
        return at.replace(tzinfo=UTC)


def stamp(at: datetime) -> str:
    """2026-02-23T00:00:00Z"""
    return aware(at).isoformat().replace("+00:00", "Z")


def short(at: datetime) -> str:
    """Only the day where the clock says nothing."""
    return stamp(at).removesuffix("T00:00:00Z")


# What an entry says of itself: fields of Markdown, columns of tables, keys of JSON.

ALIASES: Mapping[str, str] = {
    **dict.fromkeys(("id", "task_id"), "id"),
    **dict.fromkeys(("date", "time", "timestamp", "ts", "updated", "updated_at"), "at"),
    **dict.fromkeys(("last_updated", "completed", "completed_at"), "at"),
    **dict.fromkeys(("agent", "source_agent", "proposer_agent", "author", "owner"), "agent"),
    **dict.fromkeys(("proposer", "proposed_by", "decided_by", "assignee"), "agent"),
    **dict.fromkeys(("title", "task", "milestone", "feature"), "title"),
    **dict.fromkeys(("status", "state"), "status"),
    **dict.fromkeys(("sources", "source_chunks", "source_files", "files"), "sources"),
    **dict.fromkeys(("summary_128", "summary"), "summary"),
}
"""The names that files have for what is read of an entry."""
USUAL = frozenset(("context", "decision", "rationale", "alternatives", "consequences"))
"""Fields of a decision besides."""
_FIELD = re.compile(
    r"^ {0,8}(?:[-*+] +)?(?:\*\*([^*:\n]{1,40})(?:\*\*:|:\*\*)|([A-Za-z][\w ]{1,30}):)"
    r"[ \t]+(\S[^\n]*)$",
    re.MULTILINE,
)
_DONE = frozenset(
    ("done", "completed", "complete", "closed", "finished", "merged", "shipped", "resolved")
)
_WORD = re.compile(r"[^\W\d_]+")
_TICKS = "✅☑✔🗹"


def field_key(name: str) -> str:
    """`Task ID`, `task-id` and `**Task Id**` are `task_id`."""
    return "_".join(name.strip(" \t*`_").lower().replace("-", " ").split())


def read_fields(text: str) -> dict[str, str]:
    """Lines such as `- **Status**: done` or `Date: 2026-01-05`, the first of each name."""
    found: dict[str, str] = {}
    for bold, plain, value in _FIELD.findall(text.replace("\r\n", "\n")):
        key = field_key(bold or plain)
        if bold or key in ALIASES or key in USUAL:
            found.setdefault(key, value.strip())
    return found


def entry_of(text: str, line: int, fields: dict[str, str], **own: Any) -> BankEntry:
    """`own` is what its first line says, and counts before the fields."""
    said: dict[str, str] = {}
    for key, value in fields.items():
        name = ALIASES.get(key)
        if name and value and (name != "at" or time_in(value)):
            said.setdefault(name, value)
    has = {name: own.pop(name, "") or said.get(name, "") for name in ("id", "agent", "title")}
    status = own.pop("status", "") or said.get("status", "")
    exact, at = time_in(said.get("at", "")), own.pop("at", None)
    if exact and (at is None or (exact.date() == at.date() and at == _midnight(at))):
        at = exact
    return BankEntry(
        text=text,
        line=line,
        at=at,
        status=status,
        done=own.pop("done", is_done(status)),
        sources=split_sources(said.get("sources", "")),
        summary=said.get("summary", ""),
        fields=fields,
        **has,
        **own,
    )


def _midnight(at: datetime) -> datetime:
    return at.replace(hour=0, minute=0, second=0, microsecond=0)


def split_sources(text: str) -> tuple[str, ...]:
    return tuple(filter(None, (one.strip(" `") for one in text.split(","))))


def is_done(status: str) -> bool:
    """By the first word: `not done` and `incomplete` are not."""
    word = _WORD.search(status)
    if word:
        return word[0].casefold() in _DONE
    return any(tick in status for tick in _TICKS) or status.strip() == "100%"


# Ids.

ID = r"(?:DEC|ADR)-\d{1,12}(?:-\d{1,12})?"
"""Of decisions."""
_NUMBERED = re.compile(r"(?P<prefix>\S*?)(?P<day>\d{8}-)?(?P<number>\d{1,12})")


def next_id(ids: Iterable[str], at: datetime, *, first: str = "") -> str:
    """The number after the highest one of the last id's pattern, or else `first`."""
    known = list(ids)
    last = next(filter(None, map(_NUMBERED.fullmatch, reversed(known))), None)
    if last is None:
        return first
    prefix = last["prefix"] + (f"{aware(at):%Y%m%d}-" if last["day"] else "")
    rests = (one.removeprefix(prefix) for one in known if one.startswith(prefix))
    highest = max((int(rest) for rest in rests if rest.isdecimal()), default=0)
    return f"{prefix}{highest + 1:0{len(last['number'])}}"


def with_number(new: NewEntry, document: Document) -> NewEntry:
    """A decision with the next number of the log, or with the one it was given."""
    ids = {entry.id: entry.line for entry in document.entries()}
    if not new.id:
        return replace(new, id=next_id(ids, new.at, first="DEC-001"))
    if not re.fullmatch(ID, new.id):
        raise UserError(
            f"the decision {new.id!r} has no number such as DEC-001; leave it out to get one"
        )
    if new.id in ids:
        raise UserError(
            f"the decision {new.id!r} stands in line {ids[new.id]} of {document.name}; leave it "
            f"out to get the next number"
        )
    return new


# References.

_REFERENCE = re.compile(
    r"Archived: (?P<entries>\d{1,9}) (?:entry|entries)"
    r"(?:, (?P<first>\d[\d:TZ.+-]{9,31}) to (?P<last>\d[\d:TZ.+-]{9,31}))?:"
    r"(?: (?P<summary>[^\n]*?))?"
    r" \((?P<archive>[^\s./\\(),|<>:\"][^/\\(),|<>:\"\n]{0,199}),"
    r" sha256:(?P<sha256>[0-9a-f]{64})(?:, end:(?P<end>[0-9a-f]{64}))?\)"
)


def reference_line(reference: Reference) -> str:
    """`Archived: 12 entries, 2026-01-02 to 2026-02-03: summary (archive, sha256:…)`"""
    first, last = reference.first, reference.last
    times = f", {short(first)} to {short(last)}" if first and last else ""
    summary = f" {foreign(reference.summary)}" if reference.summary else ""
    end = f", end:{reference.end}" if reference.end else ""
    head = f"Archived: {entries_told(reference.entries).replace(',', '')}{times}:{summary}"
    return f"{head} ({reference.archive}, sha256:{reference.sha256}{end})"


def reference_in(line: str) -> Reference | None:
    """The reference that a line is; None where anything in it cannot be: the line is somebody
    else's then."""
    found = _REFERENCE.fullmatch(line.strip())
    if not found:
        return None
    first, last = time_in(found["first"] or ""), time_in(found["last"] or "")
    if found["first"] and not (first and last):
        return None
    return Reference(
        archive=found["archive"],
        sha256=found["sha256"],
        entries=int(found["entries"]),
        summary=found["summary"] or "",
        first=first,
        last=last,
        end=found["end"] or "",
    )


# What agents want to write down, made safe.

NAME_LENGTH, TITLE_LENGTH = 40, 120
"""Characters of the name of an agent or a field, and of a title that is made from the text."""


def cleaned(new: NewEntry, redactor: Redactor) -> NewEntry:
    """Without secrets, tags and invisible characters; all but the text is on one line each."""

    def plain(text: str) -> str:
        return redactor.clean(text.encode("utf-8", "replace").decode())

    def line(text: str) -> str:
        return foreign(plain(text))

    names = {
        name: cut(re.sub(r"[*:|\\]+", " ", line(name)).strip(), NAME_LENGTH) for name in new.fields
    }
    new = replace(
        new,
        agent=_agent(line(new.agent)),
        at=aware(new.at).replace(microsecond=0),
        text=unmarked(without_tags(visible(plain(new.text)))).strip("\n"),
        title=re.sub(r"(?:^|\s)#+$", "", line(new.title).strip(" :,–—-*")),
        id=line(new.id),
        status=line(new.status or new.fields.get("Status", "")),
        sources=tuple(
            filter(None, (line(one).replace(",", ";").strip(" `") for one in new.sources))
        ),
        summary=line(new.summary),
        fields={
            names[name]: line(value)
            for name, value in new.fields.items()
            if names[name] and line(value) and field_key(names[name]) not in ALIASES
        },
    )
    if not (new.text.strip() or new.title or new.fields):
        raise UserError("the entry is empty; give a text or a title")
    return new


def _agent(name: str) -> str:
    """Without what stands between an agent and a title, or around it."""
    words = re.sub(r"[()\[\],:|–—*]", " ", name).split()
    return cut(" ".join(word for word in words if word.strip("-")), NAME_LENGTH).strip(" -")


def titled(new: NewEntry) -> NewEntry:
    """With a title, for shapes whose entries need one."""
    if new.title:
        return new
    said = first_sentence(new.text) if new.text else new.summary
    return replace(new, title=foreign(cut(said, TITLE_LENGTH)))

"""When a bank is due for compaction, and what one will do: plans made of values, without input or
output."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from hashlib import sha256
from itertools import groupby
from typing import Literal, NamedTuple

from kedgeline.bank.archive import (
    Archive,
    ArchiveBlock,
    appended,
    archive_name,
    archives_of,
    block_of,
    put_back,
    read_archive,
)
from kedgeline.bank.briefs import SMALL, brief_128, files_in
from kedgeline.bank.documents import is_unrecognised, read_document, reference_text
from kedgeline.bank.entries import (
    ACTIVE,
    DECISIONS,
    INDEX,
    LIMITS,
    PROGRESS,
    BankEntry,
    Document,
    FileChange,
    Limits,
    Other,
    Reference,
    aware,
    derived_name,
    entries_told,
    estimated,
    is_derived,
)
from kedgeline.bank.rows import line_hash
from kedgeline.errors import BankChanged, BankMalformed
from kedgeline.model import Value
from kedgeline.text.prose import cut, first_sentence, foreign
from kedgeline.tokens import EXACT

Cause = Literal["manual", "entries", "session", "tokens"]

REFERENCE_TOKENS = 250
"""Estimated tokens of one more reference."""
NAME_SHOWN, NAMES_SHOWN = 150, 170
"""Characters of the name of one entry in the line for several, and of all names: half of a
summary."""
BY_HAND = (
    "nothing of it was moved; put blank lines around what stands there, or move its old entries "
    "by hand, and compact again"
)
_WORD = re.compile(r"\w+")
_TIME = re.compile(r"\d+(?:t\d+)?z?")


class BankSignals(Value, frozen=True):
    """What the bank cannot know by itself."""

    manual: bool = False
    """Somebody asked for it: `update memory bank`."""
    session_tokens: int = 0
    """Tokens the session has used."""
    session_budget: int = 0
    """Tokens it may use; 0 where nobody said."""


NO_SIGNALS = BankSignals()


class Trigger(Value, frozen=True):
    """One of the seed's conditions, whether it holds or not."""

    cause: Cause
    holds: bool
    reason: str
    """One sentence with both numbers."""


class FilePlan(Value, frozen=True):
    """What becomes of one working file."""

    name: str
    archive: str
    entries: int
    """How many go."""
    stay: int
    why: str
    tokens_before: int
    tokens_after: int


class BankPlan(Value, frozen=True):
    """Nothing has happened yet."""

    at: datetime
    triggers: tuple[Trigger, ...]
    """All of them; those that hold first."""
    tokens_before: int
    """Estimated, of the working files."""
    tokens_after: int
    files: tuple[FilePlan, ...] = ()
    notes: tuple[str, ...] = ()
    nothing: str = ""
    """Why nothing moves; empty where something does."""
    changes: tuple[FileChange, ...] = ()
    """What to write, in this order: archives first."""
    run: int = 0
    """Number of the compaction, by which it is taken back; 0 where nothing moves."""


def loaded_of(
    documents: Sequence[Document], names: Collection[str], limits: Limits
) -> list[Document]:
    """The files that are loaded: all but what is derived, and a log that has an index or gets one
    with the next change."""
    return [
        one
        for one in documents
        if not is_derived(one.name)
        and not (
            one.stem == DECISIONS
            and (derived_name(one.name, INDEX) in names or _count(one) > limits.index_after)
        )
    ]


def bank_tokens(documents: Iterable[Document]) -> int:
    """Estimated; each document for itself, so that they add up."""
    return sum(estimated(document.text) for document in documents)


def triggers_of(
    documents: Sequence[Document],
    limits: Limits,
    signals: BankSignals = NO_SIGNALS,
    *,
    names: Collection[str] = (),
) -> tuple[Trigger, ...]:
    """All four, those that hold first. `names`: the derived files, for the index."""
    counts = {one.name: _count(one) for one in documents if one.stem == ACTIVE}
    name, most = max(counts.items(), key=lambda row: row[1], default=(f"{ACTIVE}.md", 0))
    total = bank_tokens(loaded_of(documents, names, limits))
    used, budget, share = signals.session_tokens, signals.session_budget, limits.session_share
    is_full = budget > 0 and used / budget >= share
    told = "the token budget of the session is not known"
    if budget > 0:
        than = "at least" if is_full else "less than"
        part = f"{used / budget:.0%}"
        told = f"the session has used {used:,} of {budget:,} tokens, {part}, {than} {share:.0%}"
    asked = f"{'somebody' if signals.manual else 'nobody'} asked for it"
    working = f"the working files have {total:,} estimated tokens"
    found = (
        Trigger(cause="manual", holds=signals.manual, reason=asked),
        _above("entries", most, limits.entries, f"{name} has {entries_told(most)}"),
        Trigger(cause="session", holds=is_full, reason=told),
        _above("tokens", total, limits.tokens, working),
    )
    return tuple(sorted(found, key=lambda one: not one.holds))


def _above(cause: Cause, measured: int, limit: int, said: str) -> Trigger:
    than = "more than" if measured > limit else "not more than"
    return Trigger(cause=cause, holds=measured > limit, reason=f"{said}, {than} {limit:,}")


def bank_plan(
    documents: Sequence[Document],
    derived: Mapping[str, bytes],
    *,
    now: datetime,
    limits: Limits = LIMITS,
    signals: BankSignals = NO_SIGNALS,
) -> BankPlan:
    """`derived`: archives, the index and the chain as they are, by name. Entries move where a
    trigger holds; the index is brought up to date in any case."""
    triggers = triggers_of(documents, limits, signals, names=derived)
    loaded = loaded_of(documents, derived, limits)
    moved = _moved(loaded, limits, now) if triggers[0].holds else {}
    changes, refused, run = _moves(loaded, derived, moved, now)
    moved = {name: one for name, one in moved.items() if name not in refused}
    after = _tokens(loaded, moved)
    files = tuple(_file_plan(one, moved[one.name], limits) for one in loaded if one.name in moved)
    log = next((one for one in documents if one.stem == DECISIONS), None)
    if log is not None:
        name = derived_name(log.name, INDEX)
        before, index = derived.get(name), index_of(log)
        if index_wanted(log, before, limits) and before != index:
            changes.append(FileChange(name=name, before=before, after=index))
    return BankPlan(
        at=now,
        triggers=triggers,
        tokens_before=_tokens(loaded, {}),
        tokens_after=after,
        files=files,
        notes=(*refused.values(), *_notes(documents, loaded, limits, after)),
        nothing="" if files else _nothing(triggers, loaded, refused),
        changes=tuple(changes),
        run=run if files else 0,
    )


def index_of(document: Document) -> bytes:
    """The index of the decision log, a line per entry: the same bytes for the same log."""
    entries = list(document.entries())
    digest = sha256(document.text.encode()).hexdigest()
    rows = [
        f"# Index of {document.name}\n\n"
        f"Made from {document.name} ({entries_told(len(entries))}, sha256 {digest}), which is what "
        f"counts. It is made again with every change, so nothing is kept that is written here.\n\n"
    ]
    for entry in entries:
        fields = (
            foreign(entry.id) or "no id",
            entry.at.date().isoformat() if entry.at else "no date",
            foreign(entry.status) or "no status",
            f"line {entry.line}",
            entry_summary(entry),
        )
        rows.append(f"- {' · '.join(fields)}\n")
    return "".join(rows).encode()


def index_wanted(document: Document, index: bytes | None, limits: Limits) -> bool:
    """Beyond the limit a log has one; one that is there is kept up to date in any case."""
    return index is not None or _count(document) > limits.index_after


# What goes.


class _Moved(NamedTuple):
    """A document without what goes, and what goes."""

    document: Document
    blocks: tuple[ArchiveBlock, ...] = ()
    """In the order in which they go to the archive."""
    entries: int = 0


def _moved(loaded: Sequence[Document], limits: Limits, now: datetime) -> dict[str, _Moved]:
    """By file. Where the bank is still too large, fewer entries stay in the active context."""
    moved = {}
    for document in loaded:
        if document.stem == ACTIVE:
            moved[document.name] = _without(document, document.by_age()[limits.entries :])
        elif document.stem == PROGRESS:
            moved[document.name] = _without(document, _long_reached(document, limits, now))
    for document in loaded:
        over = _tokens(loaded, moved) - limits.tokens
        if over > 0 and document.stem == ACTIVE:
            rows = document.by_age()
            stay, saved = min(len(rows), limits.entries), -REFERENCE_TOKENS
            while saved < over and stay > limits.least_entries:
                stay -= 1
                saved += estimated(rows[stay].text)
            fewer = _without(document, rows[stay:])
            # a reference may be longer than what it stands for
            if len(fewer.document.text) < len(moved[document.name].document.text):
                moved[document.name] = fewer
    return {name: one for name, one in moved.items() if one.blocks}


def _long_reached(document: Document, limits: Limits, now: datetime) -> list[BankEntry]:
    """Milestones reached long ago. Of the newest, only those count that could go; one without a
    date stays, as nobody knows how old it is."""
    reached = [entry for entry in document.by_age() if entry.done and entry.at is not None]
    before = aware(now) - timedelta(days=limits.milestone_days)
    return [one for one in reached[limits.milestones :] if one.at and one.at < before]


def _without(document: Document, entries: Iterable[BankEntry]) -> _Moved:
    """Every group of pieces becomes a block and, where its first piece stood, a reference."""
    lines = {entry.line for entry in entries}
    pieces = document.pieces
    going = {n for n, one in enumerate(pieces) if isinstance(one, BankEntry) and one.line in lines}
    texts = [piece.text for piece in pieces]
    blocks = []
    for group in _groups(document, going):
        members = [piece for n in group if not isinstance(piece := pieces[n], Other)]
        block = block_of(
            "".join(piece.text for piece in members),
            entries=sum(one.entries if isinstance(one, Reference) else 1 for one in members),
            lead=members[0].lead,
        )
        for n in group:
            texts[n] = ""
        texts[group[0]] = reference_text(_reference(document, members, block), document)
        blocks.append(block)
    if not blocks:
        return _Moved(document)
    left = read_document(document.name, "".join(texts).encode())
    return _Moved(left, tuple(blocks), len(going))


def _groups(document: Document, going: Collection[int]) -> list[list[int]]:
    """What goes to the archive together, with the references beside it, so that one line stands for
    all. From a table or a list of boxes, which is no run of neighbours, all of it goes: open
    milestones between them would otherwise leave more references than rows."""
    pieces = document.pieces
    taken = [n for n, one in enumerate(pieces) if n in going or isinstance(one, Reference)]
    if document.shape == "tables" or (document.shape == "lists" and document.stem == PROGRESS):
        by_table: dict[str, list[int]] = {}
        for n in taken:
            by_table.setdefault(getattr(pieces[n], "lead", ""), []).append(n)
        groups = list(by_table.values())
    else:
        runs = groupby(enumerate(taken), key=lambda row: row[1] - row[0])
        groups = [[n for _, n in run] for _, run in runs]
    return [group for group in groups if not going.isdisjoint(group)]  # type: ignore[attr-defined]


def _reference(
    document: Document, members: Sequence[BankEntry | Reference], block: ArchiveBlock
) -> Reference:
    times = [
        at
        for one in members
        for at in ((one.first, one.last) if isinstance(one, Reference) else (one.at,))
        if at is not None
    ]
    return Reference(
        archive=archive_name(document.name),
        sha256=block.sha256,
        entries=block.entries,
        summary=_summary_of(members, newest_first=document.order == "newest_first"),
        first=min(times, default=None),
        last=max(times, default=None),
        end=line_hash(members[-1]) if document.shape == "json_lines" else "",
    )


# What is written.


def _moves(
    documents: Sequence[Document],
    derived: Mapping[str, bytes],
    moved: Mapping[str, _Moved],
    now: datetime,
) -> tuple[list[FileChange], dict[str, str], int]:
    """What to write, archives first; by file why one stays as it is, which does not hold up the
    others; and the number of this compaction."""
    archives: dict[str, FileChange] = {}
    working_files, refused = [], {}
    run = _run_of(archives_of(derived), moved)
    for document in documents:
        if document.name not in moved:
            continue
        name, one = archive_name(document.name), moved[document.name]
        before = derived.get(name)
        data = archives[name].after if name in archives else before
        for block in one.blocks:
            data = appended(data, block, now, of=document.name, run=run)
        assert data is not None
        change = FileChange(
            name=document.name,
            before=document.text.encode(),
            after=one.document.text.encode(),
        )
        if why := _lost(document, one, data):
            refused[document.name] = f"{document.name} was left as it is: {why}"
        else:
            archives[name] = FileChange(name=name, before=before, after=data)
            working_files.append(change)
    return [*archives.values(), *working_files], refused, run


def _run_of(archives: Mapping[str, Archive], moved: Mapping[str, _Moved]) -> int:
    """The next number, or that of the last compaction where it was killed before its end: then what
    is planned now stands in an archive already."""
    blocks = [(block, one) for one in archives.values() for block in one.blocks]
    last = max((block.run for block, _ in blocks), default=0)
    planned = {block.sha256 for one in moved.values() for block in one.blocks}
    killed = any(
        block.run == last and last not in archive.undone and block.sha256 in planned
        for block, archive in blocks
    )
    return last if killed else last + 1


def _lost(document: Document, moved: _Moved, archive: bytes) -> str:
    """Why the file would not come out again when the move is taken back; empty where it would."""
    whole = read_archive(archive).whole()
    if any(block.sha256 not in whole for block in moved.blocks):
        return "its archive is damaged; run `kedgeline bank verify`, correct it and compact again"
    try:
        back = put_back(moved.document, [whole[block.sha256] for block in moved.blocks])
    except (BankMalformed, BankChanged) as error:
        return f"it would not be found again: {error.why}; {BY_HAND}"
    there = {entry.text for entry in document.entries()}
    if extra := [one.line for one in moved.document.entries() if one.text not in there]:
        return f"its line {extra[0]} would be read as an entry that was none; {BY_HAND}"
    # line for line: of twins nobody can tell which one a reference stood for
    if sorted(back.split("\n")) != sorted(document.text.split("\n")):
        return f"what it says would not be found again; {BY_HAND}"
    return ""


def _tokens(loaded: Iterable[Document], moved: Mapping[str, _Moved]) -> int:
    return bank_tokens(moved[one.name].document if one.name in moved else one for one in loaded)


def _count(document: Document) -> int:
    return sum(1 for _ in document.entries())


# What is said about it.


def _file_plan(document: Document, moved: _Moved, limits: Limits) -> FilePlan:
    stay = _count(moved.document)
    why = f"the newest {limits.entries} stay"
    if document.stem == PROGRESS:
        why = (
            f"milestones reached more than {limits.milestone_days} days ago; the newest "
            f"{limits.milestones} and the open ones stay"
        )
    elif stay < min(limits.entries, stay + moved.entries):
        why = (
            f"the newest {stay} stay instead of {limits.entries}: the working files would have "
            f"more than {limits.tokens:,} estimated tokens"
        )
    return FilePlan(
        name=document.name,
        archive=archive_name(document.name),
        entries=moved.entries,
        stay=stay,
        why=why,
        tokens_before=estimated(document.text),
        tokens_after=estimated(moved.document.text),
    )


def _notes(
    documents: Sequence[Document], loaded: Sequence[Document], limits: Limits, after: int
) -> Iterator[str]:
    for document in loaded:
        if document.stem in (ACTIVE, DECISIONS, PROGRESS) and is_unrecognised(document):
            yield f"{document.name}: no entries were recognised in it, and it stays as it is"
        undated = sum(entry.done and entry.at is None for entry in document.entries())
        if document.stem == PROGRESS and undated:
            yield f"{document.name}: reached milestones without a date, which stay: {undated}"
    if after > limits.tokens:
        largest = max(loaded, key=lambda document: len(document.text))
        yield (
            f"the working files still have {after:,} estimated tokens, more than "
            f"{limits.tokens:,}; the largest is {largest.name}, shorten it by hand"
        )
    logs = [document.name for document in documents if document.stem == DECISIONS]
    for name in logs[1:]:
        yield f"{name} has no index, as {logs[0]} has it; keep one of the two"


def _nothing(
    triggers: Sequence[Trigger], loaded: Sequence[Document], refused: Collection[str]
) -> str:
    holding = "; ".join(trigger.reason for trigger in triggers if trigger.holds)
    if not holding:
        return "nothing to do: " + "; ".join(trigger.reason for trigger in triggers)
    if refused:
        return f"{holding}; but {', '.join(refused)} cannot be changed: see the notes"
    entries = sum(_count(document) for document in loaded if document.stem == ACTIVE)
    return (
        f"{holding}; but nothing more can move: what the active context has "
        f"({entries_told(entries)}) is within what stays, and no reached milestone is old enough"
    )


def _summary_of(members: Sequence[BankEntry | Reference], *, newest_first: bool) -> str:
    """One for all of them, on one line: what the newest were about, as far as there is room, and
    their files."""
    if len(members) == 1 and isinstance(members[0], BankEntry):
        return entry_summary(members[0])
    ordered = members if newest_first else members[::-1]
    names: list[str] = []
    room = NAMES_SHOWN
    for one in ordered:
        name = _name_of(one)
        if (room := room - len(name) - 2) < 0 and names:
            break
        names.append(name)
    shown = ordered[: len(names)]
    left = sum(one.entries if isinstance(one, Reference) else 1 for one in ordered[len(names) :])
    entries = [one for one in shown if isinstance(one, BankEntry)]
    sources = [source for entry in entries for source in entry.sources]
    sources = sources or files_in(entry.text for entry in entries)
    more = f"; {left} more" if left else ""
    title = "; ".join(dict.fromkeys(filter(None, names))) + more
    return _brief("", title, tuple(dict.fromkeys(sources)))


def _name_of(one: BankEntry | Reference) -> str:
    """A name stands whole or not at all: cut in the middle it says nothing."""
    name = one.summary.partition(" Files: ")[0]
    if isinstance(one, BankEntry):
        called = " ".join(filter(None, (one.id, one.title)))
        name = called or foreign(first_sentence(one.summary or one.text))
    return cut(name.rstrip(" .;…"), NAME_SHOWN).rstrip(" .;…")


def entry_summary(entry: BankEntry) -> str:
    """Its own where it keeps to the size, or one that is made from its text."""
    if (own := foreign(entry.summary)) and EXACT.count(own) <= SMALL:
        return own
    said = entry.summary or entry.fields.get("decision") or _beside_title(entry)
    return _brief(said, entry.title, entry.sources)


def _beside_title(entry: BankEntry) -> str:
    """The text without a first line that only says again what the entry is called, and when and by
    whom: a heading, an item of a list, a row."""
    first, _, rest = entry.text.lstrip().partition("\n")
    if first.startswith("#"):
        return rest
    if not entry.title or first.startswith("{"):
        return entry.text
    known = " ".join((entry.title, entry.id, entry.agent, entry.status, "x"))
    said = set(_WORD.findall(first.casefold())) - set(_WORD.findall(known.casefold()))
    return rest if all(map(_TIME.fullmatch, said)) else entry.text


@lru_cache(maxsize=16_384)
def _brief(text: str, title: str, sources: tuple[str, ...]) -> str:
    """Remembered, as the index of a growing log is made again with every decision."""
    return foreign(brief_128(text, title=title, sources=sources))

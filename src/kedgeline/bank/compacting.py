"""When a bank is due for compaction, and what one will do: plans made of values, without input or
output."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from functools import lru_cache
from hashlib import sha256
from itertools import groupby, pairwise, zip_longest
from typing import Literal, NamedTuple

from msgspec import structs

from kedgeline.bank.archive import (
    Archive,
    Block,
    appended,
    archive_name,
    archives_of,
    block_of,
    next_run,
    put_back,
    read_archive,
    spec_of,
)
from kedgeline.bank.briefs import SMALL, brief_128, files_in
from kedgeline.bank.documents import is_unrecognised, read_document, reference_text
from kedgeline.bank.fields import aware
from kedgeline.bank.rows import end_of, head_above
from kedgeline.bank.values import (
    ACTIVE,
    DECISIONS,
    INDEX,
    LIMITS,
    PROGRESS,
    Change,
    Document,
    Entry,
    Limits,
    Other,
    Piece,
    Reference,
    counted,
    derived_name,
    estimated,
    is_derived,
    stem,
)
from kedgeline.errors import BankChanged, BankMalformed
from kedgeline.model import Value
from kedgeline.text.prose import cut, first_sentence, foreign
from kedgeline.tokens import EXACT

Cause = Literal["entries", "session", "tokens", "manual"]

REFERENCE_TOKENS = 250
"""Estimated tokens of one more reference: a summary of 128 tokens, a hash, a range and a name."""
LOOKED_AT = 40_000
"""Characters of a batch that its summary is made of; its end says as little as its middle."""
NAME_SHOWN, NAMES_SHOWN = 150, 190
"""Characters of the name of one entry of a batch, and of all names: half of a summary. One stands
whole or not at all: cut in the middle it says nothing."""
CORRECT = (
    "nothing of it was moved; put blank lines around what stands there, or move its old entries "
    "by hand, and compact again"
)

_WORD = re.compile(r"\w+")
_TIME = re.compile(r"[0-9]+(?:t[0-9]+)?z?")


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
    measured: float
    limit: float
    reason: str
    """One sentence with both numbers."""

    @property
    def strength(self) -> float:
        """How far beyond its limit; 1 is the limit."""
        return self.measured / self.limit if self.limit else float(self.measured > 0)


class FilePlan(Value, frozen=True):
    """What becomes of one working file."""

    name: str
    archive: str
    entries: int
    """How many go."""
    references: int
    """How many older references go with them, of which one stands for all."""
    stay: int
    """Entries that stay."""
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
    changes: tuple[Change, ...] = ()
    """What to write, in this order: archives first."""
    run: int = 0
    """Number of the compaction, by which it is taken back; 0 where nothing moves."""


def loaded_of(
    documents: Sequence[Document], names: Iterable[str], limits: Limits
) -> list[Document]:
    """The files that are loaded: all but what is derived, and a log that has an index or will have
    one with the next change. Those are looked up, so they do not make the bank too large."""
    there = set(names)
    return [
        one
        for one in documents
        if not is_derived(one.name)
        and not (
            stem(one.name) == DECISIONS
            and (derived_name(one.name, INDEX) in there or _count(one) > limits.index_after)
        )
    ]


def tokens_of(documents: Iterable[Document]) -> int:
    """Estimated; each document for itself, so that they add up."""
    return sum(estimated(document.text) for document in documents)


def triggers_of(
    documents: Sequence[Document],
    limits: Limits,
    signals: BankSignals = NO_SIGNALS,
    *,
    names: Iterable[str] = (),
) -> tuple[Trigger, ...]:
    """All four, those that hold first and the strongest of them at the front: somebody's word, then
    what is furthest beyond its limit. `names`: the files of the bank, for the index."""
    counts = {one.name: _count(one) for one in documents if stem(one.name) == ACTIVE}
    name, most = max(counts.items(), key=lambda row: row[1], default=(f"{ACTIVE}.md", 0))
    total = tokens_of(loaded_of(documents, names, limits))
    used, budget, share = signals.session_tokens, signals.session_budget, limits.session_share
    part = used / budget if budget > 0 else 0.0
    is_full = budget > 0 and part >= share
    told = "the token budget of the session is not known"
    if budget > 0:
        than = "at least" if is_full else "less than"
        told = f"the session has used {used:,} of {budget:,} tokens, {part:.0%}, {than} {share:.0%}"
    asked = f"{'somebody' if signals.manual else 'nobody'} asked for it"
    rows: tuple[tuple[Cause, bool, float, float, str], ...] = (
        ("manual", signals.manual, signals.manual, 1, asked),
        _above("entries", most, limits.entries, f"{name} has {counted(most)}"),
        ("session", is_full, part, share, told),
        _above(
            "tokens", total, limits.tokens, f"the working files have {total:,} estimated tokens"
        ),
    )
    found = [
        Trigger(cause=cause, holds=holds, measured=measured, limit=limit, reason=reason)
        for cause, holds, measured, limit, reason in rows
    ]
    order = sorted(found, key=lambda one: (not one.holds, one.cause != "manual", -one.strength))
    return tuple(order)


def _above(cause: Cause, measured: int, limit: int, said: str) -> tuple[Cause, bool, int, int, str]:
    than = "more than" if measured > limit else "not more than"
    return cause, measured > limit, measured, limit, f"{said}, {than} {limit:,}"


def plan_of(
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
    moves, refused, run = _moves(loaded, derived, moved, now)
    moved = {name: one for name, one in moved.items() if name not in refused}
    after = _tokens(loaded, moved)
    files = tuple(_file_plan(d, moved[d.name], limits) for d in loaded if d.name in moved)
    log = next((one for one in documents if stem(one.name) == DECISIONS), None)
    if log is not None:
        name = derived_name(log.name, INDEX)
        before, index = derived.get(name), index_of(log)
        if index_wanted(log, before, limits) and before != index:
            moves.append(Change(name=name, before=before, after=index))
    return BankPlan(
        at=now,
        triggers=triggers,
        tokens_before=_tokens(loaded, {}),
        tokens_after=after,
        files=files,
        notes=(*refused.values(), *_notes(documents, loaded, limits, after)),
        nothing="" if files else _nothing(triggers, loaded, refused),
        changes=tuple(moves),
        run=run if files else 0,
    )


def index_of(document: Document) -> bytes:
    """The index of the decision log, a line per entry, made from the log alone: the same bytes for
    the same log."""
    entries = list(document.entries())
    digest = sha256(document.text.encode()).hexdigest()
    rows = [
        f"# Index of {document.name}\n\n"
        f"Made from {document.name} ({counted(len(entries))}, sha256 {digest}), which is what "
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
    """From the limit on a log has one. One that is there is kept up to date in any case."""
    return index is not None or _count(document) > limits.index_after


class _Moved(NamedTuple):
    """A document without what goes, and what goes."""

    document: Document
    blocks: tuple[Block, ...] = ()
    """In the order in which they go to the archive."""
    entries: int = 0
    references: int = 0
    """How many older references went, of which one stands for all."""


def _moved(loaded: Sequence[Document], limits: Limits, now: datetime) -> dict[str, _Moved]:
    """What goes, by file. Where the bank is still too large, fewer entries stay."""
    moved = {}
    for document in loaded:
        if stem(document.name) == ACTIVE:
            moved[document.name] = _from_active(document, limits, limits.entries)
        elif stem(document.name) == PROGRESS:
            moved[document.name] = _from_progress(document, limits, now)
    for document in loaded:
        over = _tokens(loaded, moved) - limits.tokens
        if over > 0 and stem(document.name) == ACTIVE:
            rows = document.by_age()[: limits.entries]
            stay, saved = len(rows), -REFERENCE_TOKENS
            while saved < over and stay > limits.least_entries:
                stay -= 1
                saved += estimated(rows[stay].text)
            fewer = _from_active(document, limits, stay)
            # a reference may be longer than what it stands for
            if len(fewer.document.text) < len(moved[document.name].document.text):
                moved[document.name] = fewer
    return {name: one for name, one in moved.items() if one.blocks}


def _from_active(document: Document, limits: Limits, stay: int) -> _Moved:
    """All but the newest entries go, each run of neighbours as one block."""
    return _without(document, document.by_age()[stay:], limits)


def _from_progress(document: Document, limits: Limits, now: datetime) -> _Moved:
    """Milestones reached long ago. Of the newest, only those count that could go; one without a
    date stays, as nobody knows how old it is."""
    reached = [entry for entry in document.by_age() if entry.done and entry.at is not None]
    before = aware(now) - timedelta(days=limits.milestone_days)
    older = reached[limits.milestones :]
    return _without(document, [one for one in older if one.at and aware(one.at) < before], limits)


def _without(document: Document, entries: Iterable[Entry], limits: Limits) -> _Moved:
    """From a table or a list of boxes all go as one block: open milestones between them would
    otherwise leave more references than rows."""
    lines = {entry.line for entry in entries}
    going = [
        place
        for place, piece in enumerate(document.pieces)
        if isinstance(piece, Entry) and piece.line in lines
    ]
    if not _is_listed(document):
        neighbours = groupby(enumerate(going), key=lambda row: row[1] - row[0])
        groups = [[place for _, place in run] for _, run in neighbours]
    else:
        groups = list(_by_table(document, going))
    return _fewer_references(_replaced(document, groups), limits.references)


def _replaced(document: Document, groups: Iterable[Sequence[int]]) -> _Moved:
    """Every group of places becomes a block and, where its first piece stood, a reference. All
    other pieces stay where they are. The first place is the one that matters: an entry under a
    heading ends at a reference, and what a person wrote behind it must not become part of it."""
    texts = [piece.text for piece in document.pieces]
    heads, blocks = _heads(document), []
    went: set[int] = set()
    for group in groups:
        pieces = [document.pieces[place] for place in group]
        gaps = [0]
        for one, other in pairwise(group):
            gaps.append(sum(len(p.text) for p in document.pieces[one + 1 : other]))
        block = block_of(
            "".join(piece.text for piece in pieces),
            entries=sum(p.entries if isinstance(p, Reference) else 1 for p in pieces),
            lead=_table_head(heads[group[0]]),
            pieces=spec_of([(len(p.text), gap) for p, gap in zip(pieces, gaps, strict=True)]),
        )
        above = structs.replace(document, pieces=heads[group[0]])
        for place in group:
            texts[place] = ""
        texts[group[0]] = reference_text(_reference(document, pieces, block), above)
        blocks.append(block)
        went.update(group)
    if not blocks:
        return _Moved(document)
    entries = sum(isinstance(document.pieces[place], Entry) for place in went)
    left = read_document(document.name, "".join(texts).encode())
    return _Moved(left, tuple(blocks), entries, len(went) - entries)


def _fewer_references(moved: _Moved, most: int) -> _Moved:
    """Where more than `most` references are left, the older ones go too and one stands for them.
    Half of them stay, so that this is not done at every compaction."""
    document = moved.document
    places = [n for n, piece in enumerate(document.pieces) if isinstance(piece, Reference)]
    if len(places) <= most:
        return moved
    newest_first = places if document.order == "newest_first" else places[::-1]
    older = sorted(newest_first[most // 2 :])
    groups = _by_table(document, older) if _is_listed(document) else _unbroken(document, older)
    again = _replaced(document, [group for group in groups if len(group) > 1])
    if not again.blocks:
        return moved
    blocks = (*moved.blocks, *again.blocks)
    return _Moved(again.document, blocks, moved.entries, again.references)


def _is_listed(document: Document) -> bool:
    """Whether any entry can go without the others noticing."""
    return document.shape == "tables" or (
        document.shape == "lists" and stem(document.name) == PROGRESS
    )


def _by_table(document: Document, places: Iterable[int]) -> Iterator[list[int]]:
    """Places of rows, those of tables with the same head together, so that they can be read again;
    where there is no table, all of them."""
    heads = _heads(document)
    groups: dict[str, list[int]] = {}
    for place in places:
        groups.setdefault(_table_head(heads[place]), []).append(place)
    yield from groups.values()


def _unbroken(document: Document, places: Sequence[int]) -> Iterator[list[int]]:
    """Places with no entry and no other reference between them: a chain of predecessors runs
    through both, and an entry under a heading ends where a reference stands."""
    group: list[int] = []
    for place in places:
        if group and any(not isinstance(p, Other) for p in document.pieces[group[-1] + 1 : place]):
            yield group
            group = []
        group.append(place)
    if group:
        yield group


def _heads(document: Document) -> list[tuple[Piece, ...]]:
    """For every piece the one that ends with the head of its table; none where it is no row."""
    found: tuple[Piece, ...] = ()
    heads = []
    for piece in document.pieces:
        heads.append(found)
        if document.shape == "tables" and isinstance(piece, Other):
            one = structs.replace(document, pieces=(piece,))
            found = found if head_above(one) is None else (piece,)
    return heads


def _table_head(above: Sequence[Piece]) -> str:
    return "".join("".join(piece.text.splitlines(True)[-2:]) for piece in above)


def _reference(document: Document, pieces: Sequence[Piece], block: Block) -> Reference:
    known = [
        at
        for piece in pieces
        for at in ((piece.first, piece.last) if isinstance(piece, Reference) else (piece.at,))  # type: ignore[union-attr]
        if at is not None
    ]
    times = [aware(at) for at in known]
    last = pieces[-1] if document.order == "oldest_first" else pieces[0]
    return Reference(
        archive=archive_name(document.name),
        sha256=block.sha256,
        entries=block.entries,
        summary=summary_of(pieces),
        first=min(times, default=None),
        last=max(times, default=None),
        end=end_of(last) if document.shape == "json_lines" else "",
    )


def _moves(
    documents: Sequence[Document],
    derived: Mapping[str, bytes],
    moved: Mapping[str, _Moved],
    now: datetime,
) -> tuple[list[Change], dict[str, str], int]:
    """What to write, archives first; by file why one stays as it is, which must not hold up the
    others; and the number of this compaction."""
    archives: dict[str, Change] = {}
    working_files, refused = [], {}
    run = new = _run_of(archives_of(derived), moved)
    for document in documents:
        if document.name not in moved:
            continue
        name = archive_name(document.name)
        before = derived.get(name)
        data = archives[name].after if name in archives else before
        for block in moved[document.name].blocks:
            data = appended(data, block, now, of=document.name, run=new)
        assert data is not None
        after = moved[document.name].document.text.encode()
        change = Change(name=document.name, before=document.text.encode(), after=after)
        try:
            run = min(run, _proved(change, moved[document.name].blocks, data))
        except BankChanged as error:
            refused[document.name] = str(error)
        else:
            archives[name] = Change(name=name, before=before, after=data)
            working_files.append(change)
    return [*archives.values(), *working_files], refused, run


def _run_of(archives: Mapping[str, Archive], moved: Mapping[str, _Moved]) -> int:
    """The next number, or that of the last compaction where it was killed before its end: then what
    is planned now stands in an archive already."""
    run = next_run(archives)
    planned = {block.sha256 for one in moved.values() for block in one.blocks}
    for archive in archives.values():
        for block in archive.blocks:
            if block.run == run - 1 and block.run not in archive.undone and block.sha256 in planned:
                return run - 1
    return run


def _proved(change: Change, blocks: Sequence[Block], archive: bytes) -> int:
    """Read both versions of a file and take the move back on paper: that must give the file as it
    is. The number of the compaction that its blocks have in the archive. Raises BankChanged."""
    wanted = {block.sha256 for block in blocks}
    whole = {b.sha256: b for b in read_archive(archive).blocks if not b.damage}
    if wanted - whole.keys():
        why = "its archive does not hold what would go there; run `kedgeline bank verify`"
        raise BankChanged(change.name, f"{why}, correct the archive and compact again")
    before, after = (change.before or b"").decode(), change.after.decode()
    try:
        old, new = (
            read_document(change.name, before.encode()),
            read_document(change.name, after.encode()),
        )
        back = put_back(new, [whole[block.sha256] for block in blocks])
    except (BankMalformed, BankChanged) as error:
        raise BankChanged(
            change.name, f"it would not be found again: {error.why}; {CORRECT}"
        ) from error
    there = {entry.text for entry in old.entries()}
    if extra := [entry.line for entry in new.entries() if entry.text not in there]:
        why = f"its line {extra[0]} would be read as an entry that was none"
        raise BankChanged(change.name, f"{why}; {CORRECT}")
    # line for line: of twins nobody can tell which one a reference stood for
    if back != before and sorted(back.split("\n")) != sorted(before.split("\n")):
        rows = zip_longest(back.split("\n"), before.split("\n"))
        line = next(n for n, (one, other) in enumerate(rows, 1) if one != other)
        why = f"what stands in line {line} would not be found again"
        raise BankChanged(change.name, f"{why}; {CORRECT}")
    return max((whole[digest].run for digest in wanted), default=0)


def _tokens(loaded: Iterable[Document], moved: Mapping[str, _Moved]) -> int:
    return tokens_of(moved[d.name].document if d.name in moved else d for d in loaded)


def _count(document: Document) -> int:
    return sum(1 for _ in document.entries())


def _file_plan(document: Document, moved: _Moved, limits: Limits) -> FilePlan:
    stay = _count(moved.document)
    why = "the newest stays" if limits.entries == 1 else f"the newest {limits.entries} stay"
    if stem(document.name) == PROGRESS:
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
        references=moved.references,
        stay=stay,
        why=why,
        tokens_before=estimated(document.text),
        tokens_after=estimated(moved.document.text),
    )


def _notes(
    documents: Sequence[Document], loaded: Sequence[Document], limits: Limits, after: int
) -> Iterator[str]:
    for document in loaded:
        plain = stem(document.name)
        if plain in (ACTIVE, DECISIONS, PROGRESS) and is_unrecognised(document):
            yield f"{document.name}: no entries were recognised in it, and it stays as it is"
        undated = sum(entry.done and entry.at is None for entry in document.entries())
        if plain == PROGRESS and undated:
            have = "milestone has no date and stays"
            if undated > 1:
                have = "milestones have no date and stay"
            yield f"{document.name}: {undated} reached {have}"
    if after > limits.tokens:
        largest = max(loaded, key=lambda document: len(document.text))
        yield (
            f"the working files still have {after:,} estimated tokens, more than "
            f"{limits.tokens:,}; the largest is {largest.name}, shorten it by hand"
        )
    logs = [document.name for document in documents if stem(document.name) == DECISIONS]
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
    entries = sum(_count(document) for document in loaded if stem(document.name) == ACTIVE)
    return (
        f"{holding}; but nothing more can move: what the active context has ({counted(entries)}) "
        f"is within what stays, and no reached milestone is old enough"
    )


def summary_of(pieces: Sequence[Piece]) -> str:
    """One for all of them, on one line: what each was about, as far as there is room, and their
    files."""
    if len(pieces) == 1 and isinstance(pieces[0], Entry):
        return entry_summary(pieces[0])
    entries = [piece for piece in pieces if isinstance(piece, Entry)]
    sources = tuple(dict.fromkeys(source for entry in entries for source in entry.sources))
    if not sources:
        said = (piece.summary if isinstance(piece, Reference) else piece.text for piece in pieces)
        sources = tuple(dict.fromkeys(files_in(["\n\n".join(said)[:LOOKED_AT]])))
    return _summary("", _named(pieces), sources)


def entry_summary(entry: Entry) -> str:
    """Its own where it keeps to the size, or one that is made from its text."""
    if (own := foreign(entry.summary)) and EXACT.count(own) <= SMALL:
        return own
    return _summary(entry.summary or _beside_title(entry), entry.title, entry.sources)


def _beside_title(entry: Entry) -> str:
    """The text without a first line that only says again what the entry is called, and when and by
    whom: an item of a list, a row. A heading is no sentence anyway."""
    first, _, rest = entry.text.lstrip().partition("\n")
    if not entry.title or first.startswith("#"):
        return entry.text
    known = " ".join((entry.title, entry.id, entry.agent, entry.status, "x"))
    said = set(_WORD.findall(first.casefold())) - set(_WORD.findall(known.casefold()))
    return rest if all(map(_TIME.fullmatch, said)) else entry.text


def _named(pieces: Sequence[Piece]) -> str:
    """The names of as many as there is room for, and how many more there are."""
    names: list[str] = []
    room = NAMES_SHOWN
    for piece in pieces:
        name = piece.summary if isinstance(piece, Reference) else ""
        if isinstance(piece, Entry):
            called = " ".join(filter(None, (piece.id, piece.title)))
            name = called or foreign(first_sentence(piece.summary or piece.text))
        name = cut(name.rstrip(" .;…"), NAME_SHOWN).rstrip(" .;…")
        if (room := room - len(name) - 2) < 0 and names:
            break
        names.append(name)
    more = len(pieces) - len(names)
    return "; ".join(dict.fromkeys(filter(None, names))) + (f"; {more} more" if more else "")


@lru_cache(maxsize=16_384)
def _summary(text: str, title: str, sources: tuple[str, ...]) -> str:
    """Remembered, as the index of a growing log is made again with every decision."""
    return foreign(brief_128(text, title=title, sources=sources))

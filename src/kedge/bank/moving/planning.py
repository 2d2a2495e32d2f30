"""What a compaction of the bank will do, before it does anything."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from datetime import datetime

from msgspec import structs

from kedge.bank.moving.active import moved_from_active, stay_for_tokens
from kedge.bank.moving.archives import appended, archive_name
from kedge.bank.moving.index import index_name, index_of, index_wanted
from kedge.bank.moving.progress import moved_from_progress, undated
from kedge.bank.moving.proof import prove
from kedge.bank.moving.replacing import Moved
from kedge.bank.moving.triggers import (
    NO_SIGNALS,
    BankSignals,
    Trigger,
    counted,
    loaded_of,
    stem,
    tokens_of,
    tokens_of_text,
    triggers_of,
)
from kedge.bank.values import ACTIVE, DECISIONS, LIMITS, PROGRESS, Change, Document, Limits
from kedge.errors import BankChanged
from kedge.model import Value


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
    """As planned; `changes_of` hands them out."""


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
    moves, refused = _moves(loaded, derived, moved, now)
    moved = {name: one for name, one in moved.items() if name not in refused}
    after = _tokens(loaded, moved)
    files = tuple(_file_plan(d, moved[d.name], limits) for d in loaded if d.name in moved)
    return BankPlan(
        at=now,
        triggers=triggers,
        tokens_before=_tokens(loaded, {}),
        tokens_after=after,
        files=files,
        notes=(*refused.values(), *_notes(loaded, limits, after), *_second_logs(documents)),
        nothing="" if files else _nothing(triggers, loaded, refused),
        changes=(*moves, *_indexes(documents, derived, limits)),
    )


def changes_of(plan: BankPlan) -> list[Change]:
    """What to write, archives first. It is handed out only if every entry is found again to the
    byte in what would be written. Raises BankChanged."""
    prove(plan.changes)
    return list(plan.changes)


def _moved(loaded: Sequence[Document], limits: Limits, now: datetime) -> dict[str, Moved]:
    """What goes, by file. Where the bank is still too large, fewer entries stay."""
    moved = {}
    for document in loaded:
        if stem(document.name) == ACTIVE:
            moved[document.name] = moved_from_active(document, limits)
        elif stem(document.name) == PROGRESS:
            moved[document.name] = moved_from_progress(document, limits, now)
    for document in loaded:
        over = _tokens(loaded, moved) - limits.tokens
        if over > 0 and stem(document.name) == ACTIVE:
            moved[document.name] = _fewer(document, limits, over, moved[document.name])
    return {name: one for name, one in moved.items() if one.blocks}


def _fewer(document: Document, limits: Limits, over: int, moved: Moved) -> Moved:
    """With so few entries that the bank is no more than its limit, as far as that goes. Where it
    would save nothing, because a reference is longer than what it stands for, all stay."""
    stay = stay_for_tokens(document, limits, over)
    fewer = moved_from_active(document, limits, stay=stay)
    smaller = len(fewer.document.text) < len(moved.document.text)
    return fewer if smaller else moved


def _tokens(loaded: Iterable[Document], moved: Mapping[str, Moved]) -> int:
    return tokens_of(moved[d.name].document if d.name in moved else d for d in loaded)


def _file_plan(document: Document, moved: Moved, limits: Limits) -> FilePlan:
    stay = sum(1 for _ in moved.document.entries())
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
    else:
        why = "the newest stays" if limits.entries == 1 else f"the newest {limits.entries} stay"
    return FilePlan(
        name=document.name,
        archive=archive_name(document.name),
        entries=moved.entries,
        references=moved.references,
        stay=stay,
        why=why,
        tokens_before=tokens_of_text(document.text),
        tokens_after=tokens_of_text(moved.document.text),
    )


def _moves(
    documents: Sequence[Document],
    derived: Mapping[str, bytes],
    moved: Mapping[str, Moved],
    now: datetime,
) -> tuple[list[Change], dict[str, str]]:
    """What to write, archives first; and by file why one of them stays as it is. It must not hold
    up the others."""
    archives: dict[str, Change] = {}
    working_files, refused = [], {}
    for document in documents:
        if document.name not in moved:
            continue
        name = archive_name(document.name)
        archive = archives.get(name, Change(name=name, before=derived.get(name), after=None))
        data = archive.after or archive.before
        for block in moved[document.name].blocks:
            data = appended(data, block, now, of=document.name)
        archive = structs.replace(archive, after=data)
        after = moved[document.name].document.text.encode()
        change = Change(name=document.name, before=document.text.encode(), after=after)
        try:
            prove([archive, change])
        except BankChanged as error:
            refused[document.name] = str(error)
        else:
            archives[name] = archive
            working_files.append(change)
    return [*archives.values(), *working_files], refused


def _indexes(
    documents: Sequence[Document], derived: Mapping[str, bytes], limits: Limits
) -> list[Change]:
    for document in documents:
        if stem(document.name) == DECISIONS:
            name = index_name(document.name)
            before = derived.get(name)
            if not index_wanted(document, before, limits):
                return []
            after = index_of(document)
            return [Change(name=name, before=before, after=after)] * (after != before)
    return []


def _notes(loaded: Sequence[Document], limits: Limits, after: int) -> list[str]:
    notes = [
        f"{document.name}: {count} reached "
        f"{'milestone has' if count == 1 else 'milestones have'} no date and "
        f"{'stays' if count == 1 else 'stay'}"
        for document in loaded
        if stem(document.name) == PROGRESS and (count := undated(document))
    ]
    if after > limits.tokens:
        largest = max(loaded, key=lambda document: len(document.text))
        notes.append(
            f"the working files still have {after:,} estimated tokens, more than "
            f"{limits.tokens:,}; the largest is {largest.name}, shorten it by hand"
        )
    return notes


def _second_logs(documents: Sequence[Document]) -> list[str]:
    first, *others = [d.name for d in documents if stem(d.name) == DECISIONS] or [""]
    return [f"{name} has no index, as {first} has it; keep one of the two" for name in others]


def _nothing(
    triggers: Sequence[Trigger], loaded: Sequence[Document], refused: Collection[str]
) -> str:
    holding = [trigger.reason for trigger in triggers if trigger.holds]
    if not holding:
        return "nothing to do: " + "; ".join(trigger.reason for trigger in triggers)
    if refused:
        return f"{'; '.join(holding)}; but {', '.join(refused)} cannot be changed: see the notes"
    entries = sum(1 for d in loaded if stem(d.name) == ACTIVE for _ in d.entries())
    return (
        f"{'; '.join(holding)}; but nothing more can move: the {counted(entries)} of the active "
        f"context {'is' if entries == 1 else 'are'} within what stays, and no reached milestone "
        f"is old enough"
    )

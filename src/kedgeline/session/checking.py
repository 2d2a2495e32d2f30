"""Verifying what is kept, rebuilding what is derived from it, and removing old sessions."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from typing import TypeVar

from kedgeline.errors import KedgelineError, StoreDamaged, StoreFailed
from kedgeline.model import ModelCall, Transcript, Turn, Value
from kedgeline.session.archive import (
    SPOKEN,
    Clean,
    Damaged,
    as_it_is,
    checked_text,
    packed_id,
    passages_of,
    readable,
    references,
)
from kedgeline.session.deciding import Growing
from kedgeline.session.journal import PLACED, Attempt, Forked, Pin, Recorded
from kedgeline.store import (
    Entry,
    Head,
    Kind,
    Passage,
    Problem,
    Query,
    SessionInfo,
    Store,
    StoreReading,
)
from kedgeline.store.protocol import chain_of

# The entries of a session, each compared with itself and with those before it.

SAYS: Mapping[Kind, type[Value]] = {
    "turn": Turn,
    "words": Turn,
    "rewound": Turn,
    "about": Transcript,
    "compaction": Recorded,
    "attempt": Attempt,
    "pin": Pin,
    "call": ModelCall,
    "output": Turn,
    "fork": Forked,
}
"""The type of an entry's data by its kind. The other kinds have no data."""
UNREADABLE = (StoreFailed, ValueError, TypeError, AttributeError)
"""What reading a damaged row leads to."""
V = TypeVar("V", bound=Value)
ELSEWHERE = "an export of the session, or the agent's own file, may still have it"


class Audit:
    """Sees the entries of a session in order. A view has a place for every turn up to the last, so
    an index far away would cost all memory: indexes follow each other, and refer to what exists."""

    def __init__(self, reading: StoreReading, session: str) -> None:
        self._reading, self._session = reading, session
        self._before = Head()
        self._whole = True
        """Whether no entry was missing or damaged so far."""
        self._turns: dict[str, int] = {}
        """How many stand in each thread."""
        self._kinds: dict[int, str] = {}
        """Of the entries that others refer to."""
        self._texts: dict[str, str] = {}
        """By hash: why a text cannot be read; empty where it can."""

    def faults(self, entry: Entry) -> Iterator[str]:
        """What is wrong with the next entry, one sentence each."""
        follows = entry.number == self._before.number + 1
        if not follows:
            self._whole = False
        elif entry.chain != chain_of(entry, self._before.chain):
            yield "its chain is broken: it, or what was before it, is not what was written"
        self._before = Head(number=entry.number, chain=entry.chain)
        try:
            wrong = list(self._data_faults(entry))
            yield from (f"{what}; no other entry is lost; {ELSEWHERE}" for what in wrong)
            if wrong:
                self._whole = False
            else:
                yield from self._text_faults(entry)
                yield from self._reference_faults(entry)
        except UNREADABLE as error:
            self._whole = False
            yield f"it cannot be read: {error}; {ELSEWHERE}"

    def _data_faults(self, entry: Entry) -> Iterator[str]:
        expected = SAYS.get(entry.kind)
        if expected is None:
            if entry.data or entry.blobs:
                yield f"an entry of the kind {entry.kind!r} has data, and none was written"
            return
        try:
            inside = {hash for _, hash in references(entry.data)}
            id = packed_id(entry.data, beside=PLACED if entry.kind in SPOKEN else ())
            _bare(entry, expected)
        except Damaged as error:
            yield f"it cannot be read: {error.why}"
            return
        if inside != set(entry.blobs):
            yield "the texts it refers to are not those that are noted beside it"
        if id != entry.id:
            yield "what it says is not what was written: its content id is another"

    def _text_faults(self, entry: Entry) -> Iterator[str]:
        # A turn says most things twice: where it stands in a field, that is named.
        found = list(references(entry.data)) if entry.blobs else []
        fields_last = sorted(found, key=lambda one: one[0][0] != "messages")
        for hash, path in {hash: path for path, hash in fields_last}.items():
            if hash not in self._texts:
                self._texts[hash] = self._why_lost(hash)
            if why := self._texts[hash]:
                part = ".".join(map(str, path))
                yield f"{part}: {why}; all else here can be read; {ELSEWHERE}"

    def _why_lost(self, hash: str) -> str:
        try:
            checked_text(hash, self._reading.blob(hash))
        except UNREADABLE as error:
            return str(error.why if isinstance(error, Damaged) else error)
        return ""

    def _reference_faults(self, entry: Entry) -> Iterator[str]:
        """What refers to a turn or entry that is not there."""
        count = self._turns.get(entry.thread, 0)
        if entry.kind in ("turn", "words", "cut"):
            if entry.index < 0 or (self._whole and entry.index > count):
                yield "it has no place after the turns before it"
            elif entry.kind != "words":
                self._turns[entry.thread] = entry.index + (entry.kind == "turn")
            if entry.kind != "cut" and _bare(entry, Turn).index != entry.index:
                yield "its data says that it stands elsewhere"
            return
        if entry.kind in ("compaction", "pin"):
            self._kinds[entry.number] = entry.kind
        wanted = {"undo": "compaction", "unpin": "pin"}.get(entry.kind)
        if wanted is not None and self._kinds.get(entry.index) != wanted:
            yield f"it is about entry {entry.index}, which is no {wanted}"
        last = self._turns.get("", 0)
        if entry.kind == "pin":
            pin = _bare(entry, Pin)
            if (self._whole and pin.turn >= last) or pin.entry >= entry.number:
                yield "it pins a turn that is not there"
        if entry.kind == "compaction":
            yield from self._compaction_faults(entry, last)

    def _compaction_faults(self, entry: Entry, last: int) -> Iterator[str]:
        record = _bare(entry, Recorded)
        plan = record.compaction.plan
        turns = (plan.cut, *(one.turn + 1 for one in plan.repeated))
        there = all(0 <= turn <= last for turn in turns) or not self._whole
        if plan.cut != entry.index or not there:
            yield "it folds turns that are not there"
        elif record.folded:
            turn = self._reading.entry(self._session, record.folded)
            made_from = (turn.kind, turn.index, turn.chain) if turn else None
            if made_from != ("turn", plan.cut - 1, record.chain):
                yield (
                    f"it stands for the turns up to t{plan.cut - 1} (entry {record.folded}), and"
                    " these are not what it was made from; `kedgeline undo` leaves it out"
                )


def _bare(entry: Entry, kind: type[V]) -> V:
    """What an entry says, without its large texts."""
    return readable(entry.data, kind, lambda _: None)


def _place_of(session: str, entry: Entry) -> str:
    """Where an entry is: `demo t12 (entry 40)`, `demo compaction (entry 41)`."""
    mark = entry.kind if entry.kind != "turn" else f"t{entry.index}"
    mark = f"{entry.thread}/{mark}" if entry.thread else mark
    return f"{session} {mark} (entry {entry.number})"


# Checking a store.

PAGE = 1_000
"""Places at the end of a thread that are compared with its entries."""
SOUGHT = 8
"""Turns of a session that are searched for. An index that is broken inside has the right number of
passages and does not find them; a few turns show it."""
ENOUGH = 64
"""Results among which the turn must be: sub-agents have turns of the same number."""
NOT_INDEXED = "it is not found by all its words; nothing is lost, the index can be made anew"
NOT_FOUND = "the index has it and does not find it; nothing is lost, the index can be made anew"

Watch = Callable[[str, int, int], None]
"""Gets the session, the number of the entry that is looked at, and how many there are."""


def check(
    store: Store, *, sessions: Collection[str] = (), watch: Watch | None = None
) -> Iterator[Problem]:
    """What is not as it should be, as it is found; of all sessions unless some are named."""
    known: list[str] = []
    try:
        known = [info.name for info in store.sessions()]
        for problem in store.problems():
            if not sessions or problem.where not in known or problem.where in sessions:
                yield problem
    except (KedgelineError, *UNREADABLE) as error:
        yield Problem(where="store", what=f"it cannot be checked: {error}", repairable=False)
    for session in known:
        if sessions and session not in sessions:
            continue
        try:
            yield from _checked(store, session, watch)
        except UNREADABLE as error:
            what = f"it cannot be looked through to its end: {error}"
            yield Problem(where=session, what=what, repairable=False)


def _checked(store: Store, session: str, watch: Watch | None) -> Iterator[Problem]:
    last = _last_number(store, session)
    threads = ("", *store.threads(session))
    standing = {one.number for thread in threads for one in store.places(session, thread=thread)}
    sought = set(sorted(standing)[:: max(1, len(standing) // SOUGHT)])
    indexed, audit, before = store.indexed(session), Audit(store, session), 0
    for entry in entries_left(store, session):
        if watch is not None:
            watch(session, entry.number, last)
        yield from _missing(store, session, range(before + 1, entry.number))
        before = entry.number
        where, found = _place_of(session, entry), list(audit.faults(entry))
        yield from (Problem(where=where, what=what, repairable=False) for what in found)
        if entry.number in standing and not found:
            passages = indexed.get(entry.number, 0)
            if not _is_indexed(store, entry, passages):
                yield Problem(where=where, what=NOT_INDEXED, repairable=True)
            elif entry.number in sought and passages and not _is_found(store, session, entry):
                yield Problem(where=where, what=NOT_FOUND, repairable=True)
    yield from _missing(store, session, range(before + 1, last + 1))
    yield from _beyond(store, session, threads, last)


def entries_left(store: Store, session: str, *, light: bool = False) -> Iterator[Entry]:
    """All entries that can be read, in order. Where reading them in order fails, they are read one
    by one past the damage."""
    at, last = 0, _last_number(store, session)
    while at < last:
        try:
            for entry in store.entries(session, after=at, light=light):
                at = entry.number
                yield entry
            return
        except UNREADABLE:
            at += 1
            try:
                found = store.entry(session, at)
            except UNREADABLE:
                continue
            if found is not None:
                yield found


def _last_number(store: Store, session: str) -> int:
    try:
        return store.head(session).number
    except UNREADABLE:
        newest = store.entries(session, newest_first=True, light=True)
        return next((entry.number for entry in newest), 0)


def _missing(store: Store, session: str, numbers: range) -> Iterator[Problem]:
    for number in numbers:
        what = f"it is missing; {ELSEWHERE}"
        try:
            store.entry(session, number)
        except UNREADABLE as error:
            what = f"it cannot be read: {getattr(error, 'why', error)}; {ELSEWHERE}"
        yield Problem(where=f"{session} entry {number}", what=what, repairable=False)


def _beyond(store: Store, session: str, threads: Sequence[str], end: int) -> Iterator[Problem]:
    """Turns that stood behind the last entry that is left. No chain ends there, so nothing but the
    index of places remembers them."""
    for thread in threads:
        last = store.last_place(session, thread=thread)
        if last is None or last.number <= end:
            continue
        places = store.places(session, thread=thread, first=max(0, last.index - PAGE + 1))
        lost = [f"t{place.index}" for place in places if place.number > end]
        span = lost[0] if len(lost) == 1 else f"{lost[0]} to {lost[-1]}"
        what = f"{span} stood here, and nothing of it is left; {ELSEWHERE}"
        yield Problem(where=f"{session} {thread}".rstrip(), what=what, repairable=False)


def _is_indexed(store: Store, entry: Entry, passages: int) -> bool:
    """Whether each text of a turn can have a passage. How many a long one has depends on what was
    left out as a secret when it was written, and nobody knows that now."""
    turn = readable(entry.data, Turn, store.blob)
    return passages >= len({passage.field for passage in passages_of(turn)})


def _is_found(store: Store, session: str, entry: Entry) -> bool:
    """By where it stands: its words may have been left out as a secret."""
    query = Query(sessions=(session,), first=entry.index, last=entry.index, limit=ENOUGH)
    try:
        return any(found.number == entry.number for found in store.find(query))
    except UNREADABLE:
        return False


# Rebuilding what is derived from the originals.

UNKNOWN = (
    "{count} turns are in the index of words anew; a value that was left out of it because an"
    " environment variable had it is in it now, unless the variable is set"
)


def repair(
    store: Store,
    *,
    sessions: Collection[str] = (),
    clean: Clean = as_it_is,
    watch: Watch | None = None,
) -> Iterator[Problem]:
    """What was repaired: indexes, places and passages, from the entries; no entry is changed. What
    remains, `check` says. Nothing that `clean` takes out gets into the index, and what is in the
    index stays as it is."""
    repaired = list(store.repair())
    yield from repaired
    names = {info.name for info in store.sessions()}
    poor, broken = {problem.where for problem in repaired}, set()
    if not poor <= names:  # the store itself was damaged
        poor = names
    for problem in check(store, sessions=sessions, watch=watch):
        if problem.repairable:
            session = problem.where.partition(" ")[0]
            poor.add(session)
            if problem.what == NOT_FOUND:
                broken.add(session)
            yield problem
    for info in store.sessions():
        if info.name in poor:
            anew = _passages_anew(store, info.name, clean, every=info.name in broken)
            count = itertools.count()
            store.reindex(info.name, (one for one, _ in zip(anew, count, strict=False)))
            if done := next(count):
                what = UNKNOWN.format(count=done)
                yield Problem(where=info.name, what=what, repairable=True)


def _passages_anew(
    store: Store, session: str, clean: Clean, *, every: bool
) -> Iterator[tuple[int, Sequence[Passage]]]:
    """The passages of the entries that are not found; of `every` entry where the index is broken.
    A turn that was written again with more in it is found once. What is found stays as it is: what
    was left out of it as a secret may not be known as one now."""
    growing = Growing()
    replaced = {growing.instead_of(one) for one in entries_left(store, session, light=True)}
    there = {} if every else store.indexed(session)
    for entry in entries_left(store, session):
        if entry.kind not in SPOKEN or entry.number in replaced:
            continue
        try:
            if _is_indexed(store, entry, there.get(entry.number, 0)):
                continue
            turn = readable(entry.data, Turn, store.blob)
        except StoreDamaged:
            continue  # `check` says so
        yield entry.number, tuple(passages_of(turn, clean))


# Retention: what need not be kept any longer, by rules of the user. Nothing is removed by itself.

DAY = 86_400_000_000
"""Microseconds."""


class Rules(Value, frozen=True):
    """Which sessions may go: those for which all given rules hold. Without any, none."""

    older_than: float | None = None
    """Days since the last entry."""
    larger_than: int | None = None
    """Stored bytes of its entries and texts."""
    match: tuple[str, ...] = ()
    """Patterns such as ci-*, one of which matches its name."""
    keep_last: int | None = None
    """So many that were written to last stay in any case, counted among those that match."""

    @property
    def given(self) -> bool:
        return self != Rules()


class Going(Value, frozen=True):
    """A session that the rules let go."""

    name: str
    turns: int
    last: int
    """Microseconds since 1970, UTC, of its last entry."""
    bytes: int
    why: str
    head: Head
    """Where it ended when it was looked at."""


class Removal(Value, frozen=True):
    """What would go, and how much that would free."""

    going: tuple[Going, ...] = ()
    kept: int = 0
    """Sessions that stay."""
    loose: int = 0
    """Texts that no session refers to now."""
    frees: int = 0
    """Stored bytes of these sessions and texts; texts that sessions share are freed with the last
    of them."""


class Removed(Value, frozen=True):
    sessions: tuple[str, ...] = ()
    spared: tuple[str, ...] = ()
    """Sessions that were written to meanwhile: they stay."""
    texts: int = 0


def plan_gc(store: Store, rules: Rules, now: int) -> Removal:
    """What the rules let go, and why. `now` is in microseconds since 1970, UTC."""
    sessions, loose = store.sessions(), store.loose()
    named = (one for one in sessions if _is_named(one.name, rules))
    going = tuple(
        Going(
            name=info.name,
            turns=info.turns,
            last=info.last,
            bytes=info.bytes,
            why="; ".join(why),
            head=store.head(info.name),
        )
        for place, info in enumerate(named)
        if (why := _why(info, place, rules, now))
    )
    return Removal(
        going=going,
        kept=len(sessions) - len(going),
        loose=len(loose),
        frees=sum(loose.values()) + sum(one.bytes for one in going),
    )


def remove_planned(store: Store, removal: Removal) -> Removed:
    """Remove what was planned, and all texts that no session refers to then."""
    gone = {one.name: store.drop(one.name, head=one.head) for one in removal.going}
    return Removed(
        sessions=tuple(name for name, dropped in gone.items() if dropped),
        spared=tuple(name for name, dropped in gone.items() if not dropped),
        texts=store.sweep(),
    )


def _is_named(name: str, rules: Rules) -> bool:
    return not rules.match or any(fnmatchcase(name, one) for one in rules.match)


def _why(info: SessionInfo, place: int, rules: Rules, now: int) -> list[str]:
    """The rules that hold for a session, in words; none where one does not."""
    age = (now - info.last) / DAY
    held = (
        (rules.match or None, True, f"its name is like {' or '.join(rules.match)}"),
        (rules.older_than, age > (rules.older_than or 0), f"last entry {age:,.0f} days ago"),
        (
            rules.larger_than,
            info.bytes > (rules.larger_than or 0),
            f"larger than {rules.larger_than or 0:,} bytes",
        ),
        (
            rules.keep_last,
            place >= (rules.keep_last or 0),
            f"not among the last {rules.keep_last or 0:,}",
        ),
    )
    given = [(holds, why) for rule, holds, why in held if rule is not None]
    return [why for _, why in given] if all(holds for holds, _ in given) else []

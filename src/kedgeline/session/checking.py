"""Whether what is kept is what was written, what is made good, and what need not be kept."""

from __future__ import annotations

import itertools
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from itertools import groupby

from msgspec.structs import replace

from kedgeline.errors import KedgelineError, StoreDamaged, StoreFailed
from kedgeline.model import ModelCall, Transcript, Turn, Value
from kedgeline.session.archive import (
    Blob,
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
from kedgeline.store import Entry, Head, Kind, Passage, Problem, Query, SessionInfo, Store

# What is wrong with one entry, by nothing but what it says itself.

SAYS: Mapping[Kind, type[Value]] = {
    "turn": Turn,
    "words": Turn,
    "about": Transcript,
    "compaction": Recorded,
    "attempt": Attempt,
    "pin": Pin,
    "call": ModelCall,
    "output": Turn,
    "fork": Forked,
}
"""What the data of an entry is by its kind. The others say all by their kind and index."""
SPOKEN = ("turn", "words")


def faults(entry: Entry) -> Iterator[str]:
    """Each in one sentence, beginning with what is at fault. The texts it refers to are not looked
    at."""
    expected = SAYS.get(entry.kind)
    if expected is None:
        if entry.data or entry.blobs:
            yield f"an entry of the kind {entry.kind!r} has data, and none was written"
        return
    try:
        inside = {hash for _, hash in references(entry.data)}
        id = packed_id(entry.data, beside=PLACED if entry.kind in SPOKEN else ())
        readable(entry.data, expected, _no_text)
    except Damaged as error:
        yield f"it cannot be read: {error.why}"
        return
    if inside != set(entry.blobs):
        yield "the texts it refers to are not those that are noted beside it"
    if id != entry.id:
        yield "what it says is not what was written: its content id is another"


def _no_text(_: str) -> None:
    """Whatever the texts are, they are texts: the type shows without them."""


# Entries of a session, whatever becomes of some of them.

UNREADABLE = (StoreFailed, ValueError, TypeError, AttributeError)
"""What a damaged row leads to."""


def entries_left(store: Store, session: str, *, light: bool = False) -> Iterator[Entry]:
    """All entries that can be read, in order. Where reading them one after the other fails, they
    are asked for one by one until the damaged one is passed."""
    last, at = last_number(store, session), 0
    while at < last:
        try:
            for entry in store.entries(session, after=at, light=light):
                at = entry.number
                yield entry
            return
        except UNREADABLE:
            at += 1
            if (found := one_entry(store, session, at)) is not None:
                yield found


def last_number(store: Store, session: str) -> int:
    """Of the entries; where the last one is damaged, as far as they can be read."""
    try:
        return store.head(session).number
    except UNREADABLE:
        newest = store.entries(session, newest_first=True, light=True)
        return next((entry.number for entry in newest), 0)


def one_entry(store: Store, session: str, number: int) -> Entry | None:
    """None where it is gone or damaged: the store itself reports it."""
    try:
        return store.entry(session, number)
    except UNREADABLE:
        return None


# Whether what is kept can be found, and the passages that find it.

SOUGHT = 8
"""Turns of a session that are looked for. An index that is broken inside has the right number of
passages and does not find them; a few turns show it."""
ENOUGH = 64
"""Answers among which the turn must be: sub-agents have turns of the same number."""

Clean = Callable[[str], str]


def is_indexed(entry: Entry, passages: int, blob: Blob) -> bool:
    """Whether each text of a turn can have a passage. How many a long one has depends on what was
    left out as a secret when it was written, and nobody knows that now."""
    turn = readable(entry.data, Turn, blob)
    return passages >= len({passage.field for passage in passages_of(turn)})


def is_found(store: Store, session: str, entry: Entry) -> bool:
    """Whether a turn is found by where it stands: its words may not be there, if they were left out
    as a secret."""
    query = Query(sessions=(session,), first=entry.index, last=entry.index, limit=ENOUGH)
    try:
        return any(found.number == entry.number for found in store.find(query))
    except UNREADABLE:
        return False


def passages_anew(
    store: Store, session: str, clean: Clean, *, every: bool = False
) -> Iterator[tuple[int, Sequence[Passage]]]:
    """The passages of the entries that are not found, as `Store.reindex` takes them; of `every`
    entry where the index is broken. A turn that was written again with more in it is found once.

    What is found stays as it is: what was left out of it as a secret may not be known as one now.
    """
    growing = Growing()
    entries = entries_left(store, session, light=True)
    replaced = {growing.instead_of(entry) for entry in entries}
    there = {} if every else store.indexed(session)
    for entry in entries_left(store, session):
        if entry.kind not in SPOKEN or entry.number in replaced:
            continue
        try:
            if is_indexed(entry, there.get(entry.number, 0), store.blob):
                continue
            turn = readable(entry.data, Turn, store.blob)
        except StoreDamaged:
            continue  # nothing of it can be read, and `check` says so
        yield entry.number, tuple(passages_of(turn, clean))


# Entries and their parts, as a user knows them.

Path = tuple[str | int, ...]
"""Fields that lead to a text inside of a value."""

_KINDS = {
    "words": "words that wait for an answer",
    "cut": "a rewind",
    "about": "what is known beside the turns",
    "compaction": "a compaction",
    "attempt": "an attempt to compact",
    "undo": "an undo",
    "pin": "a pin",
    "unpin": "a pin taken back",
    "call": "a request to a language model",
    "output": "the whole output of a call",
    "fork": "where the session comes from",
}
_FIELDS = {
    "user_message": "the user's words",
    "assistant_response": "the agent's answer",
    "thinking": "the agent's thinking",
    "notes": "a note of the client",
    "media": "an image or file",
    "messages": "a part of its messages",
    "head": "the system prompt",
    "compaction": "the record",
    "text": "the pinned words",
}


def place_of(session: str, entry: Entry) -> str:
    """Where an entry is: `demo t12 (entry 40)`."""
    return f"{session} {mark_of(entry)} (entry {entry.number})"


def mark_of(entry: Entry) -> str:
    if entry.kind == "turn":
        return f"{entry.thread}/t{entry.index}" if entry.thread else f"t{entry.index}"
    return _KINDS.get(entry.kind, entry.kind)


def parts(entry: Entry, paths: Iterable[Path]) -> str:
    """What stands at some paths of an entry: `the output t12.0`. A turn says most things twice, in
    its fields and in its messages; the first is enough."""
    names = list(dict.fromkeys(_part(entry, path) for path in sorted(paths, key=_layout_last)))
    if len(names) > 1 and _FIELDS["messages"] in names:
        names.remove(_FIELDS["messages"])
    return " and ".join(names)


def _part(entry: Entry, path: Path) -> str:
    first, place = path[0] if path else "", path[1] if len(path) > 1 else ""
    if first == "tool_results":
        what = "an image of the output" if "media" in path else "the output"
        return f"{what} {mark_of(entry)}.{place}"
    if first == "tool_calls":
        return f"what the call {mark_of(entry)}.{place} was given"
    return _FIELDS.get(str(first), "a text")


def _layout_last(path: Path) -> tuple[bool, str]:
    return path[:1] == ("messages",), str(path)


# What is damaged, in words that say which turn, what of it is lost, and what is not.

REMEMBERED = 200_000
"""Texts that are known to be sound, so that one which many turns share is read once. Beyond that
some are read again; memory stays below 30 MB."""
PAGE = 1_000
"""Places at the end of a thread that are held against its entries."""
LOST = {
    "turn": "this turn is lost, and no other",
    "words": "these words are lost",
    "compaction": "its summary is lost, and no turn",
    "pin": "the pin is lost, and no turn",
    "call": "what it cost is lost, and no turn",
    "output": "the turn has only what took its place",
}
NOT_INDEXED = "it is not found by all its words; nothing is lost, the index can be made anew"
NOT_FOUND = "the index has it and does not find it; nothing is lost, the index can be made anew"
ELSEWHERE = "an export of the session, or the agent's own file, may still have it"

_ENTRY = re.compile(r"(\S+) entry (\d+)")
_HASH = re.compile(r"\b[0-9a-f]{64}\b")

Watch = Callable[[str, int, int], None]
"""Is told the session, the entry that is looked at, and how many there are."""


def check(
    store: Store,
    *,
    sessions: Collection[str] = (),
    watch: Watch | None = None,
) -> Iterator[Problem]:
    """What is not as it should be, as it is found; of all sessions unless some are named."""
    try:
        known = [info.name for info in store.sessions()]
    except (KedgelineError, *UNREADABLE) as error:
        yield Problem(
            where="store", what=f"its sessions cannot be listed: {error}", repairable=False
        )
        known = []
    texts = _Texts(store)
    later: list[Problem] = []
    """What the store says of texts: a look into the turns says it better."""
    for problem in _of_the_store(store):
        of_session = problem.where.partition(" ")[0]
        if sessions and of_session in known and of_session not in sessions:
            continue
        if _HASH.search(problem.what):
            later.append(problem)
        else:
            yield _worded(store, problem)
    for session in known:
        if not sessions or session in sessions:
            try:
                yield from _Checking(store, session, texts).problems(watch)
            except UNREADABLE as error:
                what = f"it cannot be looked through to its end: {error}"
                yield Problem(where=session, what=what, repairable=False)
    for problem in later:
        if not texts.told.issuperset(_HASH.findall(problem.what)):
            yield _worded(store, problem)


def _of_the_store(store: Store) -> Iterator[Problem]:
    try:
        yield from store.problems()
    except (KedgelineError, *UNREADABLE) as error:
        yield Problem(where="store", what=f"it cannot be checked: {error}", repairable=False)


def _worded(store: Store, problem: Problem) -> Problem:
    """The store knows entries; a user knows turns."""
    found = _ENTRY.fullmatch(problem.where)
    entry = one_entry(store, found[1], int(found[2])) if found else None
    return replace(problem, where=place_of(found[1], entry)) if found and entry else problem


class _Texts:
    """Which texts are sound."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._sound: set[str] = set()
        self.told: set[str] = set()
        """Hashes of those that are not."""

    def why(self, hash: str) -> str:
        """Why a text cannot be read; empty where it can."""
        if hash in self._sound:
            return ""
        try:
            checked_text(hash, self._store.blob(hash))
        except (Damaged, *UNREADABLE) as error:
            self.told.add(hash)
            return str(error.why if isinstance(error, Damaged) else error)
        if len(self._sound) >= REMEMBERED:
            self._sound.clear()
        self._sound.add(hash)
        return ""


class _Checking:
    """One session, entry by entry."""

    def __init__(self, store: Store, session: str, texts: _Texts) -> None:
        self._store, self._session, self._texts = store, session, texts
        self._threads = ("", *store.threads(session))

    def problems(self, watch: Watch | None) -> Iterator[Problem]:
        last = last_number(self._store, self._session)
        yield from self._beyond(last)
        standing, passages = self._standing(), self._store.indexed(self._session)
        sought = set(sorted(standing)[:: max(1, len(standing) // SOUGHT)])
        for entry in entries_left(self._store, self._session):
            if watch is not None:
                watch(self._session, entry.number, last)
            found = [*self._said(entry), *self._lost_texts(entry), *self._referred(entry)]
            yield from found
            if entry.number in standing and not found:
                passed = passages.get(entry.number, 0)
                yield from self._searched(entry, passed, sought=entry.number in sought)

    def _problem(self, entry: Entry, what: str, *, repairable: bool = False) -> Problem:
        return Problem(where=place_of(self._session, entry), what=what, repairable=repairable)

    def _standing(self) -> set[int]:
        """Numbers of the entries whose turns stand."""
        threads = (self._store.places(self._session, thread=one) for one in self._threads)
        return {place.number for places in threads for place in places}

    def _beyond(self, end: int) -> Iterator[Problem]:
        """Turns that stood behind the last entry that is left. No chain ends there, so nothing but
        the index remembers them."""
        for thread in self._threads:
            last = self._store.last_place(self._session, thread=thread)
            if last is None or last.number <= end:
                continue
            first = max(0, last.index - PAGE + 1)
            places = self._store.places(self._session, thread=thread, first=first)
            lost = [f"t{place.index}" for place in places if place.number > end]
            span = lost[0] if len(lost) == 1 else f"{lost[0]} to {lost[-1]}"
            where = f"{self._session} {thread}".rstrip()
            what = f"{span} stood here, and nothing of it is left; {ELSEWHERE}"
            yield Problem(where=where, what=what, repairable=False)

    def _said(self, entry: Entry) -> Iterator[Problem]:
        try:
            for what in faults(entry):
                lost = LOST.get(entry.kind)
                yield self._problem(entry, f"{what}; {lost}; {ELSEWHERE}" if lost else what)
        except UNREADABLE as error:  # its columns hold what nobody wrote
            yield self._problem(entry, f"it cannot be read: {error}; {ELSEWHERE}")

    def _lost_texts(self, entry: Entry) -> Iterator[Problem]:
        try:
            found = sorted(references(entry.data), key=lambda one: one[1]) if entry.blobs else []
        except UNREADABLE:
            return
        for hash, places in groupby(found, key=lambda one: one[1]):
            if why := self._texts.why(hash):
                part = parts(entry, (path for path, _ in places))
                yield self._problem(entry, f"{part}: {why}; all else here can be read; {ELSEWHERE}")

    def _referred(self, entry: Entry) -> Iterator[Problem]:
        """Whether the entries that this one is about are what it takes them for."""
        if entry.kind == "compaction":
            yield from self._folded(entry)
        wanted = {"undo": "compaction", "unpin": "pin"}.get(entry.kind)
        if wanted is None:
            return
        about = one_entry(self._store, self._session, entry.index)
        if about is None or about.kind != wanted:
            yield self._problem(entry, f"it is about entry {entry.index}, which is no {wanted}")

    def _folded(self, entry: Entry) -> Iterator[Problem]:
        try:
            record = readable(entry.data, Recorded, self._store.blob)
        except UNREADABLE:
            return
        if not record.folded:
            return
        turn = one_entry(self._store, self._session, record.folded)
        cut = record.compaction.plan.cut
        same = turn is not None and (turn.kind, turn.index, turn.chain) == (
            "turn",
            cut - 1,
            record.chain,
        )
        if not same:
            what = f"it stands for the turns up to t{cut - 1} (entry {record.folded})"
            yield self._problem(
                entry,
                f"{what}, and these are not what it was made from; `kedgeline undo` leaves it out",
            )

    def _searched(self, entry: Entry, passages: int, *, sought: bool) -> Iterator[Problem]:
        if not is_indexed(entry, passages, self._store.blob):
            yield self._problem(entry, NOT_INDEXED, repairable=True)
        elif sought and passages and not is_found(self._store, self._session, entry):
            yield self._problem(entry, NOT_FOUND, repairable=True)


# Making good what follows from the originals.

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
    """What was made good: indexes, places and passages, from the entries; no entry is changed. What
    remains, `check` says. Nothing secret gets into the index that `clean` takes out, and what is in
    the index stays as it is."""
    made_good = list(store.repair())
    yield from made_good
    poor = {problem.where.partition(" ")[0] for problem in made_good}
    broken = set()
    for problem in check(store, sessions=sessions, watch=watch):
        if problem.repairable:
            session = problem.where.partition(" ")[0]
            poor.add(session)
            if problem.what == NOT_FOUND:
                broken.add(session)
            yield problem
    for info in store.sessions():
        if info.name in poor:
            anew = passages_anew(store, info.name, clean, every=info.name in broken)
            count = itertools.count()
            store.reindex(info.name, (one for one, _ in zip(anew, count, strict=False)))
            if done := next(count):
                what = UNKNOWN.format(count=done)
                yield Problem(where=info.name, what=what, repairable=True)


# What need not be kept any longer, by rules that somebody gave. Nothing goes by itself.

DAY = 86_400_000_000
"""Microseconds."""


class Rules(Value, frozen=True):
    """Which sessions may go: those for which all that is given holds. Without any, none."""

    older_than: float | None = None
    """Days since the last entry."""
    larger_than: int | None = None
    """Bytes of its entries and texts, as they are stored."""
    match: tuple[str, ...] = ()
    """Patterns such as ci-*, one of which its name has."""
    keep_last: int | None = None
    """So many that were written to last stay in any case, counted among those that match."""

    @property
    def given(self) -> bool:
        return self != Rules()


class Going(Value, frozen=True):
    """A session that a rule lets go."""

    name: str
    turns: int
    last: int
    """Microseconds since 1970, UTC, of its last entry."""
    bytes: int
    """Its size; texts that others share stay."""
    why: str
    head: Head
    """Where it ended when it was looked at."""


class Removal(Value, frozen=True):
    """What would go, and what that would free."""

    going: tuple[Going, ...] = ()
    kept: int = 0
    """Sessions that stay."""
    loose: int = 0
    """Texts that no session refers to now."""
    frees: int = 0
    """Bytes of the sessions and of all texts that nobody needs then, as they are stored."""


class Removed(Value, frozen=True):
    """What is gone."""

    sessions: tuple[str, ...] = ()
    spared: tuple[str, ...] = ()
    """Sessions that were written to after the look: they stay."""
    texts: int = 0


def plan_gc(store: Store, rules: Rules, now: int) -> Removal:
    """What the rules let go, and why. `now` is in microseconds since 1970, UTC."""
    sessions = store.sessions()
    going = tuple(_going(store, sessions, rules, now))
    loose = store.loose()
    return Removal(
        going=going,
        kept=len(sessions) - len(going),
        loose=len(loose),
        frees=sum(loose.values()) + _freed(store, sessions, going),
    )


def collect(store: Store, removal: Removal) -> Removed:
    """Remove what was planned, and all texts that no session refers to then."""
    dropped: list[str] = []
    spared: list[str] = []
    for going in removal.going:
        gone = store.drop(going.name, head=going.head)
        (dropped if gone else spared).append(going.name)
    return Removed(sessions=tuple(dropped), spared=tuple(spared), texts=store.sweep())


def _going(
    store: Store, sessions: Sequence[SessionInfo], rules: Rules, now: int
) -> Iterator[Going]:
    named = [info for info in sessions if _matches(info, rules)]
    for place, info in enumerate(named):
        why = _why(info, place, rules, now)
        if why:
            yield Going(
                name=info.name,
                turns=info.turns,
                last=info.last,
                bytes=info.bytes,
                why="; ".join(why),
                head=store.head(info.name),
            )


def _matches(info: SessionInfo, rules: Rules) -> bool:
    return not rules.match or any(fnmatchcase(info.name, one) for one in rules.match)


def _why(info: SessionInfo, place: int, rules: Rules, now: int) -> list[str]:
    """The rules that hold for it, in words; none where one does not."""
    why = []
    if rules.match:
        why.append(f"its name is like {' or '.join(rules.match)}")
    if rules.older_than is not None:
        age = (now - info.last) / DAY
        if age <= rules.older_than:
            return []
        why.append(f"last entry {age:,.0f} days ago")
    if rules.larger_than is not None:
        if info.bytes <= rules.larger_than:
            return []
        why.append(f"larger than {rules.larger_than:,} bytes")
    if rules.keep_last is not None:
        if place < rules.keep_last:
            return []
        why.append(f"not among the last {rules.keep_last:,}")
    return why


def _freed(store: Store, sessions: Sequence[SessionInfo], going: Sequence[Going]) -> int:
    """Bytes of sessions and their texts; those that a session which stays refers to stay too, and
    those that several of them share are there once."""
    if not going:
        return 0
    names = {one.name for one in going}
    users: Counter[str] = Counter()
    for name in names:
        users.update(_texts(store, name))
    staying = set()
    for info in sessions:
        if info.name not in names:
            staying.update(users.keys() & _texts(store, info.name))
    total = sum(one.bytes for one in going)
    for hash, count in users.items():
        spare = count if hash in staying else count - 1
        if spare:
            total -= spare * len(store.blob(hash) or b"")
    return total


def _texts(store: Store, session: str) -> set[str]:
    return {hash for entry in store.entries(session) for hash in entry.blobs}

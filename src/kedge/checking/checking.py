"""What is damaged, in words that say which turn, what of it is lost, and what is not."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator
from itertools import groupby

from msgspec.structs import replace

from kedge.archive import Damaged, checked_text, readable, references
from kedge.checking.entries import faults
from kedge.checking.reading import UNREADABLE, entries_left, one_entry
from kedge.checking.searching import SOUGHT, is_found, is_indexed
from kedge.checking.wording import parts, place_of
from kedge.errors import KedgeError
from kedge.living.values import Recorded
from kedge.store import Entry, Head, Problem, Store

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
    except (KedgeError, *UNREADABLE) as error:
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
            yield from _Checking(store, session, texts).problems(watch)
    for problem in later:
        if not texts.told.issuperset(_HASH.findall(problem.what)):
            yield _worded(store, problem)


def _of_the_store(store: Store) -> Iterator[Problem]:
    try:
        yield from store.problems()
    except (KedgeError, *UNREADABLE) as error:
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

    def problems(self, watch: Watch | None) -> Iterator[Problem]:
        head = self._store.head(self._session)
        yield from self._beyond(head)
        standing, passages = self._standing(), self._store.indexed(self._session)
        sought = set(sorted(standing)[:: max(1, len(standing) // SOUGHT)])
        for entry in entries_left(self._store, self._session):
            if watch is not None:
                watch(self._session, entry.number, head.number)
            found = [*self._said(entry), *self._lost_texts(entry), *self._referred(entry)]
            yield from found
            if entry.number in standing and not found:
                passed = passages.get(entry.number, 0)
                yield from self._searched(entry, passed, sought=entry.number in sought)

    def _problem(self, entry: Entry, what: str, *, repairable: bool = False) -> Problem:
        return Problem(where=place_of(self._session, entry), what=what, repairable=repairable)

    def _threads(self) -> Iterator[str]:
        yield ""
        yield from self._store.threads(self._session)

    def _standing(self) -> set[int]:
        """Numbers of the entries whose turns stand."""
        threads = (self._store.places(self._session, thread=one) for one in self._threads())
        return {place.number for places in threads for place in places}

    def _beyond(self, head: Head) -> Iterator[Problem]:
        """Turns that stood behind the last entry that is left. No chain ends there, so nothing but
        the index remembers them."""
        for thread in self._threads():
            last = self._store.last_place(self._session, thread=thread)
            if last is None or last.number <= head.number:
                continue
            first = max(0, last.index - PAGE + 1)
            places = self._store.places(self._session, thread=thread, first=first)
            lost = [f"t{place.index}" for place in places if place.number > head.number]
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
                f"{what}, and these are not what it was made from; `kedge undo` leaves it out",
            )

    def _searched(self, entry: Entry, passages: int, *, sought: bool) -> Iterator[Problem]:
        if not is_indexed(entry, passages, self._store.blob):
            yield self._problem(entry, NOT_INDEXED, repairable=True)
        elif sought and passages and not is_found(self._store, self._session, entry):
            yield self._problem(entry, NOT_FOUND, repairable=True)

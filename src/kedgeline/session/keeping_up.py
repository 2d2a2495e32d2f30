"""A session and all that is known of it, brought up to date at the cost of what is new."""

from __future__ import annotations

import pickle
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple

from msgspec.structs import replace

from kedgeline.errors import OtherSession
from kedgeline.formats import Log
from kedgeline.model import Summary, Transcript, Turn
from kedgeline.pipeline.read import stream
from kedgeline.session.archive import readable
from kedgeline.session.compacting import Current, TakenBack, fresh
from kedgeline.session.deciding import pinned_texts
from kedgeline.session.following import CaughtUp
from kedgeline.session.journal import Forked, Journal, Keeping
from kedgeline.session.session import Session
from kedgeline.session.tailing import NotGrowing, Tail
from kedgeline.store import Kind

VERSION = 4
"""Of what is put away, both parts of it; another one is read anew."""


class UpToDate(NamedTuple):
    summary: Summary
    """Of all that was said, the words that wait for an answer included."""
    beside: Transcript
    """What is known beside the turns."""
    put_away: bytes
    """To be given back the next time; empty where the file is read as a whole each time. These are
    bytes of this program's own: they must lie where nobody else can write."""
    turns: int
    new: int
    """Turns that the session had not, or not as they are."""


def brought_up_to_date(session: Session, path: Path, put_away: bytes = b"") -> UpToDate:
    """Follow a session's own file from where it was followed to before. Turns that a fork has from
    its parent stand before those of its file."""
    behind = _Behind.of(session)
    tail, current = _restored(put_away, path, behind)
    try:
        return _gone_on(session, tail or _tail(path, behind), current)
    except NotGrowing:
        return _gone_on(session, _tail(path, behind), None) if behind else _anew(session, path)


def move_to(session: Session, path: Path) -> None:
    """Follow a session in a file where it was not before. Raises `OtherSession` where the file does
    not begin as the session does: clients give the files of sub-agents their session's id."""
    if origin_of(session) is None:
        session.follow(path, watch=lambda turns: _beginning_alike(session, turns))
        return
    for _ in _beginning_alike(session, stream(path)):
        return


def summary_before(session: Session, turn: int, waiting: Turn | None = None) -> Summary:
    """What was known when this turn began, with words that were waiting for an answer then."""
    about = replace(session.about(), pending=waiting)
    current, clean = fresh(about), session.keeping.cleaned
    next_turn = turn_at(session, turn)
    then = next_turn.timestamp if next_turn else None
    earlier = (
        one for one in session.turns() if (_is_before(one, then) if one.agent else one.index < turn)
    )
    current.take(earlier, about, clean)
    return current.summary((), about, clean)


def _is_before(turn: Turn, then: datetime | None) -> bool:
    """Whether a sub-agent took a turn by then; it may be at work while its session is compacted."""
    return then is None or turn.timestamp is None or turn.timestamp <= then


def pinned_words(session: Session) -> list[str]:
    """What the user has pinned, turns by what was said in them; without secrets."""
    journal = Journal(session.store, session.name)
    return [session.keeping.clean(text) for text in pinned_texts(journal, journal.count() + 1)]


def turn_at(session: Session, index: int) -> Turn | None:
    """A turn of the main conversation that stands."""
    journal = Journal(session.store, session.name)
    place = journal.place(index) if index >= 0 else None
    return journal.turn(place) if place else None


def _beginning_alike(session: Session, turns: Iterable[Turn]) -> Iterator[Turn]:
    origin, clean = origin_of(session), session.keeping.cleaned
    first = turn_at(session, origin.turns if origin else 0)
    for number, turn in enumerate(turns):
        if number == 0 and first is not None:
            known, told = clean(first), clean(turn)
            if turn.agent or (known.user_message, known.timestamp) != (
                told.user_message,
                told.timestamp,
            ):
                raise OtherSession(session.name, "the file does not begin as it does")
        yield turn


class Origin(NamedTuple):
    """Where the beginning of a fork comes from."""

    session: str
    turns: int
    """That stand in it still as the other session had them."""


def origin_of(session: Session) -> Origin | None:
    """None where a session is no fork, or nothing of what it began with is left."""
    kinds: tuple[Kind, ...] = ("fork",)
    for entry in session.store.entries(session.name, kinds=kinds, newest_first=True):
        forked = readable(entry.data, Forked, session.store.blob)
        journal = Journal(session.store, session.name)
        places = _Numbers(journal, journal.count())
        turns = bisect_right(places, forked.number)
        return Origin(forked.session, turns) if turns else None
    return None


class _Numbers(Sequence[int]):
    """Of the entries of turns, which only grow; each is looked up when it is asked for."""

    def __init__(self, journal: Journal, count: int) -> None:
        self._journal, self._count = journal, count

    def __len__(self) -> int:
        return self._count

    def __getitem__(self, index: Any) -> Any:
        place = self._journal.place(index)
        return place.number if place else 0


class _Behind(NamedTuple):
    """What stands before the turns of a file."""

    turns: int
    exchanges: int
    agents: dict[str, tuple[str, int]]
    """Sub-agents that are not in the file: the call that started each, and its turns."""

    @classmethod
    def of(cls, session: Session) -> _Behind | None:
        origin = origin_of(session)
        if origin is None:
            return None
        last, journal = turn_at(session, origin.turns - 1), Journal(session.store, session.name)
        agents = {
            one: (journal.about(thread=one).delegated_by, journal.count(thread=one))
            for one in journal.threads()
        }
        return cls(origin.turns, last.exchange + 1 if last else 0, agents)

    def moved(self, turn: Turn) -> Turn:
        if turn.agent:
            return turn
        return replace(turn, index=turn.index + self.turns, exchange=turn.exchange + self.exchanges)

    def move(self, log: Log) -> None:
        """What was found beside the turns, once all is read."""
        key = (0, "")
        log.lengths[key] = log.lengths.get(key, 0) + self.turns
        if key in log.pending:
            log.pending[key] = self.moved(log.pending[key])
        log.compactions[:] = [replace(one, turn=one.turn + self.turns) for one in log.compactions]
        log.changes[:] = [replace(one, turn=one.turn + self.turns) for one in log.changes]
        for agent, (call, turns) in self.agents.items():
            if (0, agent) not in log.lengths:
                log.lengths[0, agent] = turns
                log.links.told(agent, call)


class _Moved(Tail):
    """A file whose turns come behind others. What is put away of it is as the file has it."""

    behind: _Behind

    def new_turns(self) -> Iterator[Turn]:
        return map(self.behind.moved, super().new_turns())

    def open_turns(self) -> list[Turn]:
        found = [self.behind.moved(turn) for turn in super().open_turns()]
        self.behind.move(self.log)
        return found


def _tail(path: Path, behind: _Behind | None, kept: bytes = b"") -> Tail:
    kind = _Moved if behind else Tail
    tail = kind.restored(kept, path) if kept else kind(path)
    if isinstance(tail, _Moved) and behind is not None:
        tail.behind = behind
    return tail


def _restored(
    put_away: bytes, path: Path, behind: _Behind | None
) -> tuple[Tail | None, Current | None]:
    if not put_away:
        return None, None
    try:
        version, kept, current = pickle.loads(put_away)
        if version != VERSION:
            return None, None
        return _tail(path, behind, kept), Current.restored(current)
    except (
        *(NotGrowing, pickle.UnpicklingError, EOFError, AttributeError, ImportError, IndexError),
        *(KeyError, TypeError, ValueError),
    ):
        return None, None  # it is read anew


def _gone_on(session: Session, tail: Tail, current: Current | None) -> UpToDate:
    watch = _Watch(current or Current(), session.keeping)
    done = session.catch_up(tail, watch.seen)
    complete = done.appended.turns - sum(not turn.agent for turn in done.open_turns)
    if watch.is_lost or current is None or watch.current.turns > complete:
        return _folded_anew(session, done)
    watch.current.settle(done.open_turns, done.beside, session.keeping.cleaned)
    known = watch.current.put_away()
    summary = watch.current.summary(done.open_turns, done.beside, session.keeping.cleaned)
    if watch.current.stale:
        return _folded_anew(session, done)
    return _told(done, summary, known)


class _Watch:
    """Folds complete turns as they pass."""

    def __init__(self, current: Current, keeping: Keeping) -> None:
        self.current, self._keeping = current, keeping
        self.is_lost = False
        """Turns were taken back: what is folded is not what stands."""

    def seen(self, turn: Turn) -> None:
        if self.is_lost:
            return
        try:
            self.current.take([turn], NOTHING_BESIDE, self._keeping.cleaned)
        except TakenBack:
            self.is_lost = True


NOTHING_BESIDE = Transcript(format="kedgeline")


def _folded_anew(session: Session, done: CaughtUp) -> UpToDate:
    """From the turns that stand, but for those that are not complete."""
    current = fresh(done.beside)
    waiting = {(turn.agent, turn.index) for turn in done.open_turns if not turn.agent}
    standing = [turn for turn in session.turns() if (turn.agent, turn.index) not in waiting]
    clean = session.keeping.cleaned
    current.take(standing, done.beside, clean)
    current.settle(done.open_turns, done.beside, clean)
    known = current.put_away()
    return _told(done, current.summary(done.open_turns, done.beside, clean), known)


def _told(done: CaughtUp, summary: Summary, known: bytes) -> UpToDate:
    put_away = pickle.dumps((VERSION, done.put_away, known), protocol=5)
    appended = done.appended
    return UpToDate(summary, done.beside, put_away, appended.turns, appended.new)


def _anew(session: Session, path: Path) -> UpToDate:
    """The whole file: what was followed before is not what it is now, or it is never added to."""
    done = session.follow(path, force=True)
    try:
        tail = Tail(path)
        for _ in tail.new_turns():
            pass
        kept, rest = tail.put_away(), tuple(tail.open_turns())
        return _folded_anew(session, CaughtUp(done, kept, rest, session.about()))
    except NotGrowing:
        current = fresh(session.about())
        clean = session.keeping.cleaned
        current.take(session.turns(), session.about(), clean)
        summary = current.summary((), session.about(), clean)
        return UpToDate(summary, session.about(), b"", done.turns, done.new)

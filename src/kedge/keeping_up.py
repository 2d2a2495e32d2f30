"""A session and all that is known of it, brought up to date at the cost of what is new."""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from datetime import datetime
from pathlib import Path
from typing import NamedTuple

from msgspec.structs import replace

from kedge.errors import OtherSession
from kedge.living.adding import Keeping
from kedge.living.current import Current, TakenBack, fresh
from kedge.living.following import CaughtUp
from kedge.living.journal import Journal
from kedge.living.pinning import pinned_texts
from kedge.model import Summary, Transcript, Turn
from kedge.session import Session
from kedge.tailing import NotGrowing, Tail

VERSION = 3
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
    """Follow a session's own file from where it was followed to before."""
    tail, current = _restored(put_away, path)
    try:
        return _gone_on(session, tail or Tail(path), current)
    except NotGrowing:
        return _anew(session, path)


def move_to(session: Session, path: Path) -> None:
    """Follow a session in a file where it was not before. Raises `OtherSession` where the file does
    not begin as the session does: clients give the files of sub-agents their session's id."""
    session.follow(path, watch=lambda turns: _beginning_alike(session, turns))


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
    first, clean = turn_at(session, 0), session.keeping.cleaned
    for number, turn in enumerate(turns):
        if number == 0 and first is not None:
            known, told = clean(first), clean(turn)
            if turn.agent or (known.user_message, known.timestamp) != (
                told.user_message,
                told.timestamp,
            ):
                raise OtherSession(session.name, "the file does not begin as it does")
        yield turn


def _restored(put_away: bytes, path: Path) -> tuple[Tail | None, Current | None]:
    if not put_away:
        return None, None
    try:
        version, kept, current = pickle.loads(put_away)
        if version != VERSION:
            return None, None
        return Tail.restored(kept, path), Current.restored(current)
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


NOTHING_BESIDE = Transcript(format="kedge")


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

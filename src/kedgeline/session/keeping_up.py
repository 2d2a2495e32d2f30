"""A session and all that is known of it, brought up to date: only what is new is folded."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from kedgeline.errors import OtherSession
from kedgeline.facts import Extraction, has_plan, session_facts, setting_of
from kedgeline.formats import Log
from kedgeline.model import AnyFact, Note, Summary, Transcript, Turn, Value
from kedgeline.pipeline.read import stream
from kedgeline.pipeline.view import earlier_summary
from kedgeline.session.archive import readable
from kedgeline.session.deciding import pinned_texts
from kedgeline.session.following import CaughtUp, NotGrowing, SeenFile, Tail
from kedgeline.session.journal import Forked, Journal
from kedgeline.session.session import Session
from kedgeline.shell import KnownOutcomes as Outcomes
from kedgeline.store import Kind
from kedgeline.summary import Fold

VERSION = 5
"""Of what is left between two looks; another one is read anew."""
HELD = 50
"""Turns that are not folded yet, from the first that started a sub-agent on: it may be at work
still, and what it does is told with the turn that started it."""
WARM = 40
"""Folded turns that are looked at again: extractors remember less than that of most things."""
OUTCOMES_KEPT = 200
"""Turns whose outcomes stay known: a later one is understood by those before it."""


class FoldedSession(Value, frozen=True):
    """What is folded of a session, and what tells that it still stands."""

    summary: Summary = Summary()
    turns: int = 0
    """The first so many are folded."""
    entry: int = 0
    """Number of the entry of the last of these."""
    plan: int = -1
    """The first turn that shows a plan."""
    started: Mapping[str, tuple[str, int]] = MappingProxyType({})
    """Calls in these turns that start sub-agents: the one that was known for each, and the number
    of its last entry; empty where none was."""


class _Kept(Value, frozen=True):
    """What is left between two looks. No secret is in it."""

    version: int
    seen: SeenFile
    known: FoldedSession


class UpToDate(NamedTuple):
    summary: Summary
    """Of all that was said, the words that wait for an answer included."""
    beside: Transcript
    """What is known beside the turns."""
    put_away: bytes
    """To be given back the next time; empty where the file is read as a whole each time."""
    turns: int
    new: int
    """Turns that the session had not, or not as they are."""


def brought_up_to_date(session: Session, path: Path, put_away: bytes = b"") -> UpToDate:
    """Follow a session's own file from where it was followed to before. Turns that a fork has from
    its parent stand before those of its file."""
    behind, known = _Behind.of(session), FoldedSession()
    try:
        kept = msgspec.msgpack.decode(put_away, type=_Kept)
        tail = _tail(path, behind, kept.seen if kept.version == VERSION else None)
        done, known = session.catch_up(tail), kept.known
    except (NotGrowing, msgspec.MsgspecError):  # it is read anew
        done = _caught_up_anew(session, path, behind)
    folding = Folding(session, done.beside)
    if not folding.stands(known):
        known = FoldedSession()
    waits = sum(not turn.agent for turn in done.open_turns)
    known = folding.fold(known, done.appended.turns - waits)
    return UpToDate(
        folding.summary(done.beside.pending),
        done.beside,
        _put_away(done.seen, known),
        done.appended.turns,
        done.appended.new,
    )


def _caught_up_anew(session: Session, path: Path, behind: _Behind | None) -> CaughtUp:
    try:
        return session.catch_up(_tail(path, behind))
    except NotGrowing:
        if behind is not None:
            raise
    done = session.follow(path, force=True)
    try:
        tail = Tail(path)
        for _ in tail.new_turns():
            pass
        rest = tuple(tail.open_turns())
        return CaughtUp(done, tail.seen(), rest, session.about())
    except NotGrowing:
        return CaughtUp(done, None, (), session.about())


def _put_away(seen: SeenFile | None, known: FoldedSession) -> bytes:
    try:
        return msgspec.msgpack.encode(_Kept(VERSION, seen, known)) if seen else b""
    except UnicodeEncodeError:  # half a surrogate pair was said
        return b""


class Folding:
    """The facts of a session, folded turn by turn as they stand in the store. What a turn means may
    show in those before it, so some that are folded already are looked at again."""

    def __init__(self, session: Session, about: Transcript) -> None:
        self._journal = Journal(session.store, session.name)
        self._about, self._clean = about, session.keeping.cleaned
        self._started: dict[str, Transcript] = {}
        """Sub-agents by the call that started them, of the turns that were seen."""
        self._threads = {
            one.delegated_by: one.agent
            for thread in self._journal.threads()
            if (one := self._about_of(thread)).delegated_by
        }
        setting = setting_of(about, Outcomes(OUTCOMES_KEPT))._replace(agents=self._started)
        self._extraction = Extraction(setting)
        self._fold = Fold(earlier_summary(about))
        self._next, self._plan = 0, -1
        self.until: datetime | None = None
        """Turns that sub-agents took later are left out: they may be at work meanwhile."""

    def _about_of(self, thread: str) -> Transcript:
        return replace(self._journal.about(thread=thread), agent=thread)

    def stands(self, known: FoldedSession) -> bool:
        """Whether what is folded is what was said, and no more is known of its sub-agents."""
        number = self._journal.number(known.turns - 1) if known.turns else 0
        return number == known.entry and all(
            self._last_of(call) == before for call, before in known.started.items()
        )

    def _last_of(self, call: str) -> tuple[str, int]:
        thread = self._threads.get(call, "")
        last = self._journal.last_place(thread=thread) if thread else None
        return thread, last.number if last else 0

    def fold(self, known: FoldedSession, complete: int) -> FoldedSession:
        """Fold all turns behind what is known; what is known then, of those that are complete."""
        if known.turns:
            self._fold = Fold(known.summary)
        self._next, self._plan = known.turns, known.plan
        for turn in self.turns(known.turns - WARM, known.turns - 1):
            self._see(turn)
        started = dict(known.started)
        rest = self.turns(known.turns)
        for turn in rest:
            held = turn.index >= complete or (_delegates(turn) and complete - turn.index <= HELD)
            if held:
                rest = _again(turn, rest)
                break
            self.add(turn)
            started |= {call: self._last_of(call) for call in self._calls_below(turn)}
        number = self._journal.number(self._next - 1) if self._next else 0
        folded = FoldedSession(self._fold.summary(), self._next, number, self._plan, started)
        for turn in rest:
            self.add(turn)
        return folded

    def add(self, turn: Turn) -> None:
        for fact in self._see(turn):
            self._fold.add(fact)
        if self._plan < 0 and has_plan(turn):
            self._plan = turn.index
        self._fold.covers(turn.index)
        self._next = turn.index + 1

    def _see(self, turn: Turn) -> list[AnyFact]:
        all(self._calls_below(turn))  # so that the sub-agents are there
        return [] if turn.is_blank else list(self._extraction.add(turn))

    def turns(self, first: int, last: int | None = None) -> Iterator[Turn]:
        if last is None or last >= 0:
            yield from map(self._clean, self._journal.turns(max(0, first), last))

    def _calls_below(self, turn: Turn) -> Iterator[str]:
        """Calls that start sub-agents, in a turn and in those of the sub-agents themselves."""
        for call in _delegating(turn):
            yield call
            thread = self._threads.get(call)
            if thread is None:
                continue
            if call not in self._started:
                turns = tuple(
                    map(self._clean, filter(self._in_time, self._journal.turns(thread=thread)))
                )
                self._started[call] = replace(self._clean(self._about_of(thread)), turns=turns)
            for own in self._started[call].turns:
                yield from self._calls_below(own)

    def _in_time(self, turn: Turn) -> bool:
        return self.until is None or turn.timestamp is None or turn.timestamp <= self.until

    def summary(self, pending: Turn | None) -> Summary:
        """With the words that wait."""
        last = Turn(index=self._next - 1)
        if pending is not None:
            self.add(self._clean(replace(pending, index=max(self._next, pending.index))))
        shown: tuple[Turn, ...] = (last,)
        if self._plan >= 0:
            shown = (Turn(index=self._plan, notes=(Note(kind="plan", text=""),)), last)
        for fact in session_facts(self._clean(self._about).session, shown):
            self._fold.add(fact)
        made = self._fold.summary()
        # What the client noted comes behind all turns here; each was true from its turn on.
        in_order = {
            name: tuple(sorted(noted, key=lambda one: one.turn))
            for name, noted in made.session.items()
        }
        return replace(made, session=in_order)


def _again(first: Turn, rest: Iterator[Turn]) -> Iterator[Turn]:
    yield first
    yield from rest


def _delegates(turn: Turn) -> bool:
    return next(_delegating(turn), None) is not None


def _delegating(turn: Turn) -> Iterator[str]:
    return (call.id for call in turn.tool_calls if call.verb == "delegate")


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
    folding = Folding(session, session.about())
    next_turn = turn_at(session, turn)
    folding.until = next_turn.timestamp if next_turn else None
    for one in folding.turns(0, turn - 1):
        folding.add(one)
    return folding.summary(waiting)


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
                raise OtherSession(session.name, "the file begins differently")
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
        turns = bisect_right(range(journal.count()), forked.number, key=journal.number)
        return Origin(forked.session, turns) if turns else None
    return None


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
    """A file whose turns come behind others."""

    behind: _Behind

    def new_turns(self) -> Iterator[Turn]:
        return map(self.behind.moved, super().new_turns())

    def open_turns(self) -> list[Turn]:
        found = [self.behind.moved(turn) for turn in super().open_turns()]
        self.behind.move(self.log)
        return found


def _tail(path: Path, behind: _Behind | None, seen: SeenFile | None = None) -> Tail:
    if behind is None:
        return Tail(path, seen)
    tail = _Moved(path, seen)
    tail.behind = behind
    return tail

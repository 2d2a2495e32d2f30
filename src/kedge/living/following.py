"""A session as its own file has it: only what is new or different is written."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import NamedTuple

from msgspec.structs import replace

from kedge.archive import content_id
from kedge.living.adding import PLACED, Keeping, add_about
from kedge.living.appending import Appended, Appending, Hold
from kedge.living.growing import grown
from kedge.living.recognising import refuse_others, standing
from kedge.model import Transcript, Turn
from kedge.opening import Readable
from kedge.reading import Reading, about, stream
from kedge.store import Place
from kedge.tailing import NotGrowing, Tail
from kedge.tokens import tokens_of

BATCH_TURNS = 200
BATCH_TOKENS = 200_000
"""What is written at once at the most: memory is bounded, and others who write wait for moments."""
PAGE = 1_000
"""Places that are looked up at once."""


def follow(hold: Hold, transcript: Transcript, keeping: Keeping) -> Appended:
    """Make the session what the transcript is; what it had beyond is taken back."""
    following = _Following(hold, keeping)
    transcript = replace(transcript, agent="")  # a sub-agent's own file is a session too
    for thread in (transcript, *transcript.agents):
        following.take(replace(turn, agent=thread.agent) for turn in thread.turns)
    for thread in (transcript, *transcript.agents):
        following.end(thread, len(thread.turns))
    following.keep({agent.agent for agent in transcript.agents})
    return following.done(len(transcript.turns))


def follow_source(
    hold: Hold,
    source: Readable,
    keeping: Keeping,
    *,
    format: str | None = None,
    session: int | None = None,
    watch: Callable[[Reading], Iterable[Turn]] = iter,
    expected: str = "",
) -> Appended:
    """The same for a file of any size, or for bytes. It is read twice, as a rewind shows only
    behind what it takes back; `watch` sees the turns pass the second time. With the name of the
    `expected` session, what would take it back without a rewind is refused."""
    chosen = standing(stream(source, format=format), session)
    if expected:
        with hold() as held:
            refuse_others(held.journal, expected, chosen, keeping)
    following = _Following(hold, keeping)
    reading = stream(source, format=format)
    passing = enumerate(watch(reading))
    following.take(chosen.home(turn) for number, turn in passing if number in chosen.numbers)
    beside = about(reading, chosen.session, lone=chosen.lone)
    for thread in (beside, *beside.agents):
        following.end(thread, following.length(thread.agent))
    following.keep({agent.agent for agent in beside.agents})
    return following.done(following.length(""))


class CaughtUp(NamedTuple):
    appended: Appended
    put_away: bytes
    """What is to be given back the next time."""
    open_turns: tuple[Turn, ...]
    """The turns at the end that are not complete yet."""
    beside: Transcript
    """What is known beside the turns."""


def follow_tail(
    hold: Hold, tail: Tail, keeping: Keeping, seen: Callable[[Turn], None] = lambda turn: None
) -> CaughtUp:
    """The same for a file that grows, of which only what was added is read. Every complete turn is
    `seen`, as it is in the file. Raises `NotGrowing` where that is not enough: the session has not
    what was read before, or the file is a sub-agent's own."""
    following = _Following(hold, keeping)
    following.take(_passing(hold, tail.new_turns(), seen))
    put_away = tail.put_away()
    rest = tuple(tail.open_turns())
    following.take(_passing(hold, rest))
    lengths = {agent: length for (_, agent), length in tail.log.lengths.items()}
    if "" not in lengths:
        raise NotGrowing("nobody but sub-agents speaks in the file")
    beside = about(tail)
    for thread in (beside, *beside.agents):
        following.end(thread, lengths.get(thread.agent, 0))
    following.keep({agent.agent for agent in beside.agents})
    return CaughtUp(following.done(lengths[""]), put_away, rest, beside)


def _passing(
    hold: Hold, turns: Iterable[Turn], seen: Callable[[Turn], None] = lambda turn: None
) -> Iterator[Turn]:
    """Turns that follow what the session has."""
    known: int | None = None
    for turn in turns:
        if not turn.agent and known is None:
            with hold() as held:
                known = held.journal.count()
            if turn.index > known:
                raise NotGrowing("the session has not what was read before")
        seen(turn)
        yield turn


class _Following:
    """What is compared and written, thread by thread, in batches."""

    def __init__(self, hold: Hold, keeping: Keeping) -> None:
        self._hold, self._keeping = hold, keeping
        self._new = self._known = 0
        self._lengths: defaultdict[str, int] = defaultdict(int)
        self._changed: set[str] = set()
        """Threads in which something differed: from there on all is new."""
        self._gone: defaultdict[str, Counter[str]] = defaultdict(Counter)
        """Ids of turns that stood behind the first difference and did not come again."""
        self._cut = self._undone = 0

    def take(self, turns: Iterable[Turn]) -> None:
        for batch in _batches(map(self._counted, turns)):
            with self._hold() as session:
                known = _Known(session)
                for turn in batch:
                    self._lengths[turn.agent] = turn.index + 1
                    self._compared(session, known, turn)

    def end(self, thread: Transcript, length: int) -> None:
        """Take back what stands behind the last turn, and note what waits and what is known."""
        agent = thread.agent
        with self._hold() as session:
            journal = session.journal
            pending = replace(thread.pending, agent=agent) if thread.pending else None
            waits = journal.pending(thread=agent)
            same = _id(waits) == _id(pending and self._keeping.ready(pending))
            if journal.count(thread=agent) > length or (waits is not None and not same):
                self._end(session, length, agent)
            if pending is not None and (not same or journal.pending(thread=agent) is None):
                session.words(pending)
            about = self._keeping.kept(replace(thread, turns=(), pending=None, agents=()))
            if journal.about(thread=agent) != about:
                add_about(session.writing, about, self._keeping)

    def keep(self, agents: set[str]) -> None:
        """Take back the sub-agents that are no longer among these."""
        with self._hold() as session:
            for gone in [one for one in session.journal.threads() if one not in agents]:
                self._end(session, 0, gone)

    def length(self, agent: str) -> int:
        return self._lengths[agent]

    def done(self, turns: int) -> Appended:
        taken_back = self._cut + sum(gone.total() for gone in self._gone.values())
        return Appended(self._new, self._known, turns, taken_back, self._undone)

    def _end(self, session: Appending, length: int, agent: str) -> None:
        self._cut += max(0, session.journal.count(thread=agent) - length)
        self._take_back(session, length, agent)
        session.cut(length, thread=agent)

    def _take_back(self, session: Appending, index: int, agent: str) -> None:
        """Leave out the compactions that folded this turn; each takes one entry."""
        before = session.journal.head().number
        session.take_back(index, thread=agent)
        self._undone += session.journal.head().number - before

    def _counted(self, turn: Turn) -> Turn:
        if turn.tokens:
            return turn
        return replace(turn, tokens=tokens_of(turn, self._keeping.counter).total)

    def _compared(self, session: Appending, known: _Known, turn: Turn) -> None:
        ready = self._keeping.ready(turn)
        place = None if turn.agent in self._changed else known.place(turn)
        if place is not None and place.id == _id(ready):
            self._known += 1
            return
        last = place is not None and known.is_last(place, turn.agent)
        if place is not None:
            self._note_gone(session, place, ready)
            self._take_back(session, place.index, turn.agent)
        entry = session.put(ready, instead_of=place.number if place and last else None)
        gone = self._gone[turn.agent]
        if gone[entry.id]:
            gone[entry.id] -= 1  # it came again
        self._changed.add(turn.agent)
        self._new += 1

    def _note_gone(self, session: Appending, place: Place, ready: Turn) -> None:
        """Remember what a turn that differs takes back, itself included unless it only grew."""
        behind = session.journal.places(place.index, thread=ready.agent)
        gone = self._gone[ready.agent] = Counter(one.id for one in behind)
        if grown(session.journal.turn(place), ready):
            gone[place.id] -= 1


class _Known:
    """What stands where, a page at a time."""

    def __init__(self, session: Appending) -> None:
        self._journal = session.journal
        self._pages: dict[tuple[str, int], dict[int, Place]] = {}

    def place(self, turn: Turn) -> Place | None:
        key = (turn.agent, turn.index // PAGE)
        if key not in self._pages:
            first = key[1] * PAGE
            found = self._journal.places(first, first + PAGE - 1, thread=turn.agent)
            self._pages[key] = {place.index: place for place in found}
        return self._pages[key].get(turn.index)

    def is_last(self, place: Place, agent: str) -> bool:
        return self._journal.count(thread=agent) == place.index + 1


def _id(turn: Turn | None) -> str:
    return content_id(turn, beside=PLACED) if turn else ""


def _batches(turns: Iterable[Turn]) -> Iterator[list[Turn]]:
    batch: list[Turn] = []
    tokens = 0
    for turn in turns:
        batch.append(turn)
        tokens += turn.tokens
        if len(batch) >= BATCH_TURNS or tokens >= BATCH_TOKENS:
            yield batch
            batch, tokens = [], 0
    if batch:
        yield batch

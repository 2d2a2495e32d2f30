"""The list of messages that a provider gets of a session."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from msgspec.structs import replace

from kedgeline.errors import NothingToUndo, OtherSession, SeveralSessions, UserError
from kedgeline.formats import Log, Written, provider_names
from kedgeline.formats.objects import is_object, plain_messages
from kedgeline.formats.providers.messages import conversations
from kedgeline.model import Compaction, SessionFacts, Transcript, Turn
from kedgeline.pipeline.read import Readable, Reading, about, open_source, stream, write
from kedgeline.pipeline.view import PROVIDERS, problems
from kedgeline.session.alignment import behind
from kedgeline.session.appending import Appended, Appending, Hold
from kedgeline.session.archive import content_id
from kedgeline.session.deciding import grown
from kedgeline.session.journal import PLACED, Journal, Keeping, add_about, add_mark
from kedgeline.session.tailing import NotGrowing, Tail
from kedgeline.store import Place
from kedgeline.tokens import tokens_of

JOINED = " twice"
"""Ends what is found where messages of one role follow each other: a provider joins them."""
UNLIKE = "a message is not of the provider's shape: the list is as it came"


def sendable(transcript: Transcript, provider: str) -> Written:
    """The transcript in a provider's shape. Messages stay as they came and in the order they came
    in, unless the provider refuses that: words may come while a call runs, and a result when the
    next turn has begun. What it would still refuse is said in `left_out`."""
    written = write(transcript, to=provider)
    if not (found := _refused(provider, written)):
        return written
    repaired = write(_cut(transcript), to=provider)
    left = _refused(provider, repaired)
    if len(left) >= len(found):
        repaired, left = written, found
    return repaired._replace(left_out=(*repaired.left_out, *left))


def _refused(provider: str, written: Written) -> list[str]:
    if provider not in PROVIDERS:
        return []
    try:
        found = problems(provider, written.messages)
    except (KeyError, TypeError, AttributeError, ValueError):
        return [UNLIKE]
    return [f"{provider} refuses it: {one}" for one in found if not one.endswith(JOINED)]


def _cut(transcript: Transcript) -> Transcript:
    """The transcript as one whose list lacks a message: such a list is made legal, and one that is
    there from its first message on is written as it was."""

    def moved(turn: Turn) -> Turn:
        return replace(turn, messages=behind(turn.messages, 1))

    pending = transcript.pending
    return replace(
        transcript,
        turns=tuple(map(moved, transcript.turns)),
        pending=moved(pending) if pending else None,
    )


# What a file holds that is added: messages of a model API, or an agent's whole session.


class Listed(NamedTuple):
    format: str
    messages: list[dict[str, Any]] | None = None
    """The messages, or the one request that holds them; None for an agent's session."""


def listed(source: Readable, format: str | None = None, *, session: int | None = None) -> Listed:
    """What is in a source that can be opened twice."""
    name = stream(source, format=format).format
    if name not in (*provider_names(), "plain"):
        return Listed(name)
    given = open_source(source)
    found = list(conversations(given.lines, Log()))
    if not found:
        return Listed(name, [])
    if (session is None and len(found) > 1) or (session or 0) >= len(found):
        raise SeveralSessions(given.name, count=len(found), chosen=session)
    chosen = found[session or 0]
    messages = [message for _, message in chosen.messages]
    return Listed(name, [{**chosen.body, "messages": messages}] if chosen.body else messages)


# The newest compaction taken back: an entry that says so.


def undo_newest(hold: Hold, session: str, keeping: Keeping) -> Compaction:
    """Leave the newest compaction out of the view from now on; it is given back."""
    with hold() as held:
        standing = held.journal.recorded()
        if standing is None:
            raise NothingToUndo(session)
        add_mark(held.writing, "undo", keeping, index=standing.number)
    return standing.record.compaction


# Which turns of a file stand in the end, and whether it is the file a session was made from.


class Chosen(NamedTuple):
    """The turns of a file that stand in the end, and what tells its main conversation."""

    session: int
    numbers: frozenset[int]
    """By the order in which they pass."""
    lone: str | None
    """The sub-agent whose own file it is, where nobody else speaks in it."""
    format: str
    facts: SessionFacts
    length: int
    """Turns that stand."""
    longest: int
    """The most that ever stood: a rewind in the file takes some back."""
    first: Turn | None
    last: Turn | None
    """None where a rewind ends the file."""
    pending: Turn | None

    def home(self, turn: Turn) -> Turn:
        return replace(turn, agent="") if turn.agent == self.lone else turn


class _Thread:
    """One conversation as it passes."""

    def __init__(self) -> None:
        self.numbers: list[int] = []
        self.longest = 0
        self.first: Turn | None = None
        self.last: Turn | None = None

    def add(self, number: int, turn: Turn) -> None:
        self.end(turn.index)
        self.numbers.append(number)
        self.longest = max(self.longest, len(self.numbers))
        self.first = turn if not turn.index else self.first
        self.last = turn

    def end(self, length: int) -> None:
        if length < len(self.numbers):
            self.last = None
        del self.numbers[length:]


def standing(reading: Reading, session: int | None) -> Chosen:
    """Read to the end what a file holds, and choose among its sessions."""
    threads: dict[tuple[int, str], _Thread] = {}
    for number, turn in enumerate(reading):
        threads.setdefault((turn.session, turn.agent), _Thread()).add(number, turn)
    log = reading.log
    for key, length in log.lengths.items():
        threads.setdefault(key, _Thread()).end(length)
    found = sorted({key[0] for key in threads}) or [0]
    if (session is None and len(found) > 1) or (session is not None and session >= len(found)):
        raise SeveralSessions(reading.name, count=len(found), chosen=session)
    chosen = found[session or 0]
    spoken = {agent: thread for (key, agent), thread in threads.items() if key == chosen}
    agents = [agent for agent in spoken if agent]
    silent = not spoken.get("", _Thread()).numbers and (chosen, "") not in log.pending
    lone = agents[0] if silent and len(agents) == 1 else None
    main = spoken.get(lone or "", _Thread())
    return Chosen(
        session=chosen,
        numbers=frozenset(number for thread in spoken.values() for number in thread.numbers),
        lone=lone,
        format=reading.format,
        facts=log.facts(chosen),
        length=len(main.numbers),
        longest=main.longest,
        first=main.first,
        last=main.last,
        pending=log.pending.get((chosen, lone or "")),
    )


def refuse_others(journal: Journal, name: str, file: Chosen, keeping: Keeping) -> None:
    """Refuse a file that would take the session back although nobody rewound it."""
    count = journal.count()
    if not count:
        return
    about = journal.about()
    known, ids = about.session.latest("id"), _ids(file.facts)
    if known and ids and known not in ids:
        told = file.facts.latest("id")
        raise OtherSession(name, f"it is the session {known!r}, and the file is of {told!r}")
    if file.format != about.format and not _has(journal, file, file.first, keeping):
        why = f"nothing of the file ({file.format}) is in it, and it was read from {about.format}"
        raise OtherSession(name, why)
    if file.longest < count and file.length < count and _is_old(journal, file, keeping):
        why = f"the file ends after {file.length:,} of its {count:,} turns, as an old copy does"
        raise OtherSession(name, why)


def _is_old(journal: Journal, file: Chosen, keeping: Keeping) -> bool:
    """Whether a file that is shorter than the session says nothing that the session does not."""
    place = journal.place(file.length)
    words = file.pending.user_message if file.pending else ""
    if words and (place is None or words not in journal.turn(place).user_message):
        return False
    return file.last is None or _has(journal, file, file.last, keeping)


def _has(journal: Journal, file: Chosen, turn: Turn | None, keeping: Keeping) -> bool:
    """Whether a turn of the file stands in the session, or an earlier or later state of it."""
    place = journal.place(turn.index) if turn else None
    if turn is None or place is None:
        return False
    ready = keeping.kept(file.home(turn))
    if content_id(ready, beside=PLACED) == place.id:
        return True
    kept = journal.turn(place)
    return grown(ready, kept) or grown(kept, ready)


def _ids(facts: SessionFacts) -> set[str]:
    return {change.value for change in facts.changes if change.name == "id"}


# A session as its own file has it: only what is new or different is written.

BATCH_TURNS = 200
BATCH_TOKENS = 200_000
"""What is written at once at the most: memory is bounded, and others who write wait for moments."""
PAGE = 1_000
"""Places that are looked up at once."""


def follow(hold: Hold, transcript: Transcript, keeping: Keeping) -> Appended:
    """Make the session what the transcript is; what it had beyond is taken back."""
    following = _Following(hold, keeping.fitted(transcript.session.latest("model")))
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
    chosen = chosen._replace(first=None, last=None, pending=None)  # they may be large
    following = _Following(hold, keeping.fitted(chosen.facts.latest("model")))
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


# What a session is given to append, told apart: messages, turns, or a transcript.

Appendable = object
"""A message or several, in a provider's shape or as objects of its SDK; a turn or several; or a
whole transcript."""


def take(
    hold: Hold, given: Appendable, keeping: Keeping, *, format: str | None, key: str
) -> Appended:
    """Put what is given behind the end, or follow it where it is a transcript."""
    if isinstance(given, Transcript):
        if key:
            raise UserError("a transcript takes no key: it may be appended again at any time")
        return follow(hold, given, keeping)
    several = _listed(given)
    turns = [one for one in several if isinstance(one, Turn)]
    if turns and len(turns) < len(several):
        raise UserError("turns and messages are in one list; append them one by one")
    messages = [] if turns else plain_messages(several)
    with hold() as held:
        if turns:
            return held.turns(turns, key=key)
        return held.messages(messages, format=format, key=key)


def _listed(given: object) -> list[object]:
    if isinstance(given, (Turn, Mapping)) or is_object(given):
        return [given]
    if isinstance(given, Iterable) and not isinstance(given, (str, bytes)):
        return list(given)
    raise UserError(
        f"{type(given).__name__} cannot be appended; give a message, a turn, or a list of them"
    )

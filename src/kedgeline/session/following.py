"""A session made what its own file is: as a whole, or as the file grows."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping
from hashlib import blake2b
from os.path import relpath
from pathlib import Path
from typing import BinaryIO, NamedTuple

from msgspec.structs import replace

from kedgeline.errors import OtherSession, SeveralSessions, UserError
from kedgeline.formats import GrowingSession, Grows, HasCompanions, Log, load_format
from kedgeline.formats.editing import is_object, plain_messages
from kedgeline.formats.registry import recognised
from kedgeline.model import SessionFacts, Transcript, Turn, Value
from kedgeline.pipeline.read import (
    Readable,
    Reading,
    about,
    file_lines,
    files_beside,
    lines_in,
    plain_file,
    stream,
)
from kedgeline.session.appending import Appended, Appending, Hold
from kedgeline.session.archive import content_id
from kedgeline.session.deciding import grown
from kedgeline.session.journal import PLACED, Journal, Keeping, add_about
from kedgeline.store import Place
from kedgeline.tokens import tokens_of

# Which turns of a file stand in the end, and whether it is the file a session was made from.


class _Chosen(NamedTuple):
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


def _standing(reading: Reading, session: int | None) -> _Chosen:
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
    return _Chosen(
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


def refuse_others(journal: Journal, name: str, file: _Chosen, keeping: Keeping) -> None:
    """Refuse a file that would take the session back although nobody rewound it."""
    count = journal.count()
    if not count:
        return
    about = journal.about()
    known, ids = about.session.latest("id"), _ids(file.facts)
    if known and ids and known not in ids:
        told = file.facts.latest("id")
        raise OtherSession(name, f"it is the session {known!r}, and the file belongs to {told!r}")
    if file.format != about.format and not _has(journal, file, file.first, keeping):
        why = f"nothing of the file ({file.format}) is in it, and it was read from {about.format}"
        raise OtherSession(name, why)
    if file.longest < count and file.length < count and _is_old(journal, file, keeping):
        why = f"the file ends after {file.length:,} of its {count:,} turns, as an old copy does"
        raise OtherSession(name, why)


def _is_old(journal: Journal, file: _Chosen, keeping: Keeping) -> bool:
    """Whether a file that is shorter than the session says nothing that the session does not."""
    place = journal.place(file.length)
    words = file.pending.user_message if file.pending else ""
    if words and (place is None or words not in journal.turn(place).user_message):
        return False
    return file.last is None or _has(journal, file, file.last, keeping)


def _has(journal: Journal, file: _Chosen, turn: Turn | None, keeping: Keeping) -> bool:
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
SEAL_BYTES = 4_096
"""Before the place up to which a file was read."""


def follow(hold: Hold, transcript: Transcript, keeping: Keeping) -> Appended:
    """Make the session what the transcript is; what it had beyond is taken back."""
    following = _Following(hold, keeping.fitted(transcript.session.latest("model")))
    transcript = replace(transcript, agent="")  # a sub-agent's own file is a session too
    for thread in (transcript, *transcript.agents):
        following.take((replace(turn, agent=thread.agent), True) for turn in thread.turns)
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
    behind what it takes back; `watch` sees the turns pass the second time. Turns that came and were
    rewound since the last look are kept too: they were paid for. With the name of the `expected`
    session, what would take it back without a rewind is refused."""
    chosen = _standing(stream(source, format=format), session)
    if expected:
        with hold() as held:
            refuse_others(held.journal, expected, chosen, keeping)
    chosen = chosen._replace(first=None, last=None, pending=None)  # they may be large
    following = _Following(hold, keeping.fitted(chosen.facts.latest("model")))
    reading = stream(source, format=format)
    passing = enumerate(watch(reading))
    following.take(
        (chosen.home(turn), number in chosen.numbers)
        for number, turn in passing
        if turn.session == chosen.session
    )
    beside = about(reading, chosen.session, lone=chosen.lone)
    for thread in (beside, *beside.agents):
        following.end(thread, following.length(thread.agent))
    following.keep({agent.agent for agent in beside.agents})
    return following.done(following.length(""))


class _Part(Value, frozen=True):
    """One file, as far as it was read."""

    offset: int
    seal: str
    """Hash of what stands right before: if that is other than before, it is another file."""
    turns: int
    """How many were complete by then."""


class SeenFile(Value, frozen=True):
    """What a growing file leaves between two looks."""

    path: str
    format: str
    parts: dict[str, _Part]


class NotGrowing(Exception):
    """The files are not those that were read before with something added, or their format is not
    one that is only added to."""


class Tail:
    """A session's files as they grow. Each look reads them from the beginning (100 MB take a
    second), and gives only the turns that were not complete before."""

    def __init__(
        self, path: Path, seen: SeenFile | None = None, *, format: str | None = None
    ) -> None:
        self.path, self.log = path, Log()
        if seen is not None and seen.path != str(path):
            raise NotGrowing("what was seen is of another file")
        self.format = format or (seen.format if seen else _recognised(path))
        self._before = dict(seen.parts) if seen else {}
        self._parts: dict[str, _Part] = {}
        self._open: list[tuple[GrowingSession, Log]] = []
        for name, part in self._before.items():
            beside = path.parent / name
            if beside != path and not beside.exists():
                raise NotGrowing(f"{name} is gone")
            with plain_file(beside) as file:
                if _seal(file, part.offset) != part.seal:
                    raise NotGrowing(f"{name} is not what it was")

    def new_turns(self) -> Iterator[Turn]:
        """The turns that what was added completes; a turn whose index does not follow takes back
        what was read from there on. A last line that is not whole yet waits."""
        known = load_format(self.format)
        if not isinstance(known, Grows):
            raise NotGrowing(f"files of {self.format} are written anew each time")
        yield from self._complete(known, self.path)
        if isinstance(known, HasCompanions):
            patterns, stem = known.beside, self.path.stem
            for path in files_beside(self.path, lambda: patterns(stem, self.log)):
                yield from self._complete(known, path)

    def _complete(self, known: Grows, path: Path) -> Iterator[Turn]:
        name, count = relpath(path, self.path.parent), 0
        log = self.log if path == self.path else self.log.beside(path.name)
        reader = known.growing(log)
        self._open.append((reader, log))
        before = self._before[name].turns if name in self._before else 0
        with plain_file(path) as file:
            lines = _Whole(file, str(path))
            for count, turn in enumerate(reader.take(lines), 1):
                if count > before:
                    yield from _of([turn], log)
            self._parts[name] = _Part(lines.taken, _seal(file, lines.taken), count)

    def open_turns(self) -> list[Turn]:
        """The turns that are not complete yet."""
        found: list[Turn] = []
        for reader, log in self._open:
            found += _of(reader.finish(), log)
            self.log.take_in(log)
        return found

    def seen(self) -> SeenFile:
        return SeenFile(str(self.path), self.format, self._parts)


class _Whole:
    """The lines of a file that are whole: of what is just being written the end is missing."""

    def __init__(self, file: BinaryIO, name: str) -> None:
        self._file, self._name, self.taken = file, name, 0

    def __iter__(self) -> Iterator[bytes]:
        for line in lines_in(self._file, self._name):
            if not line.endswith(b"\n"):
                return
            self.taken += len(line)
            yield line


def _of(turns: Iterable[Turn], log: Log) -> Iterator[Turn]:
    """The turns of a file; in one beside the session's own, those of sub-agents."""
    for turn in turns:
        if not log.file:
            yield turn
        elif turn.agent:
            yield replace(turn, source=replace(turn.source, file=log.file))


def _recognised(path: Path) -> str:
    found, head, _ = recognised(file_lines(path))
    if not isinstance(found.format, Grows) or not found.format.grows(head):
        raise NotGrowing(f"{path.name} is not a file that is only added to")
    return found.format.name


def _seal(file: BinaryIO, offset: int) -> str:
    start = max(0, offset - SEAL_BYTES)
    file.seek(start)
    before = file.read(offset - start)
    return blake2b(before, digest_size=16).hexdigest() if len(before) == offset - start else ""


class CaughtUp(NamedTuple):
    appended: Appended
    seen: SeenFile | None
    """To be given back the next time; None for a file that is read as a whole each time."""
    open_turns: tuple[Turn, ...]
    """The turns at the end that are not complete yet."""
    beside: Transcript
    """What is known beside the turns."""


def follow_tail(hold: Hold, tail: Tail, keeping: Keeping) -> CaughtUp:
    """The same for a file that grows. Raises `NotGrowing` where that is not enough: the session has
    not what was read before, or the file is a sub-agent's own."""
    following = _Following(hold, keeping)
    following.take((turn, True) for turn in _passing(hold, tail.new_turns()))
    rest = tuple(tail.open_turns())
    following.take((turn, True) for turn in _passing(hold, rest))
    lengths = {agent: length for (_, agent), length in tail.log.lengths.items()}
    if "" not in lengths:
        raise NotGrowing("nobody but sub-agents speaks in the file")
    beside = about(tail)
    for thread in (beside, *beside.agents):
        following.end(thread, lengths.get(thread.agent, 0))
    following.keep({agent.agent for agent in beside.agents})
    return CaughtUp(following.done(lengths[""]), tail.seen(), rest, beside)


def _passing(hold: Hold, turns: Iterable[Turn]) -> Iterator[Turn]:
    """Turns that follow what the session has."""
    known: int | None = None
    for turn in turns:
        if not turn.agent and known is None:
            with hold() as held:
                known = held.journal.count()
            if turn.index > known:
                raise NotGrowing("the session has not what was read before")
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
        self._written: set[str] | None = None
        """Ids of all turns that were ever written; None until a turn passes that was rewound."""

    def take(self, turns: Iterable[tuple[Turn, bool]]) -> None:
        """Turns, each with whether it stands in the end."""
        for batch in _batches((self._counted(turn), stands) for turn, stands in turns):
            with self._hold() as session:
                known = _Known(session)
                for turn, stands in batch:
                    if stands:
                        self._lengths[turn.agent] = turn.index + 1
                        self._compared(session, known, turn)
                    else:
                        self._note_rewound(session, turn)

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
        if self._written is not None:
            self._written.add(entry.id)
        gone = self._gone[turn.agent]
        if gone[entry.id]:
            gone[entry.id] -= 1  # it came again
        self._changed.add(turn.agent)
        self._new += 1

    def _note_rewound(self, session: Appending, turn: Turn) -> None:
        """Keep what was paid for, once."""
        if self._written is None:
            self._written = session.turn_ids()
        ready = self._keeping.ready(turn)
        if (id := _id(ready)) not in self._written:
            session.note_rewound(ready)
            self._written.add(id)

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


def _batches(turns: Iterable[tuple[Turn, bool]]) -> Iterator[list[tuple[Turn, bool]]]:
    batch: list[tuple[Turn, bool]] = []
    tokens = 0
    for turn, stands in turns:
        batch.append((turn, stands))
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

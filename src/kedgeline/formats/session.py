"""What the readers of agents' sessions share: one conversation in which users may go back, those of
its sub-agents, and what the client tells of the session."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, ClassVar, NamedTuple

from msgspec.structs import replace

from kedgeline.formats.log import Line, Log, remember
from kedgeline.formats.pieces import texts, utc_time
from kedgeline.formats.records import (
    Lines,
    Record,
    json_records,
    mislisted,
    misshapen,
    mistyped,
    string,
)
from kedgeline.formats.turns import Assembler, Piece
from kedgeline.model import EarlierCompaction, Note, NoteKind, ToolCall, ToolResult, Turn

WORDS_KEPT = 64
"""Places whose unanswered words are remembered; one rarely goes back to any but the last few."""
TURNS_KEPT = 256
"""Turns of a branch that can be taken up again. Users go back within one context window, which
rarely holds more; keeping all would let memory grow with the file."""
MOST_KEPT = 8 * TURNS_KEPT
"""Turns of all branches that are kept: nobody returns further."""
LAST = 1 << 62
"""No turn has this index."""


class _Words(NamedTuple):
    line: Line
    pieces: Sequence[Piece]
    time: Any


class _Branch:
    """The turns of a branch, from where it left another one."""

    def __init__(self, before: _Branch | None = None, start: int = 0) -> None:
        self.before, self.start = before, start
        self.turns: list[Turn] = []

    def standing(self, end: int) -> list[Turn]:
        """The turns that stand on it before an index."""
        found: list[Turn] = []
        branch: _Branch | None = self
        while branch is not None:
            found[:0] = [turn for turn in branch.turns if turn.index < end]
            end, branch = min(end, branch.start), branch.before
        return found


class _Place(NamedTuple):
    """Where a conversation stood."""

    branch: _Branch

    turn: int = 0
    """Index the next turn would have had."""
    exchange: int = -1
    compactions: int = 0
    mark: int = 0
    """What the format itself has to know of it."""


class SessionReader:
    """Takes the records of one session in their order."""

    def __init__(self, log: Log) -> None:
        self.log = log
        self.main = Assembler(log)
        self._agents: dict[str, Assembler] = {}
        self._numbered = 0
        self._boundary: EarlierCompaction | None = None
        self._spoke: Assembler | None = None
        """The sub-agent that spoke last: no other can have complete turns."""
        self._places: dict[str, _Place] = {}
        self._words: dict[str, tuple[_Words, ...]] = {}
        """Words that stood unanswered at a place; going back to it, they still do."""
        self._unanswered: tuple[_Words, ...] = ()
        self._asked_at = (0, -1)
        """Turn and exchange before the unanswered words."""
        self._again: list[Turn] = []
        """Turns to give out now: those a rewind found unfinished, and those of an abandoned branch
        that stand again."""
        self.branch = _Branch()
        self._beginning = self._newest = _Place(self.branch)
        self._branches = deque([self.branch])

    # What a format adds.

    def take(self, line: Line, record: Any) -> None:
        raise NotImplementedError

    def close(self) -> None:
        """No record follows: what is held back goes to the conversation."""

    # Turns as they are complete.

    def turns(self, records: Iterable[tuple[Line, Any]]) -> Iterator[Turn]:
        """All turns of a session."""
        yield from self.passing(records)
        yield from self.finish()

    def passing(self, records: Iterable[tuple[Line, Any]]) -> Iterator[Turn]:
        """The turns that are complete."""
        for line, record in records:
            self.take(line, record)
            if self.main.waits or self._again or (self._spoke and self._spoke.waits):
                yield from self._ready()

    def finish(self) -> Iterator[Turn]:
        """The others. Nothing can be taken afterwards."""
        self.close()
        yield from self._ready()
        for assembler in (self.main, *self._agents.values()):
            yield from assembler.finish()

    def _ready(self) -> Iterator[Turn]:
        again, self._again = self._again, []
        yield from again
        for turn in self.main.ready():
            own = self.branch.turns
            own.append(turn)
            if len(own) > 2 * TURNS_KEPT:
                del own[:-TURNS_KEPT]
            yield turn
        if self._spoke is not None:
            yield from self._spoke.ready()

    # What records say.

    def thread(self, agent: str) -> Assembler:
        """The conversation of a sub-agent that speaks now; without a name, the main one."""
        if not agent:
            return self.main
        if agent not in self._agents:
            self._agents[agent] = Assembler(self.log, agent=agent)
        self._spoke = self._agents[agent]
        return self._spoke

    def system(self, line: Line, prompt: Any) -> None:
        """What a system prompt says, if anything."""
        if said := texts(prompt):
            self.main.system(line, said)

    def user(
        self, line: Line, pieces: Sequence[Piece], *, time: Any = None, agent: str = ""
    ) -> None:
        """Words, notes and media from the user's side."""
        if not pieces:
            return
        if not agent:
            if not self._unanswered:
                self._asked_at = (self.main.next_turn, self.main.exchange)
            self._unanswered += (_Words(line, pieces, time),)
        self.thread(agent).user(line, pieces, time=utc_time(time))

    def note(
        self, line: Line, kind: NoteKind, text: Any, *, time: Any = None, agent: str = ""
    ) -> None:
        if isinstance(text, str) and text.strip():
            self.user(line, [Note(kind=kind, text=text)], time=time, agent=agent)

    def answer(
        self,
        line: Line,
        pieces: Sequence[Piece],
        results: Sequence[ToolResult] = (),
        *,
        model: Any = "",
        message_id: Any = "",
        time: Any = None,
        agent: str = "",
        **about: Any,
    ) -> None:
        """What the assistant said and called, and what is known already of what came of it."""
        if not agent:
            self._unanswered = ()
        about |= {"model": string(model), "message_id": string(message_id)}
        self.thread(agent).assistant(line, pieces, time=utc_time(time), **about)
        if results:
            self.thread(agent).results(line, results)

    def numbered(self, piece: Piece, prefix: str) -> Piece:
        """A call that was written without an id gets a number; everything else stays as it is."""
        if not isinstance(piece, ToolCall):
            return piece
        self._numbered += 1
        return piece if piece.id else replace(piece, id=f"{prefix}-{self._numbered}")

    def boundary(self, line: Line, *, by: str, **known: Any) -> None:
        """A compaction was made here; its summary comes later, or never."""
        self.settle()
        self._boundary = self.main.compaction(line, by=by, **known)

    def summarized(self, line: Line, *, by: str, **known: Any) -> EarlierCompaction:
        """The summary of the last compaction, whose boundary may stand before it."""
        made, self._boundary = self._boundary, None
        made = made or self.main.compaction(line, by=by)
        source = replace(made.source, last=line.number, end=line.end)
        made = replace(made, source=source, **known)
        self.log.compactions.append(made)
        return made

    def settle(self) -> None:
        """A compaction whose summary never came still happened."""
        if self._boundary is not None:
            self.log.compactions.append(self._boundary)
            self._boundary = None

    def facts(self, **facts: Any) -> None:
        for name, value in facts.items():
            self.log.fact(name, value, turn=self.main.next_turn)

    def unknown(self, *path: Any) -> None:
        """Count a kind of record that nobody knows."""
        self.log.ignored["/".join(str(step or "(no type)") for step in path)] += 1

    def check(self, line: Line, what: Any, content: Any, *lists: Any, texts: bool = False) -> None:
        """Report content that is neither a text nor a list of blocks, and lists that are none."""
        wrong = misshapen(content, texts=texts)
        if wrong or lists:
            self._report(line, what, wrong, *map(mislisted, lists))

    def check_texts(self, line: Line, what: Any, *values: Any) -> None:
        """Report values that stand in place of a text."""
        self._report(line, what, *map(mistyped, values))

    def _report(self, line: Line, what: Any, *wrong: str) -> None:
        for said in filter(None, wrong):
            self.log.broken("shape", line, f"{what}: {said}")

    # Where users may go back to.

    def seen(self, key: str) -> bool:
        return key in self._places

    def remember(self, key: str, mark: int = 0) -> None:
        """The conversation as it stands now, under a key."""
        main, asked = self.main, self._unanswered
        turn, exchange = self._asked_at if asked else (main.next_turn, main.exchange)
        now = (self.branch, turn, exchange, len(self.log.compactions), mark)
        if now != self._newest:  # most records change nothing
            self._newest = _Place(*now)
        remember(self._places, key, self._newest)
        if asked:
            remember(self._words, key, asked, most=WORDS_KEPT)

    def place(self, key: str) -> _Place | None:
        return self._places.get(key)

    def go_back(self, key: str | None) -> bool:
        """To where the conversation stood under a key, or to its beginning; False when the key is
        not known, and then nothing happens."""
        place = self._beginning if key is None else self._places.get(key)
        if place is None:
            return False
        elsewhere = place.branch is not self.branch
        ended = self.main.go_back(place.turn, place.exchange, elsewhere=elsewhere)
        self._again += [*ended, *self._switch(place, ended)]
        del self.log.compactions[place.compactions :]
        self._unanswered = ()
        for words in self._words.get(key, ()) if key is not None else ():
            self.user(words.line, words.pieces, time=words.time)
        return True

    def _switch(self, place: _Place, ended: list[Turn]) -> list[Turn]:
        """Leave the current branch for a place; turns of abandoned branches that stand again."""
        self.branch.turns += ended
        stood = set(map(id, self.branch.standing(LAST)))
        standing = place.branch.standing(place.turn)
        self.branch = _Branch(place.branch, place.turn)
        self._branches.append(self.branch)
        while sum(len(branch.turns) for branch in self._branches) > MOST_KEPT:
            self._branches.popleft().turns = []
        return [turn for turn in standing if id(turn) not in stood]


# Formats with a record on each line.


class LinesFormat:
    """A file of JSON records, taken one after the other by a reader."""

    name: ClassVar[str]
    reader: ClassVar[type[SessionReader]]

    def known(self, record: Record) -> bool:
        """Whether an object that was found in a damaged line is a record of the format."""
        raise NotImplementedError

    def records(self, lines: Lines, log: Log) -> Iterator[tuple[Line, Any]]:
        return json_records(lines, log, known=self.known)

    def read(self, lines: Lines, log: Log) -> Iterator[Turn]:
        return self.reader(log).turns(self.records(lines, log))

    def growing(self, log: Log) -> GrowingSession:
        return GrowingSession(self, self.reader(log), log)


class GrowingSession(NamedTuple):
    """A session that is read while it is written."""

    format: LinesFormat
    reader: SessionReader
    log: Log

    def take(self, lines: Lines) -> Iterator[Turn]:
        """The next lines, each of them whole."""
        return self.reader.passing(self.format.records(lines, self.log))

    def finish(self) -> Iterator[Turn]:
        """What is still open. Nothing can be taken afterwards."""
        return self.reader.finish()

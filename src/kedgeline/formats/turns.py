"""Messages into turns: the same for every format."""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime
from typing import Any, NamedTuple

import msgspec

from kedgeline.formats.intake import spanning
from kedgeline.formats.log import Line, Log, remember
from kedgeline.model import (
    CallRef,
    EarlierCompaction,
    Media,
    Message,
    Note,
    NoteKind,
    Opaque,
    Part,
    ResultRef,
    Role,
    Source,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Turn,
    Usage,
    Wire,
)

# A turn while it is being put together.

Piece = Text | Thinking | Media | Note | Opaque | ToolCall | ToolResult
"""What a format hands over: parts, and calls and results themselves in their places."""

STARTS_AN_EXCHANGE = {"command", "plan"}
"""Notes that stand for a request of the user's, although no words of theirs are in them."""


class _Said(NamedTuple):
    role: Role
    pieces: list[Piece]
    wire: Wire | None


class Draft:
    def __init__(self) -> None:
        self.pieces: list[_Said] = []
        self.answered = False
        self.asked = False
        """Whether the user asked for something here, which begins an exchange."""
        self.message_id = ""
        self.model = ""
        self.usage: Usage | None = None
        self.time: datetime | None = None
        self.index = 0
        self.exchange = 0
        self.taken_back = False
        """Whether the user went back behind it: nothing is waited for any more."""
        self.results: dict[str, list[ToolResult]] = {}
        self._calls: dict[str, tuple[ToolCall, Line]] = {}
        self._first: Line | None = None
        self._last: Line | None = None

    def add(
        self, line: Line, role: Role, pieces: Sequence[Piece], wire: Wire | None
    ) -> list[ToolCall]:
        """Take a message in; the calls whose id this turn has already are returned."""
        self._first = self._first or line
        if self._last is None or line.number >= self._last.number:
            self._last = line
        self.pieces.append(_Said(role, list(pieces), wire))
        twice: list[ToolCall] = []
        for piece in pieces:
            if isinstance(piece, ToolCall):
                if piece.id in self._calls:
                    twice.append(piece)
                self._calls[piece.id] = (piece, line)
            elif isinstance(piece, ToolResult):
                self.results.setdefault(piece.call_id, []).append(piece)
            elif role == "user" and not self.asked:
                self.asked = asks(piece)
        return twice

    def has_call(self, call_id: str) -> bool:
        return call_id in self._calls

    def is_answered(self, call_id: str) -> bool:
        return call_id in self.results

    @property
    def complete(self) -> bool:
        return self.taken_back or self._calls.keys() <= self.results.keys()

    def unanswered(self) -> Iterator[tuple[ToolCall, Line]]:
        for call_id, (call, line) in self._calls.items():
            if call_id not in self.results:
                yield call, line

    def turn(self, *, index: int, exchange: int, agent: str = "", session: int = 0) -> Turn:
        words: dict[str, list[str]] = {"user": [], "assistant": [], "system": [], "tool": []}
        kinds: defaultdict[type, list[Any]] = defaultdict(list)
        media: list[Media] = []
        for role, said, _ in self.pieces:
            for piece in said:
                if isinstance(piece, Text):
                    words[role].append(piece.text)
                elif not isinstance(piece, Media):
                    kinds[type(piece)].append(piece)
                elif role == "user":
                    media.append(piece)
        calls: tuple[ToolCall, ...] = tuple(kinds[ToolCall])
        results: tuple[ToolResult, ...] = ()
        if self.results:
            ids = dict.fromkeys([*(call.id for call in calls), *self.results])
            results = tuple(result for call_id in ids for result in self.results.get(call_id, ()))
        first, last = self._first, self._last
        return Turn(
            index=index,
            exchange=exchange,
            user_message=_joined(words["user"]),
            assistant_response=_joined(words["assistant"]),
            thinking=_joined(thought.text for thought in kinds[Thinking]),
            tool_calls=calls,
            tool_results=results,
            timestamp=self.time,
            agent=agent,
            session=session,
            source=spanning(first, last).source if first and last else Source(),
            notes=tuple(kinds[Note]),
            media=tuple(media),
            model=self.model,
            message_id=self.message_id,
            usage=self.usage,
            messages=self._layout(calls, results),
        )

    def _layout(
        self, calls: tuple[ToolCall, ...], results: tuple[ToolResult, ...]
    ) -> tuple[Message, ...]:
        place = {id(value): n for values in (calls, results) for n, value in enumerate(values)}

        def part(piece: Piece) -> Part:
            if isinstance(piece, ToolCall):
                return CallRef(position=place[id(piece)])
            if isinstance(piece, ToolResult):
                return ResultRef(position=place[id(piece)])
            return piece

        return tuple(
            Message(role=role, parts=tuple(map(part, said)), wire=wire)
            for role, said, wire in self.pieces
        )


def asks(piece: Piece) -> bool:
    """Whether the user asks for something with it, which begins an exchange."""
    if isinstance(piece, Text):
        return not piece.queued and bool(piece.text.strip())
    if isinstance(piece, Note):
        return piece.kind in STARTS_AN_EXCHANGE
    return isinstance(piece, Media)


def _joined(texts: Iterable[str]) -> str:
    return "\n\n".join(text for text in texts if text)


# From messages in order to turns: pairing, exchanges, errors.

LOOKBACK = 16
"""Turns held back for results that come late. Background and parallel calls answer within a few
turns; holding more would let memory grow with the session."""


class Assembler:
    """Takes the messages of one conversation and gives its turns as soon as they are complete."""

    def __init__(
        self, log: Log, *, agent: str = "", session: int = 0, index: int = 0, exchange: int = -1
    ) -> None:
        """`index` and `exchange` are where a conversation goes on that was put aside."""
        self.agent, self.session = agent, session
        self._log = log
        self._draft = Draft()
        self._next: Draft | None = None
        """The user's side of the turn to come. The current one stays open meanwhile: clients write
        one assistant message in several records, and words may fall between them."""
        self._waiting: deque[Draft] = deque()
        """Closed turns, oldest first, the first of which still lacks a result."""
        self._index = index
        self._exchange = exchange
        self._errors: dict[str, int] = {}
        """What failed and has not succeeded since, with the turn it failed in."""

    @property
    def next_turn(self) -> int:
        """Index of the turn that words coming now belong to."""
        return self._index + (1 if self._draft.answered else 0)

    @property
    def exchange(self) -> int:
        """Number of the exchange that is under way."""
        return self._exchange + (1 if self._draft.asked else 0)

    def system(self, line: Line, pieces: Sequence[Piece], *, wire: Wire | None = None) -> None:
        """A system message: the head of the transcript, or a note inside a turn."""
        if self._index == 0 and not self._draft.pieces:
            draft = Draft()
            draft.add(line, "system", pieces, wire)
            head = self._log.heads.setdefault(self.session, [])
            head.extend(draft.turn(index=0, exchange=0).messages)
        else:
            self.user(line, pieces, wire=wire, role="system")

    def user(
        self,
        line: Line,
        pieces: Sequence[Piece],
        *,
        time: datetime | None = None,
        wire: Wire | None = None,
        role: Role = "user",
    ) -> None:
        """Words, notes and media from the user's side; they open the next turn."""
        draft = self._draft
        if draft.answered:
            self._next = draft = self._next or Draft()
        draft.add(line, role, pieces, wire)
        draft.time = draft.time or time

    def assistant(
        self,
        line: Line,
        pieces: Sequence[Piece],
        *,
        message_id: str = "",
        joins: bool = False,
        time: datetime | None = None,
        model: str = "",
        usage: Usage | None = None,
        wire: Wire | None = None,
    ) -> None:
        """An assistant message, or a further piece of the one with the same id.

        With `joins`, an answer that comes in several items without an id: each belongs to the
        current turn until a result or the user comes between."""
        draft = self._draft
        same = bool(message_id and message_id == draft.message_id) or (
            joins and not draft.results and self._next is None
        )
        if draft.answered and not same:
            self._close()
            draft = self._draft
        draft.answered = True
        draft.message_id = message_id or draft.message_id
        draft.model = model or draft.model
        draft.usage = usage or draft.usage
        draft.time = draft.time or time
        for call in draft.add(line, "assistant", pieces, wire):
            self._log.broken(
                "duplicate", line, f"tool call id {call.id!r} occurs twice in one turn"
            )

    def results(
        self,
        line: Line,
        results: Sequence[ToolResult],
        *,
        wire: Wire | None = None,
        role: Role = "tool",
    ) -> None:
        """Results, each to the turn whose call it answers; with no call, to the current turn."""
        homes: dict[int, tuple[Draft, list[int]]] = {}
        for number, result in enumerate(results):
            home = self._home(result)
            if home is None:
                self._log.broken("orphan_result", line, f"no call has the id {result.call_id!r}")
                home = self._draft
            elif home.is_answered(result.call_id):
                self._log.broken(
                    "duplicate", line, f"a second result for the call {result.call_id!r}"
                )
            homes.setdefault(id(home), (home, []))[1].append(number)
        for home, numbers in homes.values():
            here = _divided(wire, numbers) if len(homes) > 1 else wire
            home.add(line, role, [results[number] for number in numbers], here)

    def compacted(self, line: Line, *, by: str, **told: Any) -> None:
        """A client compacted what stands before this line; `told` is what it says of that."""
        self._log.compactions.append(
            EarlierCompaction(
                turn=self.next_turn, by=by, session=self.session, **{"source": line.source, **told}
            )
        )

    def _home(self, result: ToolResult) -> Draft | None:
        for draft in (self._draft, *reversed(self._waiting)):
            if draft.has_call(result.call_id):
                return draft
        return None

    def rewind(self, index: int, exchange: int) -> None:
        """The user went back: turns from `index` on no longer stand, and the next one takes its
        place. They are still given out: they happened, and were paid for."""
        self._log.rewound += self.next_turn - index
        if self._draft.answered and index > self._index:
            self._next = None  # only words that nobody had answered are taken back
            return
        if self._draft.answered:
            self._close()
        for draft in self._waiting:
            draft.taken_back = draft.taken_back or draft.index >= index
        self._draft, self._next = Draft(), None
        self._index, self._exchange = index, exchange
        self._errors = {what: turn for what, turn in self._errors.items() if turn < index}

    @property
    def waits(self) -> bool:
        """Whether turns have ended that were not given out yet."""
        return bool(self._waiting)

    def ready(self) -> Iterable[Turn]:
        """Turns that are complete, in order."""
        return self._complete() if self._waiting else ()

    def _complete(self) -> Iterator[Turn]:
        while self._waiting and (self._waiting[0].complete or len(self._waiting) > LOOKBACK):
            yield self._finished(self._waiting.popleft())

    def flush(self) -> list[Turn]:
        """What has ended or begun, complete or not; for when the conversation goes on elsewhere."""
        if self._draft.answered:
            self._close()
        unfinished, self._waiting = self._waiting, deque()
        return [self._finished(draft, in_flight=True) for draft in unfinished]

    def finish(self) -> Iterator[Turn]:
        """The rest; what the assistant has not answered becomes the pending words."""
        last_answered = self._draft.answered
        if last_answered:
            self._close()
        while self._waiting:
            draft = self._waiting.popleft()
            yield self._finished(draft, in_flight=last_answered and not self._waiting)
        key = (self.session, self.agent)
        if self._index or key not in self._log.lengths:
            self._log.lengths[key] = self._index
        if self._draft.pieces:
            self._log.pending[key] = self._turn(
                self._draft, max(self.exchange, 0), index=self._index
            )

    def _close(self) -> None:
        draft, self._draft, self._next = self._draft, self._next or Draft(), None
        draft.index = self._index
        self._index += 1
        if draft.asked:
            self._exchange += 1
        draft.exchange = max(self._exchange, 0)
        self._waiting.append(draft)

    def _finished(self, draft: Draft, *, in_flight: bool = False) -> Turn:
        if draft.taken_back:
            return self._turn(draft, draft.exchange, index=draft.index)
        if not in_flight:
            for call, line in draft.unanswered():
                self._log.broken(
                    "unanswered_call", line, f"no result for the call {call.id!r} ({call.tool})"
                )
        turn = self._turn(draft, draft.exchange, index=draft.index)
        if draft.asked:
            # A new request starts afresh, except for what went wrong in the turn just before it.
            self._errors = {w: t for w, t in self._errors.items() if t == turn.index - 1}
        failed_before = bool(self._errors)
        self._note_errors(turn)
        return msgspec.structs.replace(turn, previous_error=True) if failed_before else turn

    def _turn(self, draft: Draft, exchange: int, *, index: int) -> Turn:
        return draft.turn(index=index, exchange=exchange, agent=self.agent, session=self.session)

    def _note_errors(self, turn: Turn) -> None:
        calls = {call.id: call for call in turn.tool_calls}
        for result in turn.tool_results:
            call = calls.get(result.call_id)
            if call is None:
                continue
            if result.success:
                self._errors.pop(_subject(call), None)
            elif result.failed:
                self._errors[_subject(call)] = turn.index


def _divided(wire: Wire | None, numbers: Sequence[int]) -> Wire | None:
    """The wire of a message for those of its results that go to one of several turns."""
    if not wire:
        return wire
    places = wire.get("places")
    return {**wire, "places": [places[n] for n in numbers] if places else list(numbers)}


def _subject(call: ToolCall) -> str:
    """What a call was about: a later success of the same subject settles its failure."""
    command = call.parameters.get("command", call.parameters.get("cmd"))
    about = command if command is not None else call.paths()
    return f"{call.tool} {about}"


# Where a conversation stood at each record, for users who go back.

WORDS_KEPT = 64
"""Places whose unanswered words are remembered; one rarely goes back to any but the last few."""


class _Words(NamedTuple):
    line: Line
    pieces: Sequence[Piece]
    time: datetime | None


class _Place(NamedTuple):
    turn: int = 0
    exchange: int = -1
    compactions: int = 0


class Places:
    """Hands the user's side to the assembler, and can take it back to where it stood."""

    def __init__(self, log: Log, assembler: Assembler) -> None:
        self._log, self._assembler = log, assembler
        self._places: dict[str, _Place] = {}
        self._words: dict[str, list[_Words]] = {}
        """Words that stood unanswered at a place; going back to it, they still do."""
        self._unanswered: list[_Words] = []
        self._asked_at = (0, -1)
        """Turn and exchange before the unanswered words."""

    def user(self, line: Line, pieces: Sequence[Piece], *, time: datetime | None = None) -> None:
        if not self._unanswered:
            self._asked_at = (self._assembler.next_turn, self._assembler.exchange)
        self._unanswered.append(_Words(line, pieces, time))
        self._assembler.user(line, pieces, time=time)

    def answered(self) -> None:
        self._unanswered = []

    def seen(self, key: str) -> bool:
        return key in self._places

    def remember(self, key: str) -> None:
        """The conversation as it stands now, under a key."""
        now = (self._assembler.next_turn, self._assembler.exchange)
        turn, exchange = self._asked_at if self._unanswered else now
        remember(self._places, key, _Place(turn, exchange, len(self._log.compactions)))
        if self._unanswered:
            remember(self._words, key, list(self._unanswered), most=WORDS_KEPT)

    def go_back(self, key: str | None) -> bool:
        """To where the conversation stood under a key, or to its beginning; False when the key is
        not known, and then nothing happens."""
        place = _Place() if key is None else self._places.get(key)
        if place is None:
            return False
        self._assembler.rewind(place.turn, place.exchange)
        del self._log.compactions[place.compactions :]
        self._unanswered = []
        for words in self._words.get(key, ()) if key is not None else ():
            self.user(words.line, words.pieces, time=words.time)
        return True


class SessionReader:
    """What the readers of agents' sessions share: one conversation in which users may go back."""

    def __init__(self, log: Log, *, agent: str = "") -> None:
        self.main = Assembler(log, agent=agent)
        self.log = log
        self.places = Places(log, self.main)

    def facts(self, **facts: object) -> None:
        for name, value in facts.items():
            self.log.fact(name, value, turn=self.main.next_turn)

    def user(self, line: Line, pieces: Sequence[Piece], *, time: datetime | None = None) -> None:
        if pieces:
            self.places.user(line, pieces, time=time)

    def note(self, line: Line, kind: NoteKind, text: str, *, time: datetime | None = None) -> None:
        if text.strip():
            self.user(line, [Note(kind=kind, text=text)], time=time)

    def answer(
        self,
        line: Line,
        pieces: Sequence[Piece],
        results: Sequence[ToolResult] = (),
        *,
        model: str = "",
        **about: Any,
    ) -> None:
        """What the assistant said and called, and what is known already of what came of it."""
        self.places.answered()
        self.facts(model=model)
        self.main.assistant(line, pieces, model=model, **about)
        if results:
            self.main.results(line, results)

    def unknown(self, *path: object) -> None:
        """Count what nobody knows."""
        self.log.ignored["/".join(str(step or "(no type)") for step in path)] += 1

    def misshapen(self, line: Line, what: object, *found: str) -> None:
        for wrong in filter(None, found):
            self.log.broken("shape", line, f"{what}: {wrong}")

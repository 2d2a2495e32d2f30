"""Messages into turns: calls and results paired, exchanges, errors. The same for every format."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, NamedTuple

from kedgeline.formats.log import Line, Log
from kedgeline.model import (
    CallRef,
    EarlierCompaction,
    Media,
    Message,
    Note,
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

Piece = Text | Thinking | Media | Note | Opaque | ToolCall | ToolResult
"""What a format hands over: parts, and calls and results themselves in their places."""

STARTS_AN_EXCHANGE = {"command", "plan"}
"""Notes that stand for a request of the user's, although no words of theirs are in them."""
LOOKBACK = 16
"""Turns held back for results that come late. Background and parallel calls answer within a few
turns; holding more would let memory grow with the session."""


def asks(piece: Piece | Part) -> bool:
    """Whether the user asks for something with it, which begins an exchange."""
    if isinstance(piece, Text):
        return not piece.queued and bool(piece.text.strip())
    if isinstance(piece, Note):
        return piece.kind in STARTS_AN_EXCHANGE
    return isinstance(piece, Media)


class _Said(NamedTuple):
    role: Role
    pieces: list[Piece]
    wire: Wire | None


@dataclass(slots=True)
class _Draft:
    """A turn while it is put together."""

    said: list[_Said] = field(default_factory=list)
    calls: dict[str, tuple[ToolCall, Line]] = field(default_factory=dict)
    results: dict[str, list[ToolResult]] = field(default_factory=dict)
    answered: bool = False
    asked: bool = False
    """The user asked for something here, which begins an exchange."""
    index: int = 0
    exchange: int = 0
    message_id: str = ""
    model: str = ""
    usage: Usage | None = None
    time: datetime | None = None
    first: Line | None = None
    last: Line | None = None

    def add(
        self, line: Line, role: Role, pieces: Sequence[Piece], wire: Wire | None
    ) -> list[ToolCall]:
        """Take a message in; the calls whose id this turn has already are returned."""
        twice = []
        self.first = self.first or line
        if self.last is None or line.number >= self.last.number:
            self.last = line
        self.said.append(_Said(role, list(pieces), wire))
        for piece in pieces:
            if isinstance(piece, ToolCall):
                twice += [piece] if piece.id in self.calls else []
                self.calls[piece.id] = (piece, line)
            elif isinstance(piece, ToolResult):
                self.results.setdefault(piece.call_id, []).append(piece)
            elif role == "user" and not self.asked:
                self.asked = asks(piece)
        return twice

    @property
    def complete(self) -> bool:
        return self.calls.keys() <= self.results.keys()

    def unanswered(self) -> list[tuple[ToolCall, Line]]:
        return [known for call_id, known in self.calls.items() if call_id not in self.results]

    def turn(self, *, agent: str, session: int, previous_error: bool = False) -> Turn:
        words: dict[Role, list[str]] = {"system": [], "user": [], "assistant": [], "tool": []}
        thoughts: list[str] = []
        calls: list[ToolCall] = []
        notes: list[Note] = []
        media: list[Media] = []
        for role, pieces, _ in self.said:
            for piece in pieces:
                if isinstance(piece, Text):
                    words[role].append(piece.text)
                elif isinstance(piece, ToolCall):
                    calls.append(piece)
                elif isinstance(piece, Thinking):
                    thoughts.append(piece.text)
                elif isinstance(piece, Note):
                    notes.append(piece)
                elif isinstance(piece, Media) and role == "user":
                    media.append(piece)
        ids = dict.fromkeys([*(call.id for call in calls), *self.results]) if self.results else ()
        results = [result for call_id in ids for result in self.results.get(call_id, ())]
        return Turn(
            index=self.index,
            exchange=self.exchange,
            user_message=_joined(words["user"]),
            assistant_response=_joined(words["assistant"]),
            thinking=_joined(thoughts),
            tool_calls=tuple(calls),
            tool_results=tuple(results),
            timestamp=self.time,
            previous_error=previous_error,
            agent=agent,
            session=session,
            source=self.first.to(self.last).source if self.first and self.last else Source(),
            notes=tuple(notes),
            media=tuple(media),
            model=self.model,
            message_id=self.message_id,
            usage=self.usage,
            messages=self._layout(calls, results),
        )

    def _layout(self, calls: list[ToolCall], results: list[ToolResult]) -> tuple[Message, ...]:
        refs: dict[int, Any] = {id(call): CallRef(position=n) for n, call in enumerate(calls)}
        refs |= {id(result): ResultRef(position=n) for n, result in enumerate(results)}
        return tuple(
            Message(role=role, parts=tuple(refs.get(id(p), p) for p in pieces), wire=wire)
            for role, pieces, wire in self.said
        )


def _joined(texts: Sequence[str]) -> str:
    return texts[0] if len(texts) == 1 else "\n\n".join(filter(None, texts))


class Assembler:
    """Takes the messages of one conversation and gives its turns as soon as they are complete."""

    def __init__(self, log: Log, *, agent: str = "", session: int = 0) -> None:
        self.agent, self.session = agent, session
        self._log = log
        self._draft = _Draft()
        self._next: _Draft | None = None
        """The user's side of the turn to come. The current one stays open meanwhile: clients write
        one assistant message in several records, and words may fall between them."""
        self._waiting: deque[_Draft] = deque()
        """Closed turns, oldest first, the first of which still lacks a result."""
        self._index = 0
        self._exchange = -1
        self._errors: dict[str, int] = {}
        """What failed and has not succeeded since, with the turn it failed in."""

    @property
    def next_turn(self) -> int:
        """Index of the turn that words coming now belong to."""
        return self._index + self._draft.answered

    @property
    def exchange(self) -> int:
        """Number of the exchange that is under way."""
        return self._exchange + self._draft.asked

    @property
    def waits(self) -> bool:
        """Whether turns have ended that were not given out yet."""
        return bool(self._waiting)

    def system(self, line: Line, pieces: Sequence[Piece], *, wire: Wire | None = None) -> None:
        """A system message: the head of the transcript, or a note inside a turn."""
        if self._index or self._draft.said:
            self.user(line, pieces, wire=wire, role="system")
        else:
            head = Message(role="system", parts=tuple(pieces), wire=wire)  # type: ignore[arg-type]
            self._log.heads.setdefault(self.session, []).append(head)

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
            self._next = draft = self._next or _Draft()
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
        same = message_id == draft.message_id if message_id else False
        joined = joins and not draft.results and self._next is None
        if draft.answered and not (same or joined):
            self._close()
            draft = self._draft
        draft.answered = True
        draft.message_id = message_id or draft.message_id
        draft.model = model or draft.model
        draft.usage = usage or draft.usage
        draft.time = draft.time or time
        for call in draft.add(line, "assistant", pieces, wire):
            twice = f"tool call id {call.id!r} occurs twice in one turn"
            self._log.broken("duplicate", line, twice)

    def results(
        self,
        line: Line,
        results: Sequence[ToolResult],
        *,
        wire: Wire | None = None,
        role: Role = "tool",
    ) -> None:
        """Results, each to the turn whose call it answers; with no call, to the current turn."""
        homes: dict[int, tuple[_Draft, list[int]]] = {}
        for number, result in enumerate(results):
            home = self._home(result.call_id)
            if home is None:
                self._log.broken("orphan_result", line, f"no call has the id {result.call_id!r}")
                home = self._draft
            elif result.call_id in home.results:
                twice = f"a second result for the call {result.call_id!r}"
                self._log.broken("duplicate", line, twice)
            homes.setdefault(id(home), (home, []))[1].append(number)
        for home, numbers in homes.values():
            here = wire
            if wire and len(homes) > 1:
                places = wire.get("places", range(len(results)))
                here = {**wire, "places": [places[number] for number in numbers]}
            home.add(line, role, [results[number] for number in numbers], here)

    def call(self, call_id: str) -> ToolCall | None:
        """The call of this id, as long as its turn is held."""
        home = self._home(call_id)
        return home.calls[call_id][0] if home else None

    def open_calls(self) -> list[ToolCall]:
        """The calls of the newest answer that have no result."""
        return [call for call, _ in self._draft.unanswered()]

    def compaction(self, line: Line, *, by: str, **known: Any) -> EarlierCompaction:
        """A compaction of what stands before this line; `known` is what its client says of it."""
        known = {"turn": self.next_turn, "source": line.source, **known}
        return EarlierCompaction(by=by, session=self.session, **known)

    def compacted(self, line: Line, *, by: str, **known: Any) -> None:
        """A client compacted what stands before this line."""
        self._log.compactions.append(self.compaction(line, by=by, **known))

    def go_back(self, index: int, exchange: int, *, elsewhere: bool = False) -> list[Turn]:
        """The user went back: turns from `index` on no longer stand, and the next one takes its
        place. Those that were not given out are returned: they happened, and were paid for. With
        `elsewhere` the place is on another branch, and the open turn does not stand either."""
        self._log.rewound += self.next_turn - index
        if self._draft.answered and index > self._index and not elsewhere:
            self._next = None  # only words that nobody had answered are taken back
            return []
        if self._draft.answered:
            self._close()
        ended = [self._finished(draft, in_flight=True) for draft in self._waiting]
        self._waiting.clear()
        self._draft, self._next = _Draft(), None
        self._index, self._exchange = index, exchange
        self._errors = {what: turn for what, turn in self._errors.items() if turn < index}
        return ended

    def ready(self) -> Iterator[Turn]:
        """Turns that are complete, in order."""
        while self._waiting and (self._waiting[0].complete or len(self._waiting) > LOOKBACK):
            yield self._finished(self._waiting.popleft())

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
        if self._draft.said:
            self._draft.index, self._draft.exchange = self._index, max(self.exchange, 0)
            self._log.pending[key] = self._draft.turn(agent=self.agent, session=self.session)

    def _home(self, call_id: str) -> _Draft | None:
        for draft in (self._draft, *reversed(self._waiting)):
            if call_id in draft.calls:
                return draft
        return None

    def _close(self) -> None:
        draft, self._draft, self._next = self._draft, self._next or _Draft(), None
        draft.index = self._index
        self._index += 1
        self._exchange += draft.asked
        draft.exchange = max(self._exchange, 0)
        self._waiting.append(draft)

    def _finished(self, draft: _Draft, *, in_flight: bool = False) -> Turn:
        if not in_flight:
            for call, line in draft.unanswered():
                missing = f"no result for the call {call.id!r} ({call.tool})"
                self._log.broken("unanswered_call", line, missing)
        if draft.asked:
            # A new request starts afresh, except for what went wrong in the turn just before it.
            self._errors = {w: t for w, t in self._errors.items() if t == draft.index - 1}
        failed_before = bool(self._errors)
        turn = draft.turn(agent=self.agent, session=self.session, previous_error=failed_before)
        for result in turn.tool_results:
            known = draft.calls.get(result.call_id)
            if known is not None and result.success:
                self._errors.pop(_subject(known[0]), None)
            elif known is not None and result.failed:
                self._errors[_subject(known[0])] = turn.index
        return turn


def _subject(call: ToolCall) -> str:
    """What a call was about: a later success of the same subject settles its failure."""
    command = call.parameters.get("command", call.parameters.get("cmd"))
    about = command if command is not None else call.paths()
    return f"{call.tool} {about}"

"""A turn while it is being put together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import NamedTuple

from kedge.formats.intake.lines import Line
from kedge.model import (
    CallRef,
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
        sorted_pieces = _Sorted(self.pieces)
        calls = tuple(sorted_pieces.calls)
        results = self._results_in_order(calls)
        return Turn(
            index=index,
            exchange=exchange,
            user_message=_joined(sorted_pieces.words),
            assistant_response=_joined(sorted_pieces.answer),
            thinking=_joined(sorted_pieces.thinking),
            tool_calls=calls,
            tool_results=results,
            timestamp=self.time,
            agent=agent,
            session=session,
            source=_source(self._first, self._last),
            notes=tuple(sorted_pieces.notes),
            media=tuple(sorted_pieces.media),
            model=self.model,
            message_id=self.message_id,
            usage=self.usage,
            messages=self._layout(calls, results),
        )

    def _results_in_order(self, calls: tuple[ToolCall, ...]) -> tuple[ToolResult, ...]:
        if not self.results:
            return ()
        ids = dict.fromkeys([*(call.id for call in calls), *self.results])
        return tuple(result for call_id in ids for result in self.results.get(call_id, ()))

    def _layout(
        self, calls: tuple[ToolCall, ...], results: tuple[ToolResult, ...]
    ) -> tuple[Message, ...]:
        place = {
            id(value): position
            for values in (calls, results)
            for position, value in enumerate(values)
        }

        def part(piece: Piece) -> Part:
            if isinstance(piece, ToolCall):
                return CallRef(position=place[id(piece)])
            if isinstance(piece, ToolResult):
                return ResultRef(position=place[id(piece)])
            return piece

        return tuple(
            Message(role=said.role, parts=tuple(map(part, said.pieces)), wire=said.wire)
            for said in self.pieces
        )


class _Sorted:
    """The pieces of a turn by what they are, each in order."""

    def __init__(self, said: list[_Said]) -> None:
        self.words: list[str] = []
        self.answer: list[str] = []
        self.thinking: list[str] = []
        self.calls: list[ToolCall] = []
        self.notes: list[Note] = []
        self.media: list[Media] = []
        for role, pieces, _ in said:
            for piece in pieces:
                self._take(role, piece)

    def _take(self, role: Role, piece: Piece) -> None:
        if isinstance(piece, Text):
            if role == "assistant":
                self.answer.append(piece.text)
            elif role == "user":
                self.words.append(piece.text)
        elif isinstance(piece, ToolCall):
            self.calls.append(piece)
        elif isinstance(piece, Thinking):
            self.thinking.append(piece.text)
        elif isinstance(piece, Note):
            self.notes.append(piece)
        elif isinstance(piece, Media) and role == "user":
            self.media.append(piece)


def asks(piece: Piece) -> bool:
    """Whether the user asks for something with it, which begins an exchange."""
    if isinstance(piece, Text):
        return not piece.queued and bool(piece.text.strip())
    if isinstance(piece, Note):
        return piece.kind in STARTS_AN_EXCHANGE
    return isinstance(piece, Media)


def _joined(texts: list[str]) -> str:
    return "\n\n".join(text for text in texts if text)


def _source(first: Line | None, last: Line | None) -> Source:
    if first is None or last is None:
        return Source()
    number = max(last.number, last.last)
    return Source(first=first.number, last=number, start=first.start, end=last.end)

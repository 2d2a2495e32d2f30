"""Making a conversation legal for a provider that did not write it, or not all of it.

Every call gets its result behind it and an id of its own, what nobody said is marked, and what the
provider has no place for is left out and named.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator
from typing import Any

from msgspec.structs import replace

from kedge.formats.content.wrappers import said_by_user
from kedge.formats.providers.said import Dialect, Said, reminder
from kedge.formats.providers.wire import own
from kedge.formats.turns.draft import Piece
from kedge.model import (
    Media,
    Note,
    Opaque,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Transcript,
)

NO_RESULT = "No result was recorded for this call."
"""Stands for the result of a call that was interrupted; every provider demands one."""
UNSPOKEN = {"withdrawn", "failure"}
"""Notes that were never part of the conversation the model saw."""


class Repair:
    def __init__(self, dialect: Dialect, transcript: Transcript) -> None:
        self._dialect, self._format = dialect, transcript.format
        self._ids: set[str] = set()
        self._foreign: set[str] = set()
        """Ids of calls in this turn that another provider wrote."""
        self._renamed: set[str] = set()
        self._left_out: Counter[str] = Counter()
        if transcript.agents:
            self._left_out["conversations of sub-agents"] = len(transcript.agents)

    def sentences(self) -> tuple[str, ...]:
        return tuple(f"{what}: {count}" for what, count in self._left_out.items())

    def round(self, said: list[Said], *, in_flight: bool) -> list[Said]:
        """The messages of one turn: the user's side, the answer, its results."""
        if all(one.wire for one in said) and self._is_whole(said, in_flight):
            return said
        self._foreign.clear()
        before: list[Said] = []
        answer: list[Piece] = []
        results: defaultdict[str, deque[ToolResult]] = defaultdict(deque)
        for one in said:
            spoken: list[Piece] = []
            for piece in self.fitting(one):
                if isinstance(piece, ToolResult):
                    results[piece.call_id].append(piece)
                else:
                    spoken.append(piece)
            if one.role == "assistant":
                answer += spoken
            elif spoken:
                _append(before, Said(self._role(one), tuple(spoken), one.wire))
        pieces, answers = self._paired(answer, results, in_flight)
        after = [Said("assistant", pieces, {})] if pieces else []
        return [*before, *after, *([Said("tool", answers, {})] if answers else ())]

    def fitting(self, said: Said) -> Iterator[Piece]:
        """The pieces the provider has a place for; what it wrote itself stays as it is."""
        for piece in said.pieces:
            if said.wire:
                yield piece
            elif isinstance(piece, ToolCall):
                yield self._named(piece)
            elif isinstance(piece, ToolResult):
                yield replace(piece, media=tuple(self._shown(piece)))
            elif reason := self._objection(said.role, piece):
                self._left_out[reason] += 1
            elif not isinstance(piece, (Text, Note)):
                yield piece
            elif piece.text.strip():
                yield self._spoken(said.role, piece)

    def _named(self, call: ToolCall) -> ToolCall:
        """A call that another provider wrote, under a name that this one takes."""
        self._foreign.add(call.id)
        name = self._dialect.names.nearest(call.tool)
        if name == call.tool:
            return call
        if call.tool not in self._renamed:
            self._renamed.add(call.tool)
            self._left_out["names of tools that the provider refuses, written like them"] += 1
        return replace(call, tool=name)

    def _shown(self, result: ToolResult) -> Iterator[Media]:
        for media in result.media:
            if self._dialect.takes("tool", media):
                yield media
            else:
                self._left_out[f"{media.kind} in the result of a call"] += 1

    def _objection(self, role: Role, piece: Piece) -> str:
        """Why a piece of another format cannot be written; empty when it can."""
        if isinstance(piece, Note) and piece.kind in UNSPOKEN:
            return f"notes of the kind {piece.kind!r}"
        if isinstance(piece, Thinking) and not self._is_signed(piece):
            return "thinking that carries no signature of this provider"
        if isinstance(piece, Opaque):
            return f"blocks of the kind {piece.kind!r}, which another provider defines"
        if not isinstance(piece, (Text, Note)) and not self._dialect.takes(role, piece):
            kind = piece.kind if isinstance(piece, Media) else "thinking"
            return f"{kind} in a message of the {role}"
        return ""

    def _spoken(self, role: Role, piece: Text | Note) -> Text:
        """Text as it was said; what nobody said is marked, or it would pass for theirs."""
        if role == "assistant" or (role == "system" and self._dialect.system_inside):
            return Text(text=piece.text)
        nobody = isinstance(piece, Note) or role == "system"
        if nobody and any(isinstance(read, Text) for read in said_by_user(piece.text)):
            return Text(text=reminder(piece.text))
        return Text(text=piece.text)

    def _is_signed(self, piece: Thinking) -> bool:
        ours = own(piece.wire, self._dialect.provider) or self._format in self._dialect.signed_by
        return bool(ours and piece.signature)

    def _role(self, said: Said) -> Role:
        if said.role == "system" and (self._dialect.system_inside or said.wire):
            return "system"
        return "user"

    def _is_whole(self, said: list[Said], in_flight: bool) -> bool:
        """Whether each call has its own id and one result behind it, and no result is left."""
        waiting: set[str] = set()
        ids = {""}
        for piece in (piece for one in said for piece in one.pieces):
            if isinstance(piece, ToolCall):
                if piece.id in ids:
                    return False
                ids.add(piece.id)
                waiting.add(piece.id)
            elif isinstance(piece, ToolResult):
                if piece.call_id not in waiting:
                    return False
                waiting.remove(piece.call_id)
        if ids & self._ids or (waiting and not in_flight):
            return False
        self._ids |= ids - {""}
        return True

    def _paired(
        self, answer: Iterable[Piece], results: dict[str, deque[ToolResult]], in_flight: bool
    ) -> tuple[tuple[Piece, ...], tuple[ToolResult, ...]]:
        pieces: list[Piece] = []
        answers: list[ToolResult] = []
        for piece in answer:
            if isinstance(piece, ToolCall):
                result = results[piece.id].popleft() if results.get(piece.id) else None
                if result is None and not in_flight:
                    result = self._missing(piece)
                piece = replace(piece, id=self._free(self._allowed(piece.id)))
                if result is not None:
                    answers.append(replace(result, call_id=piece.id))
            pieces.append(piece)
        for call_id in [call_id for call_id, rest in results.items() for _ in rest]:
            self._left_out[f"a result for {call_id!r}, which no call is waiting for"] += 1
        return tuple(pieces), tuple(answers)

    def _missing(self, call: ToolCall) -> ToolResult:
        """A result that says there is none, in the shape the provider's own call asks for."""
        wire = own(call.wire, self._dialect.provider)
        marks: dict[str, Any] = {
            name: wire[name] for name in ("type", "field", "made_id") if name in wire
        }
        return ToolResult(
            call_id=call.id,
            success=False,
            output=NO_RESULT,
            interrupted=True,
            wire={"provider": self._dialect.provider, "name": call.tool, **marks}
            if marks
            else None,
        )

    def _allowed(self, call_id: str) -> str:
        """The id, or where another provider wrote it, one like it that this one takes."""
        if not call_id or call_id not in self._foreign:
            return call_id
        allowed = self._dialect.ids.nearest(call_id)
        if allowed != call_id:
            self._left_out["ids of calls that the provider refuses, written like them"] += 1
        return allowed

    def _free(self, call_id: str) -> str:
        """The id, or one like it that no other call has."""
        free, number = call_id or "call-1", 1
        while free in self._ids:
            number += 1
            free = f"{call_id or 'call'}-{number}"
        self._ids.add(free)
        return free


def _append(messages: list[Said], said: Said) -> None:
    """Add a message; what no provider's list held apart becomes one."""
    last = messages[-1] if messages else None
    if last is not None and last.role == said.role and not last.wire and not said.wire:
        messages[-1] = Said(last.role, last.pieces + said.pieces, {})
    else:
        messages.append(said)

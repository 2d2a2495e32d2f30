"""Making a conversation legal for a provider that did not write it, or not all of it.

Every call gets its result behind it and an id of its own, what nobody said is marked, and what the
provider has no place for is left out and named.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Iterable, Iterator, Sequence
from itertools import chain
from typing import Any, NamedTuple

from msgspec.structs import replace

from kedgeline.formats.pieces import said_by_user
from kedgeline.formats.providers.shape import (
    ProviderShape,
    SaidMessage,
    own,
    reminder,
    text_in,
    with_wire,
)
from kedgeline.formats.records import Record
from kedgeline.formats.turns import Piece
from kedgeline.model import (
    CallRef,
    Media,
    Message,
    Note,
    Opaque,
    ResultRef,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Transcript,
    Turn,
)

NO_RESULT = "No result was recorded for this call."
"""Stands for the result of a call that was interrupted; every provider demands one."""
UNSPOKEN = {"withdrawn", "failure"}
"""Notes that were never part of the conversation the model saw."""
MARKS = ("type", "field", "made_id")
"""Which of several shapes of a provider a call has; its result has the same."""


class Layout(NamedTuple):
    """What has to be written, in order, before any provider's shape."""

    head: list[SaidMessage]
    """System messages before all others that do not stand among `said`."""
    said: list[SaidMessage]
    as_read: bool
    """Whether this is the list that was read, or its beginning: then it is not to be touched."""
    left_out: tuple[str, ...]


def laid_out(transcript: Transcript, shape: ProviderShape) -> Layout:
    head = [_said(message, None, shape.name) for message in transcript.head]
    turns = [*transcript.turns, *([transcript.pending] if transcript.pending else ())]
    rounds = [list(_messages(turn, shape.name)) for turn in turns]
    listed = [*(said for said in head if said.item >= 0), *chain.from_iterable(rounds)]
    repair = Repair(shape, transcript)
    if _is_as_read(listed):
        listed.sort(key=lambda said: said.item)
        rest = [said for said in head if said.item < 0]
        return Layout(rest, listed, True, repair.sentences())
    _bring_home(rounds)
    last = len(transcript.turns) - 1 if transcript.pending is None else -1
    repaired = [
        said
        for number, round in enumerate(rounds)
        for said in repair.round(round, in_flight=number == last)
    ]
    return Layout(head, repaired, False, repair.sentences())


def text_of_head(head: Sequence[SaidMessage]) -> str:
    """The system prompt as one text."""
    texts = (text_in(piece) or "" for said in head for piece in said.pieces)
    return "\n\n".join(text for text in texts if text.strip())


def _messages(turn: Turn, provider: str) -> Iterator[SaidMessage]:
    """The messages of a turn; where no list was read for it, from its fields."""
    for message in turn.messages:
        yield _said(message, turn, provider)
    if turn.messages:
        return
    words = (Text(text=turn.user_message),) if turn.user_message else ()
    if heard := (*turn.notes, *words, *turn.media):
        yield SaidMessage("user", heard, {})
    thinking = (Thinking(text=turn.thinking),) if turn.thinking else ()
    text = (Text(text=turn.assistant_response),) if turn.assistant_response else ()
    if answer := (*thinking, *text, *turn.tool_calls):
        yield SaidMessage("assistant", answer, {})
    if turn.tool_results:
        yield SaidMessage("tool", turn.tool_results, {})


def _said(message: Message, turn: Turn | None, provider: str) -> SaidMessage:
    pieces: list[Piece] = []
    for part in message.parts:
        if not isinstance(part, (CallRef, ResultRef)):
            pieces.append(part)
        elif turn is not None:
            values: Sequence[ToolCall | ToolResult] = turn.tool_results
            if isinstance(part, CallRef):
                values = turn.tool_calls
            pieces += values[part.position : part.position + 1]
    return SaidMessage(message.role, tuple(pieces), own(message.wire, provider))


def _is_as_read(listed: Sequence[SaidMessage]) -> bool:
    """Whether all is there from the first message of a list on, each once."""
    items: Counter[int] = Counter()
    for said in listed:
        if said.item < 0 or (items[said.item] and "places" not in said.wire):
            return False
        items[said.item] += 1
    return not items or max(items) == len(items) - 1


def _bring_home(rounds: list[list[SaidMessage]]) -> None:
    """Put results that came in a later turn than their call behind the call, where it waits."""
    waiting: dict[str, int] = {}
    for number, said in enumerate(rounds):
        pieces = [piece for one in said for piece in one.pieces]
        called = {piece.id for piece in pieces if isinstance(piece, ToolCall)}
        results = [piece for piece in pieces if isinstance(piece, ToolResult)]
        given = {result.call_id for result in results}
        if late := (given - called) & waiting.keys():
            rounds[number] = [one for part in said for one in _without(part, late)]
            for result in results:
                if result.call_id in late:
                    rounds[waiting[result.call_id]].append(SaidMessage("tool", (result,), {}))
        for call_id in called:
            waiting.pop(call_id, None)
        waiting.update((call_id, number) for call_id in called - given)


def _without(said: SaidMessage, late: set[str]) -> Iterator[SaidMessage]:
    rest = tuple(p for p in said.pieces if not isinstance(p, ToolResult) or p.call_id not in late)
    if rest or not said.pieces:
        yield said._replace(pieces=rest)


class Repair:
    """Makes turns legal, one after the other."""

    def __init__(self, shape: ProviderShape, transcript: Transcript) -> None:
        self._shape, self._format = shape, transcript.format
        self._ids: set[str] = set()
        self._foreign: set[str] = set()
        """Ids of calls in this turn that another provider wrote."""
        self._renamed: set[str] = set()
        self._left_out: Counter[str] = Counter()
        if transcript.agents:
            self._left_out["conversations of sub-agents"] = len(transcript.agents)

    def sentences(self) -> tuple[str, ...]:
        return tuple(f"{what}: {count}" for what, count in self._left_out.items())

    def round(self, said: list[SaidMessage], *, in_flight: bool) -> list[SaidMessage]:
        """The messages of one turn: the user's side, the answer, its results."""
        if all(one.wire for one in said) and self._is_whole(said, in_flight):
            return said
        self._foreign.clear()
        before: list[SaidMessage] = []
        answer: list[Piece] = []
        results: defaultdict[str, deque[ToolResult]] = defaultdict(deque)
        for one in said:
            spoken: list[Piece] = []
            for piece in one.pieces if one.wire else self._fitting(one):
                if isinstance(piece, ToolResult):
                    results[piece.call_id].append(piece)
                else:
                    spoken.append(piece)
            if one.role == "assistant":
                answer += spoken
            elif spoken:
                inside = one.role == "system" and (self._shape.system_inside or one.wire)
                _append(
                    before, SaidMessage("system" if inside else "user", tuple(spoken), one.wire)
                )
        pieces, answers = self._paired(answer, results, in_flight)
        after = [SaidMessage("assistant", pieces, {})] if pieces else []
        return [*before, *after, *([SaidMessage("tool", answers, {})] if answers else ())]

    def _fitting(self, said: SaidMessage) -> Iterator[Piece]:
        """The pieces of another format that the provider has a place for."""
        for piece in said.pieces:
            if isinstance(piece, ToolCall):
                yield self._named(piece)
            elif isinstance(piece, ToolResult):
                shown = [one for one in piece.media if self._shape.takes("tool", one)]
                for media in piece.media:
                    if media not in shown:
                        self._left_out[f"{media.kind} in the result of a call"] += 1
                yield replace(piece, media=tuple(shown))
            elif reason := self._objection(said.role, piece):
                self._left_out[reason] += 1
            elif not isinstance(piece, (Text, Note)):
                yield piece
            elif piece.text.strip():
                yield self._spoken(said.role, piece)

    def _named(self, call: ToolCall) -> ToolCall:
        """A call that another provider wrote, under a name that this one takes."""
        self._foreign.add(call.id)
        name = self._shape.names.nearest(call.tool)
        if name == call.tool:
            return call
        if call.tool not in self._renamed:
            self._renamed.add(call.tool)
            self._left_out["names of tools that the provider refuses, written like them"] += 1
        return replace(call, tool=name)

    def _objection(self, role: Role, piece: Piece) -> str:
        """Why a piece of another format cannot be written; empty when it can."""
        if isinstance(piece, Note) and piece.kind in UNSPOKEN:
            return f"notes of the kind {piece.kind!r}"
        if isinstance(piece, Thinking):
            ours = self._shape.own(piece) or self._format in self._shape.signed_by
            if not (ours and piece.signature):
                return "thinking that carries no signature of this provider"
        if isinstance(piece, Opaque):
            return f"blocks of the kind {piece.kind!r}, which another provider defines"
        if not isinstance(piece, (Text, Note)) and not self._shape.takes(role, piece):
            kind = piece.kind if isinstance(piece, Media) else "thinking"
            return f"{kind} in a message of the {role}"
        return ""

    def _spoken(self, role: Role, piece: Text | Note) -> Text:
        """Text as it was said; what nobody said is marked, or it would pass for theirs."""
        told = role == "assistant" or (role == "system" and self._shape.system_inside)
        nobody = isinstance(piece, Note) or role == "system"
        if not told and nobody and any(isinstance(p, Text) for p in said_by_user(piece.text)):
            return Text(text=reminder(piece.text))
        return Text(text=piece.text)

    def _is_whole(self, said: list[SaidMessage], in_flight: bool) -> bool:
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
                call_id = self._free(self._allowed(piece.id))
                if call_id != piece.id:
                    piece = replace(self._shape.unsealed(piece), id=call_id)
                    if result is not None:
                        result = replace(self._shape.unsealed(result), call_id=call_id)
                answers += [result] if result else []
            pieces.append(piece)
        for call_id in [call_id for call_id, rest in results.items() for _ in rest]:
            self._left_out[f"a result for {call_id!r}, which no call is waiting for"] += 1
        return tuple(pieces), tuple(answers)

    def _missing(self, call: ToolCall) -> ToolResult:
        """A result that says there is none, in the shape the provider's own call asks for."""
        result = ToolResult(call_id=call.id, success=False, output=NO_RESULT, interrupted=True)
        marks = {name: v for name, v in self._shape.own(call).items() if name in MARKS}
        wire = {"provider": self._shape.name, "name": call.tool, **marks}
        return with_wire(result, wire) if marks else result

    def _allowed(self, call_id: str) -> str:
        """The id, or where another provider wrote it, one like it that this one takes."""
        if not call_id or call_id not in self._foreign:
            return call_id
        allowed = self._shape.ids.nearest(call_id)
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


def _append(messages: list[SaidMessage], said: SaidMessage) -> None:
    """Add a message; what no provider's list held apart becomes one."""
    last = messages[-1] if messages else None
    if last is not None and last.role == said.role and not last.wire and not said.wire:
        messages[-1] = SaidMessage(last.role, last.pieces + said.pieces, {})
    else:
        messages.append(said)


# Lists in which user and assistant take turns and results stand in the user's messages.

OPENING = Text(text=reminder("What came before is not part of this conversation."))
"""Said where a list would begin with the assistant, which these providers refuse."""


def alternating(layout: Layout, shape: ProviderShape) -> list[Record]:
    """The messages of a layout."""
    if layout.as_read:
        return [shape.message_of(*group) for group in groups(layout.said)]
    messages: list[Record] = []
    last: SaidMessage | None = None
    for group in groups(layout.said):
        if not group.wire:
            called = sorted(group.pieces, key=lambda piece: isinstance(piece, ToolCall))
            group = group._replace(pieces=tuple(called))
        message = shape.message_of(*group)
        if not message.get(shape.field):
            continue
        if last is None and group.role == "assistant":
            messages.append(shape.message_of("user", [OPENING], {}))
        if last is not None and last.role == group.role:
            blocks = _listed(messages[-1], shape) + _listed(message, shape)
            messages[-1] = {**messages[-1], shape.field: blocks}
        else:
            messages.append(message)
        last = group
    return messages


def groups(said: Sequence[SaidMessage]) -> Iterator[SaidMessage]:
    """Messages, the parts of those that were divided between turns joined again."""
    held: list[SaidMessage] = []
    for one in said:
        if held and (one.item < 0 or one.item != held[-1].item):
            yield _joined(held)
            held = []
        held.append(one)
    if held:
        yield _joined(held)


def _joined(said: list[SaidMessage]) -> SaidMessage:
    pieces = [piece for one in said for piece in one.pieces]
    places = [place for one in said for place in one.wire.get("places", ())]
    if len(places) == len(pieces):
        pieces = [pieces[number] for number in sorted(range(len(places)), key=places.__getitem__)]
    role: Role = "user" if said[0].role == "tool" else said[0].role
    return SaidMessage(role, tuple(pieces), said[0].wire)


def _listed(message: Record, shape: ProviderShape) -> list[Any]:
    content = message[shape.field]
    if isinstance(content, str):
        content = shape.message_of("user", [Text(text=content)], {})[shape.field]
    return list(content)

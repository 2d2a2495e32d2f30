"""What has to be written, in order, before any provider's shape.

A transcript that a provider's own list was read from keeps that list's order, whatever it was.
Everything else is made legal here for all providers at once: every call with its result behind it,
ids that differ, and nothing that the provider cannot take.
"""

from __future__ import annotations

from collections import Counter, defaultdict, deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple

from msgspec.structs import replace

from kedge.formats.draft import Piece
from kedge.formats.wire import own
from kedge.formats.wrappers import said_by_user
from kedge.model import (
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
    Wire,
)

NO_RESULT = "No result was recorded for this call."
"""Stands for the result of a call that was interrupted; every provider demands one."""
UNSPOKEN = {"withdrawn", "failure"}
"""Notes that were never part of the conversation the model saw."""


class Said(NamedTuple):
    """One message: its pieces, calls and results among them."""

    role: Role
    pieces: tuple[Piece, ...]
    wire: Wire
    """Empty when another format wrote it."""

    @property
    def item(self) -> int:
        """Its place in the list it was read from; -1 when it was not."""
        item: int = self.wire.get("item", -1)
        return item


class Dialect(NamedTuple):
    """What the layout has to know of a provider."""

    provider: str
    takes: Callable[[Role, Piece], bool]
    """Whether there is a place for a piece in a message of this role."""
    signed_by: tuple[str, ...] = ()
    """Formats whose thinking carries this provider's signature."""
    system_inside: bool = False
    """Whether system messages may stand between the others."""


class Layout(NamedTuple):
    head: list[Said]
    """System messages before all others that do not stand among `said`."""
    said: list[Said]
    as_read: bool
    """Whether this is the list that was read, or its beginning: then it is not to be touched."""
    left_out: tuple[str, ...]


def laid_out(transcript: Transcript, dialect: Dialect) -> Layout:
    provider = dialect.provider
    head = [_said(message, None, provider) for message in transcript.head]
    turns = [*transcript.turns, *([transcript.pending] if transcript.pending else ())]
    rounds = [list(_messages(turn, provider)) for turn in turns]
    listed = [*(said for said in head if said.item >= 0), *chain.from_iterable(rounds)]
    repair = _Repair(dialect, transcript)
    if _is_as_read(listed):
        listed.sort(key=lambda said: said.item)
        rest = [said for said in head if said.item < 0]
        return Layout(rest, listed, True, repair.sentences())
    last = len(transcript.turns) - 1 if transcript.pending is None else -1
    repaired = [
        said
        for number, round in enumerate(rounds)
        for said in repair.round(round, in_flight=number == last)
    ]
    return Layout(head, repaired, False, repair.sentences())


def text_of_head(head: Sequence[Said]) -> str:
    """The system prompt as one text."""
    texts = (p.text for said in head for p in said.pieces if isinstance(p, (Text, Note)))
    return "\n\n".join(text for text in texts if text.strip())


def reminder(text: str) -> str:
    """Text that nobody typed, marked as such where only the user's role is left for it."""
    inner = text.replace("</system-reminder>", "</system_reminder>")
    return f"<system-reminder>\n{inner}\n</system-reminder>"


def text_of_result(result: ToolResult) -> str:
    return result.output or result.error or ""


class _Repair:
    def __init__(self, dialect: Dialect, transcript: Transcript) -> None:
        self._dialect, self._format = dialect, transcript.format
        self._ids: set[str] = set()
        self._left_out: Counter[str] = Counter()
        if transcript.agents:
            self._left_out["conversations of sub-agents"] = len(transcript.agents)

    def sentences(self) -> tuple[str, ...]:
        return tuple(f"{what}: {count}" for what, count in self._left_out.items())

    def round(self, said: list[Said], *, in_flight: bool) -> list[Said]:
        """The messages of one turn: the user's side, the answer, its results."""
        if all(one.wire for one in said) and self._is_whole(said, in_flight):
            return said
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
            if said.wire or isinstance(piece, ToolCall):
                yield piece
            elif isinstance(piece, ToolResult):
                yield replace(piece, media=tuple(self._shown(piece)))
            elif reason := self._objection(said.role, piece):
                self._left_out[reason] += 1
            elif not isinstance(piece, (Text, Note)):
                yield piece
            elif piece.text.strip():
                yield self._spoken(said.role, piece)

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
        """Whether each call has one result and an id of its own, and each result a call."""
        pieces = [piece for one in said for piece in one.pieces]
        calls = [piece.id for piece in pieces if isinstance(piece, ToolCall)]
        answered = [piece.call_id for piece in pieces if isinstance(piece, ToolResult)]
        ids = set(calls)
        if len(ids) < len(calls) or len(set(answered)) < len(answered) or "" in ids:
            return False
        if ids & self._ids or not set(answered) <= ids:
            return False
        if len(answered) < len(calls) and not in_flight:
            return False
        self._ids |= ids
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
                    result = ToolResult(
                        call_id=piece.id, success=False, output=NO_RESULT, interrupted=True
                    )
                piece = replace(piece, id=self._free(piece.id))
                if result is not None:
                    answers.append(replace(result, call_id=piece.id))
            pieces.append(piece)
        for call_id in [call_id for call_id, rest in results.items() for _ in rest]:
            self._left_out[f"a result for {call_id!r}, which no call is waiting for"] += 1
        return tuple(pieces), tuple(answers)

    def _free(self, call_id: str) -> str:
        """The id, or one like it that no other call has."""
        free, number = call_id or "call-1", 1
        while free in self._ids:
            number += 1
            free = f"{call_id or 'call'}-{number}"
        self._ids.add(free)
        return free


def _is_as_read(listed: Sequence[Said]) -> bool:
    """Whether all is there from the first message of a list on, each once."""
    items: defaultdict[int, int] = defaultdict(int)
    for said in listed:
        if said.item < 0 or (items[said.item] and "places" not in said.wire):
            return False
        items[said.item] += 1
    return not items or max(items) == len(items) - 1


def _append(messages: list[Said], said: Said) -> None:
    """Add a message; what no provider's list held apart becomes one."""
    last = messages[-1] if messages else None
    if last is not None and last.role == said.role and not last.wire and not said.wire:
        messages[-1] = Said(last.role, last.pieces + said.pieces, {})
    else:
        messages.append(said)


def _messages(turn: Turn, provider: str) -> Iterator[Said]:
    for message in turn.messages:
        yield _said(message, turn, provider)
    if not turn.messages:
        yield from _from_fields(turn)


def _said(message: Message, turn: Turn | None, provider: str) -> Said:
    pieces: list[Piece] = []
    for part in message.parts:
        if isinstance(part, (CallRef, ResultRef)):
            values: Sequence[ToolCall | ToolResult] = ()
            if turn is not None:
                values = turn.tool_calls if isinstance(part, CallRef) else turn.tool_results
            if 0 <= part.position < len(values):
                pieces.append(values[part.position])
        else:
            pieces.append(part)
    return Said(message.role, tuple(pieces), own(message.wire, provider))


def _from_fields(turn: Turn) -> Iterator[Said]:
    """A turn that no list was read for: the user's side, the answer, the results."""
    words = (Text(text=turn.user_message),) if turn.user_message else ()
    if heard := (*turn.notes, *words, *turn.media):
        yield Said("user", heard, {})
    thinking = (Thinking(text=turn.thinking),) if turn.thinking else ()
    text = (Text(text=turn.assistant_response),) if turn.assistant_response else ()
    if answer := (*thinking, *text, *turn.tool_calls):
        yield Said("assistant", answer, {})
    if turn.tool_results:
        yield Said("tool", turn.tool_results, {})

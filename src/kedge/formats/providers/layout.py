"""What has to be written, in order, before any provider's shape.

A transcript that a provider's own list was read from keeps that list's order, whatever it was.
Everything else is made legal.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from itertools import chain
from typing import NamedTuple

from kedge.formats.providers.repair import Repair
from kedge.formats.providers.said import Dialect, Said
from kedge.formats.providers.wire import own
from kedge.formats.turns.draft import Piece
from kedge.model import (
    CallRef,
    Message,
    Note,
    ResultRef,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Transcript,
    Turn,
)


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
    repair = Repair(dialect, transcript)
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


def text_of_head(head: Sequence[Said]) -> str:
    """The system prompt as one text."""
    texts = (p.text for said in head for p in said.pieces if isinstance(p, (Text, Note)))
    return "\n\n".join(text for text in texts if text.strip())


def _is_as_read(listed: Sequence[Said]) -> bool:
    """Whether all is there from the first message of a list on, each once."""
    items: defaultdict[int, int] = defaultdict(int)
    for said in listed:
        if said.item < 0 or (items[said.item] and "places" not in said.wire):
            return False
        items[said.item] += 1
    return not items or max(items) == len(items) - 1


def _bring_home(rounds: list[list[Said]]) -> None:
    """Put results that came in a later turn than their call behind the call, where it waits."""
    waiting: dict[str, int] = {}
    for number, said in enumerate(rounds):
        pieces = [piece for one in said for piece in one.pieces]
        called = {piece.id for piece in pieces if isinstance(piece, ToolCall)}
        given = {piece.call_id for piece in pieces if isinstance(piece, ToolResult)}
        if late := (given - called) & waiting.keys():
            rounds[number] = [one for part in said for one in _without(part, late)]
            for piece in pieces:
                if isinstance(piece, ToolResult) and piece.call_id in late:
                    rounds[waiting[piece.call_id]].append(Said("tool", (piece,), {}))
        for call_id in called:
            waiting.pop(call_id, None)
        waiting.update((call_id, number) for call_id in called - given)


def _without(said: Said, late: set[str]) -> Iterator[Said]:
    rest = tuple(p for p in said.pieces if not isinstance(p, ToolResult) or p.call_id not in late)
    if rest or not said.pieces:
        yield said._replace(pieces=rest)


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

"""The open end of a session, and what new messages make of it.

A turn is open until the next one begins: results may still come. So the end is written down as the
provider had it, the new messages are put behind it, and all is read again: what a turn is, is known
in one place only."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from kedge.formats import Head, is_provider
from kedge.formats.registry import recognise
from kedge.formats.turns.draft import asks
from kedge.living.alignment import Envelope, Message
from kedge.living.merging import merged
from kedge.model import CallRef, Note, ResultRef, ToolCall, ToolResult, Transcript, Turn
from kedge.model import Message as Laid
from kedge.reading import read
from kedge.writing import write

USUAL = "openai-chat"
"""The provider whose shape is taken for messages that could be anyone's."""


class Tail(NamedTuple):
    turn: Turn | None = None
    """The last turn, whatever it still lacks."""
    pending: Turn | None = None
    """Words behind it that wait for an answer."""
    before: int = 0
    """Messages before the first turn: the system prompt."""
    asked: bool = False
    """Whether the user has asked for anything: what comes before that is of no exchange yet."""

    @property
    def first(self) -> int:
        """Index of the turn that is read first."""
        return self.turn.index if self.turn else 0

    @property
    def exchange(self) -> int:
        """The one that is under way; -1 before the first."""
        return self.turn.exchange if self.turn and self.asked else -1


class Extended(NamedTuple):
    turns: tuple[Turn, ...]
    """From the open one on, which may be as it was."""
    pending: Turn | None
    about: Transcript
    """What was read beside them."""
    first: int = 0
    """Place of the first new message in the list of all."""


def provider_of(messages: Sequence[Message], usual: str) -> str:
    """The format the messages are in; what could be anyone's is the session's own."""
    found = recognise(Head(_document(messages)))
    name = found.format.name if found.format is not None else usual
    return usual if name == "plain" else name


def only_words(messages: Sequence[Message], provider: str) -> Turn | None:
    """What the messages say, where they are words of the user's and nothing else."""
    alone = read(_document(messages), format=provider, counter=None)
    words = alone.pending
    if alone.turns or words is None or words.tool_results or alone.head or alone.compactions:
        return None
    return words


def placed(words: Turn, tail: Tail) -> Turn:
    """Words as those that come behind a tail."""
    exchange = max(tail.exchange + opens(words), 0)
    index = tail.first + 1 if tail.turn else 0
    moved = replace(words, index=index, exchange=exchange)
    return _shifted(moved, next_item((tail.turn, tail.pending), tail.before))


def extended(tail: Tail, messages: Sequence[Message], provider: str) -> Extended:
    """The end of the session with the messages behind it."""
    if not is_provider(provider) or _is_foreign(tail.turn, provider):
        # The end cannot be written in this shape, or not without loss.
        alone = read(_document(messages), format=provider, counter=None)
        following = next_item((tail.turn, tail.pending), tail.before)
        alone = replace(
            alone,
            turns=tuple(_shifted(turn, following) for turn in alone.turns),
            pending=_shifted(alone.pending, following) if alone.pending else None,
        )
        made = _numbered(merged(tail.turn, tail.pending, alone), tail, {})
        return made._replace(first=following)
    places = sorted(set(items_of((tail.turn, tail.pending))))
    before = _written(tail, provider, places)
    found = read(_document([*before, *messages]), format=provider, counter=None)
    if len(places) != len(before):  # not all of it is written, or it has no places
        first = places[0] if places else tail.before
        places = list(range(first, first + len(before)))
    following = places[-1] + 1 if places else tail.before
    places += range(following, following + len(messages))
    whole = _headless(found) if before else found
    return _numbered(whole, tail, dict(enumerate(places)))._replace(first=following)


def _is_foreign(turn: Turn | None, provider: str) -> bool:
    """Whether a turn has another layout than this provider's, or none."""
    if turn is None:
        return False
    wires = [message.wire for message in turn.messages]
    return not any(wire and wire.get("provider") == provider for wire in wires)


def beside(envelope: Envelope, system: Sequence[Message], provider: str) -> Transcript:
    """What a request says beside its conversation: the system prompt, tools, the model."""
    listed = [dict(message) for message in system]
    document = {**envelope.body, envelope.field: listed} if envelope.field else listed
    return read(json.dumps(document, default=str).encode("ascii"), format=provider, counter=None)


def _written(tail: Tail, shape: str, places: Sequence[int]) -> list[Message]:
    """The tail as a list that begins with it and has no gaps: so it is written as it was read."""
    ranks = {place: rank for rank, place in enumerate(places)}
    turns = (_placed(tail.turn, ranks),) if tail.turn else ()
    pending = _placed(tail.pending, ranks) if tail.pending else None
    return [*write(Transcript(format=shape, turns=turns, pending=pending), to=shape).messages]


def _headless(found: Transcript) -> Transcript:
    """What was read of an end that begins with a system message: it is no prompt, but part of the
    turn it stands in."""
    if not found.head:
        return found
    notes = [part for one in found.head for part in one.parts if isinstance(part, Note)]

    def whole(turn: Turn) -> Turn:
        return replace(turn, messages=(*found.head, *turn.messages), notes=(*notes, *turn.notes))

    if found.turns:
        return replace(found, turns=(whole(found.turns[0]), *found.turns[1:]), head=())
    pending = whole(found.pending or Turn())
    return replace(found, pending=pending, head=())


def _numbered(found: Transcript, tail: Tail, places: Mapping[int, int]) -> Extended:
    """Turns with the numbers they have in the session, and their messages with the places in the
    list of all messages. The tail may have gaps: what stands there went to the turn before."""
    exchange = tail.exchange
    turns: list[Turn] = []
    for turn in found.turns:
        if turns or tail.turn is None:
            exchange += opens(turn)
        home = replace(turn, index=turn.index + tail.first, exchange=max(exchange, 0))
        turns.append(_placed(_named(home), places))
    if turns and tail.turn is not None:
        turns[0] = _grown(tail.turn, turns[0])
    pending = found.pending
    if pending is not None:
        number = max(exchange + opens(pending), 0)
        moved = replace(pending, index=pending.index + tail.first, exchange=number)
        pending = _placed(_named(moved), places)
    return Extended(tuple(turns), pending, found)


def _named(turn: Turn) -> Turn:
    """With ids of its own for calls whose provider gives them none: those that were made while a
    piece was read are only different within the piece."""
    made = (one.id for one in turn.tool_calls if _is_made(one))
    lone = (one.call_id for one in turn.tool_results if _is_made(one))
    ids = {id: f"call-{turn.index}-{n}" for n, id in enumerate(dict.fromkeys((*made, *lone)))}
    if not ids:
        return turn
    return replace(
        turn,
        tool_calls=tuple(replace(one, id=ids.get(one.id, one.id)) for one in turn.tool_calls),
        tool_results=tuple(
            replace(one, call_id=ids.get(one.call_id, one.call_id)) for one in turn.tool_results
        ),
    )


def _is_made(one: ToolCall | ToolResult) -> bool:
    return bool(one.wire and one.wire.get("made_id"))


def _grown(was: Turn, now: Turn) -> Turn:
    """The open turn read again, with what only its place in the session told of it: what failed
    before it, and which of its messages it shares with the turn before."""
    known = {_item(message): message for message in was.messages if _item(message) >= 0}
    messages = []
    for message in now.messages:
        before = known.get(_item(message))
        same = before is not None and before.parts == message.parts
        messages.append(before if before is not None and same else message)
    return replace(
        now,
        messages=tuple(messages),
        previous_error=was.previous_error,
        timestamp=now.timestamp or was.timestamp,
    )


def opens(turn: Turn) -> bool:
    """Whether a turn, or words that wait, begin an exchange."""
    if not turn.messages:
        return bool(turn.user_message.strip())
    return any(
        asks(part)
        for message in turn.messages
        if message.role == "user"
        for part in message.parts
        if not isinstance(part, (CallRef, ResultRef))
    )


def next_item(turns: Iterable[Turn | None], default: int = 0) -> int:
    """Place in the list of messages behind those of the turns."""
    return max((item + 1 for item in items_of(turns)), default=default)


def items_of(turns: Iterable[Turn | None]) -> list[int]:
    """Places of their messages in the list of all."""
    messages = (message for turn in turns if turn is not None for message in turn.messages)
    return [item for message in messages if (item := _item(message)) >= 0]


def _item(message: Laid) -> int:
    """Its place in the list it was read from; -1 where there is none."""
    place: int = message.wire.get("item", -1) if message.wire else -1
    return place


def _placed(turn: Turn, places: Mapping[int, int]) -> Turn:
    """With its messages at the places that those they have stand for."""
    messages = (
        replace(message, wire={**message.wire, "item": places[_item(message)]})
        if message.wire and _item(message) in places
        else message
        for message in turn.messages
    )
    return replace(turn, messages=tuple(messages))


def _shifted(turn: Turn, by: int) -> Turn:
    return replace(turn, messages=behind(turn.messages, by)) if by else turn


def behind(messages: Iterable[Laid], by: int) -> tuple[Laid, ...]:
    """Messages with their places in the list moved."""
    return tuple(
        replace(message, wire={**message.wire, "item": _item(message) + by})
        if message.wire and _item(message) >= 0
        else message
        for message in messages
    )


def longer(head: tuple[Laid, ...], told: tuple[Laid, ...]) -> tuple[Laid, ...]:
    """A prompt whose messages come one by one, each maybe twice."""
    before = len(head) - len(told)
    if before >= 0 and head[before:] == behind(told, before):
        return head
    return (*head, *behind(told, len(head)))


def _document(messages: Sequence[Message]) -> bytes:
    return json.dumps([dict(message) for message in messages], default=str).encode("ascii")

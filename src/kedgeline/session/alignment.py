"""Messages of providers: which of a list are new, and what they make of a session's open end."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping, Sequence
from hashlib import sha256
from types import MappingProxyType
from typing import Any, NamedTuple

from msgspec.structs import replace

from kedgeline.errors import NotAMessage, SeveralSessions
from kedgeline.formats import FileHead, Log, Written, is_provider, provider_names
from kedgeline.formats.providers.messages import conversations
from kedgeline.formats.registry import recognise, unread_in
from kedgeline.formats.turns import asks
from kedgeline.model import CallRef, Note, ResultRef, Source, ToolCall, ToolResult, Transcript, Turn
from kedgeline.model import Message as Laid
from kedgeline.model import Message as PartsMessage
from kedgeline.pipeline.lists import item_of
from kedgeline.pipeline.read import Readable, open_source, read, stream, write
from kedgeline.pipeline.view import PROVIDERS, problems

Message = dict[str, Any]
IDS = ("id", "uuid", "call_id", "tool_call_id", "tool_use_id")
"""Fields in which providers name a message, a call, or the call that a result answers."""
BLOCKS = ("content", "parts", "tool_calls", "data", "functionCall", "functionResponse")
"""Fields of a message in which such names may stand deeper."""
ID_LENGTH = 32
"""Characters of a content id: 128 bits are enough to tell the messages of a session apart."""
REQUESTS = ("messages", "contents", "input")
"""Where the request of a model API has its messages."""
AROUND_BLOCK = frozenset({"cache_control", "annotations", "logprobs", "citations", "obfuscation"})
"""Fields of a block that say nothing: some are taken from one message and put on the next."""
AROUND = AROUND_BLOCK | {
    *("id", "uuid", "object", "model", "usage", "status", "created", "created_at", "timestamp"),
    *("stop_reason", "stop_sequence", "finish_reason", "service_tier", "container"),
}
"""Fields of a message that an answer of the API has, and that are gone when it is sent again."""
TEXTS = ("text", "input_text", "output_text")
"""Types of blocks that are nothing but text."""
SYSTEM = ("system", "developer")


class IdentifiedMessage(NamedTuple):
    """A message with its content id."""

    message: Message
    id: str
    named: bool
    """Whether the provider gave it, or a call in it, an id: then no other message is equal to it.
    """

    @property
    def is_system(self) -> bool:
        return self.message.get("role", self.message.get("type")) in SYSTEM


class Envelope(NamedTuple):
    """Messages, and what the request of a model API holds beside them."""

    messages: Sequence[Message]
    body: Mapping[str, Any] = MappingProxyType({})
    field: str = ""
    """Where in the request the messages stand."""


def envelope_of(given: Sequence[Message]) -> Envelope:
    """Messages as they are given: in a list, or in one request of a model API."""
    only = given[0] if len(given) == 1 else {}
    if "role" in only or "type" in only:
        return Envelope(given)
    for field in REQUESTS:
        if isinstance(only.get(field), list):
            return Envelope(only[field], {k: v for k, v in only.items() if k != field}, field)
    return Envelope(given)


def identified(messages: Sequence[Message]) -> list[IdentifiedMessage]:
    """Messages, each with its content id."""
    return [IdentifiedMessage(one, _content_id(one), _is_named(one)) for one in messages]


def message_blocks(message: Message) -> list[str]:
    """The blocks of a message and what else it says, each with its role; of a system message, which
    stands beside the others, none."""
    kept = _normal(message)
    role = kept.pop("role", "")
    if role in SYSTEM:
        return []
    blocks = [*kept.pop("content", ()), *kept.pop("parts", ()), *([kept] if kept else ())]
    return [json.dumps([role, one], sort_keys=True, default=str) for one in blocks]


def overlap(ids: Sequence[str], before: Sequence[str]) -> int:
    """How many of the first ids are the last of those before: the longest run that is both.

    In one pass (the prefix function): a list of a million is looked at once."""
    joined = [*ids, "", *before]
    border = [0] * len(joined)
    for place in range(1, len(joined)):
        length = border[place - 1]
        while length and joined[place] != joined[length]:
            length = border[length - 1]
        border[place] = length + (joined[place] == joined[length])
    return min(border[-1], len(ids)) if before and ids else 0


def unknown(found: Sequence[IdentifiedMessage], known: Collection[str]) -> list[IdentifiedMessage]:
    """Without the messages that are there already and cannot be meant again."""
    return [one for one in found if not (one.named and one.id in known)]


def _content_id(message: Message) -> str:
    """Equal for equal content: whatever the order of its keys, what a client put around it, and
    whether a text stands alone or in a block."""
    text = json.dumps(_normal(message), sort_keys=True, separators=(",", ":"))
    return sha256(text.encode("ascii")).hexdigest()[:ID_LENGTH]


def _normal(message: Message) -> dict[str, Any]:
    kept = {name: value for name, value in message.items() if name not in AROUND and value}
    if kept.get("type") == "message":  # that it is one goes without saying
        del kept["type"]
    for field in ("content", "parts"):
        if isinstance(kept.get(field), (str, list)):
            kept[field] = _blocks(kept[field])
    return kept


def _blocks(content: str | list[Any]) -> list[Any]:
    return [_block(one) for one in ([content] if isinstance(content, str) else content)]


def _block(block: Any) -> Any:
    if isinstance(block, str):
        return {"text": block}
    if not isinstance(block, dict):
        return block
    kept = {name: value for name, value in block.items() if name not in AROUND_BLOCK}
    if kept.get("type") in TEXTS and isinstance(kept.get("text"), str):
        return {"text": kept["text"]}
    if isinstance(kept.get("content"), (str, list)):
        kept["content"] = _blocks(kept["content"])
    return {name: value for name, value in kept.items() if value is not None}


def _is_named(value: Any, depth: int = 0) -> bool:
    if isinstance(value, list):
        return any(_is_named(one, depth) for one in value)
    if not isinstance(value, dict) or depth > len(BLOCKS):
        return False
    if any(isinstance(value.get(name), str) and value[name] for name in IDS):
        return True
    return any(_is_named(value.get(name), depth + 1) for name in BLOCKS)


# Turns put together from what was said before and what came: for shapes that cannot be written
# back, and for turns that were built elsewhere.


def _merged(last: Turn | None, waiting: Turn | None, found: Transcript) -> Transcript:
    """What was read alone, behind the last turn and the words that wait: results go to the calls
    of that turn, and words to the answer. A turn that is put together has no layout."""
    several = [*found.turns, *((found.pending,) if found.pending else ())]
    if several:
        several[0], late = _without_late(several[0], last)
        last = _with(last, late) if last is not None and late else last
    first = several[0] if several else Turn()
    first = answering(first, waiting) if waiting is not None else first
    turns = (first, *found.turns[1:]) if found.turns else ()
    pending = found.pending if found.turns else None if first.is_blank else first
    before = (last,) if last is not None else ()
    numbered = (replace(turn, index=n) for n, turn in enumerate((*before, *turns)))
    pending = replace(pending, index=len(before) + len(turns)) if pending else None
    return replace(found, turns=tuple(numbered), pending=pending)


def answering(turn: Turn, words: Turn) -> Turn:
    """A turn with the words before it, unless it has them already."""
    given = f"{turn.user_message}\n\n"
    if words.user_message and given.startswith(f"{words.user_message}\n\n"):
        return turn
    said = (words.user_message, turn.user_message)
    laid = bool(words.messages and turn.messages)
    return replace(
        turn,
        user_message="\n\n".join(text for text in said if text),
        notes=(*words.notes, *turn.notes),
        media=(*words.media, *turn.media),
        messages=(*words.messages, *turn.messages) if laid else (),
        tokens=0,
    )


def _without_late(turn: Turn, last: Turn | None) -> tuple[Turn, tuple[ToolResult, ...]]:
    """A turn without the results that answer calls of the one before it, and these."""
    own = {call.id for call in turn.tool_calls}
    open_calls = {call.id for call in last.tool_calls} - own if last is not None else set()
    late = tuple(one for one in turn.tool_results if one.call_id in open_calls)
    if not late:
        return turn, ()
    rest = tuple(one for one in turn.tool_results if one.call_id not in open_calls)
    return replace(turn, tool_results=rest, messages=(), tokens=0), late


def _with(turn: Turn, late: tuple[ToolResult, ...]) -> Turn:
    """A turn with further results. Its layout stays, with a message for them at its end: thinking
    is sent back as it was sealed, or not at all."""
    have = len(turn.tool_results)
    parts = tuple(ResultRef(position=have + n) for n in range(len(late)))
    laid = (*turn.messages, PartsMessage(role="tool", parts=parts)) if turn.messages else ()
    return replace(turn, tool_results=(*turn.tool_results, *late), messages=laid, tokens=0)


# The open end of a session, and what new messages make of it.

USUAL = "openai-chat"
"""The provider whose shape is taken for messages that could be anyone's."""


class OpenEnd(NamedTuple):
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
    found = recognise(FileHead(_document(messages))).format
    if found is not None and found.name != "plain":
        return found.name
    if unread_in(usual, messages) is None:
        return usual

    def reach(name: str) -> int:
        unread = unread_in(name, messages)
        return len(messages) if unread is None else unread[0]

    # As a whole it may be nobody's: who reads the most of it can name what it breaks at.
    return found.name if found is not None else max((usual, *provider_names()), key=reach)


def refuse_unread(messages: Sequence[Message], format: str) -> None:
    """Refuse messages of which the format would lose something."""
    if (found := unread_in(format, messages)) is not None:
        number, unread = found
        raise NotAMessage(f"messages[{number}]{unread.place}", unread.what, unread.todo)


def only_words(messages: Sequence[Message], provider: str) -> Turn | None:
    """What the messages say, where they are words of the user's and nothing else."""
    alone = read(_document(messages), format=provider, counter=None)
    words = alone.pending
    if alone.turns or words is None or words.tool_results or alone.head or alone.compactions:
        return None
    return words


def placed(words: Turn, tail: OpenEnd) -> Turn:
    """Words as those that come behind a tail."""
    exchange = max(tail.exchange + opens(words), 0)
    index = tail.first + 1 if tail.turn else 0
    moved = replace(words, index=index, exchange=exchange)
    return _shifted(moved, next_item((tail.turn, tail.pending), tail.before))


def extended_end(tail: OpenEnd, messages: Sequence[Message], provider: str) -> Extended:
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
        made = _numbered(_merged(tail.turn, tail.pending, alone), tail, {})
        return made._replace(first=following)
    places = sorted(set(places_of((tail.turn, tail.pending))))
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
    document = {**envelope.body, envelope.field: system} if envelope.field else system
    return read(json.dumps(document).encode("ascii"), format=provider, counter=None)


def _written(tail: OpenEnd, shape: str, places: Sequence[int]) -> list[Message]:
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


def _numbered(found: Transcript, tail: OpenEnd, places: Mapping[int, int]) -> Extended:
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
    known = {item_of(message): message for message in was.messages if item_of(message) >= 0}
    messages = []
    for message in now.messages:
        before = known.get(item_of(message))
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
    return max((item + 1 for item in places_of(turns)), default=default)


def places_of(turns: Iterable[Turn | None]) -> list[int]:
    """Places of their messages in the list of all."""
    messages = (message for turn in turns if turn is not None for message in turn.messages)
    return [item for message in messages if (item := item_of(message)) >= 0]


def _placed(turn: Turn, places: Mapping[int, int]) -> Turn:
    """With its messages, and so the turn itself, at the places that those they have stand for."""
    messages = (
        replace(message, wire={**message.wire, "item": places[item_of(message)]})
        if message.wire and item_of(message) in places
        else message
        for message in turn.messages
    )
    return _with_source(replace(turn, messages=tuple(messages)))


def _shifted(turn: Turn, by: int) -> Turn:
    if not by:
        return turn
    return _with_source(replace(turn, messages=behind(turn.messages, by)))


def _with_source(turn: Turn) -> Turn:
    """With the places of its messages as its source: those within the piece that was read would
    say nothing about the turns around it."""
    items = places_of((turn,))
    return replace(turn, source=Source(first=min(items), last=max(items))) if items else turn


def behind(messages: Iterable[Laid], by: int) -> tuple[Laid, ...]:
    """Messages with their places in the list moved."""
    return tuple(
        replace(message, wire={**message.wire, "item": item_of(message) + by})
        if message.wire and item_of(message) >= 0
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
    return json.dumps(list(messages)).encode("ascii")


# The list of messages that a provider gets of a session, and what is in a list that is added.

JOINED = " twice"
"""Ends what is found where messages of one role follow each other: a provider joins them."""
UNLIKE = "a message is not of the provider's shape: the list is as it came"


def sendable(transcript: Transcript, provider: str) -> Written:
    """The transcript in a provider's shape. Messages stay as they came and in the order they came
    in, unless the provider refuses that: words may come while a call runs, and a result when the
    next turn has begun. What it would still refuse is said in `left_out`."""
    written = write(transcript, to=provider)
    if not (found := _refused(provider, written)):
        return written
    repaired = write(_cut(transcript), to=provider)
    left = _refused(provider, repaired)
    if len(left) >= len(found):
        repaired, left = written, found
    return repaired._replace(left_out=(*repaired.left_out, *left))


def _refused(provider: str, written: Written) -> list[str]:
    if provider not in PROVIDERS:
        return []
    try:
        found = problems(provider, written.messages)
    except (KeyError, TypeError, AttributeError, ValueError):
        return [UNLIKE]
    return [f"{provider} refuses it: {one}" for one in found if not one.endswith(JOINED)]


def _cut(transcript: Transcript) -> Transcript:
    """The transcript as one whose list lacks a message: such a list is made legal, and one that is
    there from its first message on is written as it was."""

    def moved(turn: Turn) -> Turn:
        return replace(turn, messages=behind(turn.messages, 1))

    pending = transcript.pending
    return replace(
        transcript,
        turns=tuple(map(moved, transcript.turns)),
        pending=moved(pending) if pending else None,
    )


class _Listed(NamedTuple):
    """Messages of a model API, or an agent's whole session."""

    format: str
    messages: list[dict[str, Any]] | None = None
    """The messages, or the one request that holds them; None for an agent's session."""


def listed(source: Readable, format: str | None = None, *, session: int | None = None) -> _Listed:
    """What is in a source that can be opened twice."""
    name = stream(source, format=format).format
    if name not in (*provider_names(), "plain"):
        return _Listed(name)
    given = open_source(source)
    found = list(conversations(given.lines, Log()))
    if not found:
        return _Listed(name, [])
    if (session is None and len(found) > 1) or (session or 0) >= len(found):
        raise SeveralSessions(given.name, count=len(found), chosen=session)
    chosen = found[session or 0]
    messages = [message for _, message in chosen.messages]
    return _Listed(name, [{**chosen.body, "messages": messages}] if chosen.body else messages)

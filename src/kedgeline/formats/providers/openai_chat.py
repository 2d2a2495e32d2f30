"""OpenAI's Chat Completions API, and the many that speak it: lists of messages, whole requests."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from kedgeline.formats.content import (
    as_json,
    media_of,
    parsed_arguments,
    said_by_user,
    text_and_media,
)
from kedgeline.formats.intake import Head, Lines, Record, mapping, mappings, string
from kedgeline.formats.log import Line, Log
from kedgeline.formats.providers.messages import (
    CALL_BLOCKS,
    ListReader,
    as_notes,
    blocks_in,
    body_of,
    foreign,
    sampled,
    turns_of,
    types_in,
    unread_of,
)
from kedgeline.formats.providers.repair import laid_out
from kedgeline.formats.providers.wire import (
    OPENAI_NAMES,
    Dialect,
    Said,
    block_of,
    blocks_of,
    kept,
    own,
    restored,
    same_pieces,
    seal,
    sealed,
    sealed_one,
    shaped,
    text_of_result,
)
from kedgeline.formats.registry import Unread, Written
from kedgeline.formats.turns import Piece
from kedgeline.model import (
    Media,
    Note,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Transcript,
    Turn,
    Wire,
)

# Chat messages as pieces, and pieces as chat messages.

PROVIDER = "openai-chat"
ROLES = ("system", "developer", "user", "assistant", "tool", "function")
REASONING = ("reasoning_content", "reasoning")
"""Where vendors put what the model thought; the API itself has no place for it."""


NewId = Callable[[str], str]
"""Makes the id that a call of this tool lacks."""


def pieces_of(message: Record, new_id: NewId) -> tuple[Piece, ...]:
    """What a message of the system, the user or the assistant holds."""
    role = string(message.get("role"))
    content = _content(role, message.get("content"))
    if role == "assistant":
        return (*_thoughts(message), *content, *_words_beside(message), *_calls(message, new_id))
    return content if role in ROLES else as_notes(content)


def result_of(message: Record, call_id: str) -> ToolResult:
    """The result in a message of the role `tool`, or `function` of old."""
    output, media = text_and_media(message.get("content"))
    result = ToolResult(call_id=call_id, output=output, media=media)
    marks: Wire = {}
    if message.get("role") == "function":
        marks = {"field": "function_call", "name": string(message.get("name"))}
    elif not message.get("tool_call_id"):
        marks = {"made_id": True}
    return sealed_one(PROVIDER, message, result, _plain_result, **marks)


def wire_of(message: Record, pieces: Sequence[Piece], item: int) -> Wire:
    """What it takes to write the message again out of its pieces."""
    marks: Wire = {"item": item}
    if isinstance(message.get("content"), list):
        marks["shape"] = "list"
    plain = _plain_message(_role(string(message.get("role"))), pieces, marks)
    return seal(PROVIDER, message, plain, **marks) or {}


def message_of(role: Role, pieces: Sequence[Piece], wire: Wire) -> Record:
    """One message, as it was read where the wire says how."""

    def holds(message: Record) -> bool:
        made = iter([p.id for p in pieces if isinstance(p, ToolCall) and is_made(p)])
        return same_pieces(pieces_of(message, lambda _: next(made, "")), pieces)

    return restored(wire, _plain_message(role, pieces, wire), holds)


def result_message(result: ToolResult) -> Record:
    def reread(message: Record, piece: Piece) -> Sequence[Piece]:
        return (result_of(message, result.call_id),)

    message: Record = block_of(PROVIDER, result, _plain_result, reread)
    return message


def plain_media(media: Media) -> Record | None:
    subtype = media.mime.rpartition("/")[2]
    url = f"data:{media.mime};base64,{media.data}" if media.data else media.url
    if media.kind == "image":
        return {"type": "image_url", "image_url": {"url": url}} if url else None
    if not media.data or media.kind == "video":
        return None
    if media.kind == "audio":
        return {"type": "input_audio", "input_audio": {"data": media.data, "format": subtype}}
    return {"type": "file", "file": {"filename": f"file.{subtype or 'bin'}", "file_data": url}}


def _role(role: str) -> Role:
    """The role of a message in its turn."""
    if role == "developer":
        return "system"
    return "assistant" if role == "assistant" else "system" if role == "system" else "user"


def _content(role: str, content: Any) -> tuple[Piece, ...]:
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    if not isinstance(content, list):
        return ()
    return tuple(piece for part in content for piece in _read(role, part))


def _read(role: str, part: Any) -> tuple[Piece, ...]:
    kind = part.get("type") if isinstance(part, dict) else type(part).__name__
    if kind == "text" and isinstance(part.get("text"), str):
        said = said_by_user(part["text"]) if role == "user" else (Text(text=part["text"]),)
        return sealed(PROVIDER, part, said, _plain)
    if kind == "refusal" and isinstance(part.get("refusal"), str):
        return sealed(PROVIDER, part, (Text(text=part["refusal"]),), _plain, type="refusal")
    if isinstance(part, dict) and (media := media_of(part)) is not None:
        return sealed(PROVIDER, part, (media,), _plain)
    return (kept(PROVIDER, kind, part),)


def _thoughts(message: Record) -> tuple[Piece, ...]:
    for field in REASONING:
        if isinstance(text := message.get(field), str) and text:
            return (Thinking(text=text, wire={"provider": PROVIDER, "field": field}),)
    return ()


def _words_beside(message: Record) -> tuple[Piece, ...]:
    """A refusal, and what was said in audio."""
    said = {
        "refusal": message.get("refusal"),
        "audio": mapping(message.get("audio")).get("transcript"),
    }
    return tuple(
        Text(text=text, wire={"provider": PROVIDER, "field": field})
        for field, text in said.items()
        if isinstance(text, str)
    )


def _calls(message: Record, new_id: NewId) -> tuple[Piece, ...]:
    calls = [_call(call, new_id) for call in mappings(message.get("tool_calls"))]
    if isinstance(old := message.get("function_call"), dict):
        tool = string(old.get("name"))
        arguments = parsed_arguments(old.get("arguments"))
        call = ToolCall(id=new_id(tool), tool=tool, parameters=arguments)
        marks = {"field": "function_call", "made_id": True}
        calls.append(sealed_one(PROVIDER, old, call, _plain_call, **marks))
    return tuple(calls)


def _call(block: Record, new_id: NewId) -> Piece:
    custom = block.get("type") == "custom"
    inner = mapping(block.get("custom" if custom else "function"))
    arguments = {"input": inner.get("input")} if custom else inner.get("arguments")
    tool, call_id = string(inner.get("name")), string(block.get("id"))
    marks: Wire = {"type": "custom"} if custom else {}
    if not call_id:
        marks["made_id"] = True
    call = ToolCall(id=call_id or new_id(tool), tool=tool, parameters=parsed_arguments(arguments))
    return sealed_one(PROVIDER, block, call, _plain_call, **marks)


def is_made(piece: Piece) -> bool:
    """Whether the id of a call or result was made while reading."""
    return bool(own(piece.wire, PROVIDER).get("made_id"))


def _field(piece: Piece) -> str:
    """The field beside the content that a piece stands in; empty when it stands in the content."""
    return string(own(piece.wire, PROVIDER).get("field"))


def _plain(piece: Piece) -> Record | None:
    if isinstance(piece, (Text, Note)):
        if own(piece.wire, PROVIDER).get("type") == "refusal":
            return {"type": "refusal", "refusal": piece.text}
        return {"type": "text", "text": piece.text}
    return plain_media(piece) if isinstance(piece, Media) else None


def _plain_call(piece: Piece) -> Record | None:
    if not isinstance(piece, ToolCall):
        return None
    wire = own(piece.wire, PROVIDER)
    named = {} if is_made(piece) else {"id": piece.id}
    if wire.get("type") == "custom":
        custom = {"name": piece.tool, "input": piece.parameters.get("input")}
        return {**named, "type": "custom", "custom": custom}
    function = {"name": piece.tool, "arguments": as_json(piece.parameters)}
    if wire.get("field"):
        return function
    return {**named, "type": "function", "function": function}


def _plain_result(piece: Piece) -> Record | None:
    if not isinstance(piece, ToolResult):
        return None
    content = text_of_result(piece)
    wire = own(piece.wire, PROVIDER)
    if wire.get("field"):
        return {"role": "function", "name": wire.get("name", ""), "content": content}
    named = {} if is_made(piece) else {"tool_call_id": piece.call_id}
    return {"role": "tool", **named, "content": content}


def _plain_message(role: Role, pieces: Sequence[Piece], wire: Wire) -> Record:
    inside = [p for p in pieces if not isinstance(p, (Thinking, ToolCall)) and not _field(p)]
    parts = blocks_of(PROVIDER, inside, _plain, lambda part, _: _read(role, part))
    message: Record = {"role": role, "content": shaped(role, parts, wire, empty=None)}
    for piece in pieces:
        field = _field(piece)
        if isinstance(piece, (Text, Thinking)) and field and field != "audio":
            message[field] = piece.text
    calls = [
        (_field(call), block_of(PROVIDER, call, _plain_call, _reread_call))
        for call in pieces
        if isinstance(call, ToolCall)
    ]
    if listed := [block for field, block in calls if not field]:
        message["tool_calls"] = listed
    return message | {field: block for field, block in calls if field}


def _reread_call(block: Record, piece: Piece) -> Sequence[Piece]:
    call_id = piece.id if isinstance(piece, ToolCall) else ""
    if _field(piece):
        return _calls({"function_call": block}, lambda _: call_id)
    return (_call(block, lambda _: call_id),)


# Lists of chat messages and whole requests into turns, and transcripts into such lists.

OWN_ROLES = {"tool", "developer", "function"}
OWN_FIELDS = {"tool_calls", "tool_call_id", "function_call", *REASONING}
SAID = ("content", "tool_calls", "function_call", "refusal", "audio")
"""Fields of which a message must have one; with none of them it is refused."""
OWN_PARTS = {"image_url", "input_audio", "file", "refusal"}


class OpenAIChat:
    name = PROVIDER

    def sniff(self, head: Head) -> int:
        messages = sampled(head, ("messages",))
        if not messages or any(message.get("role") not in ROLES for message in messages):
            return 0
        if any(foreign(message, CALL_BLOCKS) for message in messages):
            return 0
        if any(m.keys() & OWN_FIELDS or m.get("role") in OWN_ROLES for m in messages):
            return 3
        types = types_in(blocks_in(messages))
        if types & OWN_PARTS:
            return 3
        spoken = all("content" in message for message in messages)
        return 2 if spoken and not types and {"model", "messages"} <= body_of(head).keys() else 0

    def read(self, lines: Lines, log: Log) -> Iterator[Turn]:
        return turns_of(lines, log, MessageReader, ("messages",))

    def unread(self, message: Record) -> Unread | None:
        return unread_of(message, ROLES, (*SAID, *REASONING), CALL_BLOCKS)

    def write(self, transcript: Transcript) -> Written:
        layout = laid_out(transcript, DIALECT)
        said = [*layout.head, *layout.said]
        messages = [message for one in said for message in _messages(one, layout.as_read)]
        return Written(messages, None, layout.left_out)


FORMAT = OpenAIChat()


class MessageReader(ListReader):
    name = PROVIDER

    def take(self, line: Line, message: Record) -> None:
        role = string(message.get("role"))
        if role in ("tool", "function"):
            tool = string(message.get("name")) or string(message.get("tool_name"))
            call_id = self._calls.answered(tool, string(message.get("tool_call_id")))
            result = result_of(message, call_id)
            wire = {"provider": PROVIDER, "item": self._item}
            self.assembler.results(line, [result], wire=wire)
        elif role == "assistant":
            self._assistant(line, message)
        else:
            pieces = pieces_of(message, self._calls.called)
            self.report(line, pieces)
            wire = wire_of(message, pieces, self._item)
            if role in ("system", "developer"):
                self.assembler.system(line, pieces, wire=wire)
            else:
                self.assembler.user(line, pieces, wire=wire)
        self._item += 1

    def _assistant(self, line: Line, message: Record) -> None:
        self._calls.forget()
        pieces = pieces_of(message, self._calls.called)
        for piece in pieces:
            if isinstance(piece, ToolCall) and not is_made(piece):
                self._calls.called(piece.tool, piece.id)
        self.report(line, pieces)
        wire = wire_of(message, pieces, self._item)
        self.assembler.assistant(line, pieces, message_id=string(message.get("id")), wire=wire)


def _messages(said: Said, as_read: bool) -> Iterator[Record]:
    results = [piece for piece in said.pieces if isinstance(piece, ToolResult)]
    for result in results:
        yield result_message(result)
    if results:
        return
    message = message_of(said.role, said.pieces, said.wire)
    if as_read or _says_something(message):
        yield message


def _says_something(message: Record) -> Any:
    return any(message.get(key) for key in SAID)


DIALECT = Dialect(
    provider=PROVIDER,
    takes=lambda role, piece: (
        not isinstance(piece, Media) or (role == "user" and plain_media(piece) is not None)
    ),
    system_inside=True,
    names=OPENAI_NAMES,
)

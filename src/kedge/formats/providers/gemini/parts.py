"""Gemini's contents and parts as pieces, and pieces as contents and parts.

Keys are written in camel case or, by some libraries, with underscores; both are read, and a part is
written back in the case it had.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from kedge.formats.content.blocks import Kind, as_json, text_of
from kedge.formats.content.referenced import NOTHING, Cut, cuts, said_around
from kedge.formats.intake.fields import mapping, mappings, string
from kedge.formats.intake.lines import Record
from kedge.formats.providers.messages import as_notes
from kedge.formats.providers.said import text_of_result
from kedge.formats.providers.wire import blocks_of, kept, own, restored, same_pieces, seal, sealed
from kedge.formats.turns.draft import Piece
from kedge.model import Media, Note, Role, Text, Thinking, ToolCall, ToolResult, Wire

PROVIDER = "gemini"
USER_ROLES = ("user", "function", "tool")
SNAKE = {
    "functionCall": "function_call",
    "functionResponse": "function_response",
    "inlineData": "inline_data",
    "fileData": "file_data",
    "mimeType": "mime_type",
    "fileUri": "file_uri",
    "thoughtSignature": "thought_signature",
}
"""Keys in camel case and with underscores."""
CALLED = ("functionCall", "function_call", "functionResponse", "function_response")
MEDIA_KINDS: tuple[Kind, ...] = ("image", "audio", "video")

Name = Callable[[str, str], str]
"""The id of a call, given its tool and the id that was written, if any."""


def pieces_of(content: Record, called: Name, answered: Name) -> tuple[Piece, ...]:
    """What a content holds; `called` and `answered` give calls and results their ids."""
    role = turn_role(content.get("role"))
    parts = content.get("parts")
    if not isinstance(parts, list):
        return ()
    files = cuts([string(mapping(part).get("text")) for part in parts])
    pieces = tuple(
        piece
        for part, cut in zip(parts, files, strict=True)
        for piece in _read(role, part, called, answered, cut)
    )
    known = role != "user" or content.get("role") in (*USER_ROLES, None)
    return pieces if known else as_notes(pieces)


def turn_role(role: Any) -> Role:
    """The role of a content in its turn; without one it is the user's."""
    if role in ("model", "assistant"):
        return "assistant"
    return "system" if role == "system" else "user"


def wire_of(content: Record, pieces: Sequence[Piece], **marks: Any) -> Wire:
    """What it takes to write the content again out of its pieces."""
    plain = _plain_content(turn_role(content.get("role")), pieces)
    return seal(PROVIDER, content, plain, **marks) or {"provider": PROVIDER}


def under_id(wire: Wire, call_id: str, tool: str) -> Wire:
    """The wire of a call or result without what was written under another id or name."""
    fields = {
        key: value
        for key, value in wire.get("fields", {}).items()
        if key not in CALLED or (value.get("id", call_id), value.get("name", "")) == (call_id, tool)
    }
    return {**wire, "fields": fields} if "fields" in wire else wire


def content_of(role: Role, pieces: Sequence[Piece], wire: Wire) -> Record:
    """One content, as it was read where the wire says how."""

    def holds(content: Record) -> bool:
        ids = iter([_id(p) for p in pieces if isinstance(p, (ToolCall, ToolResult))])
        return same_pieces(pieces_of(content, *[lambda *_: next(ids, "")] * 2), pieces)

    return restored(wire, _plain_content(role, pieces), holds)


def plain_media(media: Media) -> Record | None:
    if media.data:
        return {"inlineData": {"mimeType": media.mime, "data": media.data}}
    if not media.url:
        return None
    mime = {"mimeType": media.mime} if media.mime else {}
    return {"fileData": {**mime, "fileUri": media.url}}


def _read(
    role: Role, part: Any, called: Name, answered: Name, files: Cut = NOTHING
) -> tuple[Piece, ...]:
    if not isinstance(part, dict):
        return (kept(PROVIDER, type(part).__name__, part),)
    camel = _renamed(part, _CAMEL)
    marks: Wire = {} if camel.keys() == part.keys() else {"case": "snake"}
    if isinstance(call := camel.get("functionCall"), dict) and role == "assistant":
        tool, call_id = string(call.get("name")), string(call.get("id"))
        piece: Piece = ToolCall(
            id=called(tool, call_id), tool=tool, parameters=mapping(call.get("args"))
        )
        marks |= {} if call_id else {"made_id": True}
    elif isinstance(answer := camel.get("functionResponse"), dict) and role == "user":
        tool, call_id = string(answer.get("name")), string(answer.get("id"))
        piece = _result(answer, answered(tool, call_id))
        marks |= {"name": tool} if call_id else {"name": tool, "made_id": True}
    elif isinstance(text := camel.get("text"), str) and not camel.get("thought"):
        if role != "user":
            return sealed(PROVIDER, part, (Text(text=text),), _plain, **marks)
        marks |= {} if files == NOTHING else {"files": list(files)}
        return sealed(PROVIDER, part, said_around(text, files), _plain, **marks)
    elif (other := _value(camel)) is not None:
        piece = other
    else:
        return (kept(PROVIDER, next(iter(part), "empty"), part),)
    return sealed(PROVIDER, part, (piece,), _plain, **marks)


def _value(part: Record) -> Piece | None:
    """A thought, or media."""
    if isinstance(text := part.get("text"), str):
        return Thinking(text=text, signature=string(part.get("thoughtSignature")))
    inline, file = part.get("inlineData"), part.get("fileData")
    found = mapping(inline) or mapping(file)
    found = _renamed(found, _CAMEL)
    if not found:
        return None
    mime = string(found.get("mimeType"))
    return Media(
        kind=_kind(mime),
        mime=mime,
        data=string(found.get("data")),
        url=string(found.get("fileUri")),
    )


def _kind(mime: str) -> Kind:
    if mime in ("application/pdf", "text/plain"):
        return "document"
    return next((kind for kind in MEDIA_KINDS if mime.startswith(kind)), "file")


def _result(answer: Record, call_id: str) -> ToolResult:
    response = answer.get("response")
    error = mapping(response).get("error")
    output = text_of(error) if error is not None else _output(response)
    inside = (_value(_renamed(p, _CAMEL)) for p in mappings(answer.get("parts")))
    return ToolResult(
        call_id=call_id,
        success=error is None,
        output=output,
        error=None if error is None else output,
        media=tuple(media for media in inside if isinstance(media, Media)),
    )


def _output(response: Any) -> str:
    """The text of a response: of the one field it usually is, else all of it."""
    if isinstance(response, dict) and len(response) == 1:
        [(key, value)] = response.items()
        if key in ("output", "result", "content"):
            return text_of(value)
    return as_json(response) if response else ""


def _plain(piece: Piece) -> Record | None:
    block = _camel(piece)
    if block is None or own(piece.wire, PROVIDER).get("case") != "snake":
        return block
    return {
        key: _renamed(value, SNAKE) if isinstance(value, dict) else value
        for key, value in _renamed(block, SNAKE).items()
    }


def _camel(piece: Piece) -> Record | None:
    if isinstance(piece, (Text, Note)):
        return {"text": piece.text}
    if isinstance(piece, Thinking):
        seal_of = {"thoughtSignature": piece.signature} if piece.signature else {}
        return {"text": piece.text, "thought": True, **seal_of}
    if isinstance(piece, Media):
        return plain_media(piece)
    if not isinstance(piece, (ToolCall, ToolResult)):
        return None
    wire = own(piece.wire, PROVIDER)
    named = {} if wire.get("made_id") else {"id": _id(piece)}
    if isinstance(piece, ToolCall):
        return {"functionCall": {**named, "name": piece.tool, "args": piece.parameters}}
    text = text_of_result(piece)
    response = {"output": text} if piece.success else {"error": text}
    answer: Record = {**named, "name": wire.get("name", ""), "response": response}
    media = [part for one in piece.media if (part := plain_media(one)) is not None]
    return {"functionResponse": {**answer, "parts": media} if media else answer}


def _plain_content(role: Role, pieces: Sequence[Piece]) -> Record:
    def reread(part: Any, piece: Piece) -> Sequence[Piece]:
        known = _id(piece) if isinstance(piece, (ToolCall, ToolResult)) else ""
        start, end = own(piece.wire, PROVIDER).get("files", NOTHING)
        return _read(role, part, lambda *_: known, lambda *_: known, (start, end))

    parts = blocks_of(PROVIDER, pieces, _plain, reread)
    return {"role": "model" if role == "assistant" else role, "parts": parts}


def _id(piece: ToolCall | ToolResult) -> str:
    return piece.id if isinstance(piece, ToolCall) else piece.call_id


def _renamed(part: Record, names: dict[str, str]) -> Record:
    return {names.get(key, key): value for key, value in part.items()}


_CAMEL = {snake: key for key, snake in SNAKE.items()}

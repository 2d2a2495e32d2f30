"""Google's Gemini API: lists of contents, and whole requests."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from msgspec.structs import replace

from kedgeline.formats.content import NOTHING, Cut, Kind, as_json, cuts, said_around, text_of
from kedgeline.formats.intake import Head, Lines, Record, mapping, mappings, string
from kedgeline.formats.log import Line, Log
from kedgeline.formats.providers.messages import (
    ListReader,
    as_notes,
    blocks_in,
    body_of,
    hand_over,
    sampled,
    turns_of,
    unread_of,
)
from kedgeline.formats.providers.repair import Layout, alternating, laid_out, text_of_head
from kedgeline.formats.providers.wire import (
    GEMINI_NAMES,
    Dialect,
    Said,
    blocks_of,
    kept,
    own,
    restored,
    same_pieces,
    seal,
    sealed,
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

# Gemini's contents and parts as pieces, and pieces as contents and parts.

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


# Lists of Gemini's contents and whole requests into turns, and transcripts into such lists.

ROLES = (*USER_ROLES, "model", "assistant", "system")
SYSTEM_KEYS = ("systemInstruction", "system_instruction")
OWN_PARTS = {"text", "executableCode", "codeExecutionResult", *SNAKE, *SNAKE.values()}
HANDED_THROUGH = {
    "executableCode",
    "executable_code",
    "codeExecutionResult",
    "code_execution_result",
}
"""Parts of the code that the provider runs itself: kept as they are, and not worth reporting."""


class Gemini:
    name = PROVIDER

    def sniff(self, head: Head) -> int:
        contents = sampled(head, ("contents",))
        if not contents or any("parts" not in content for content in contents):
            return 0
        if any(content.get("role") in ("assistant", "agent") for content in contents):
            return 0
        parts = blocks_in(contents, "parts")
        if not parts or any("type" in p or "kind" in p or not p.keys() & OWN_PARTS for p in parts):
            return 0
        spoken = any(content.get("role") == "model" for content in contents)
        return 3 if spoken or "contents" in body_of(head) else 2

    def read(self, lines: Lines, log: Log) -> Iterator[Turn]:
        return turns_of(lines, log, ContentReader, ("contents",))

    def unread(self, content: Record) -> Unread | None:
        # A content without a role is the user's.
        return unread_of({"role": "user", **content}, ROLES, ("parts",))

    def write(self, transcript: Transcript) -> Written:
        layout = laid_out(transcript, DIALECT)
        if not layout.as_read:
            layout = layout._replace(said=_named(layout.said))
        contents = alternating(layout, "parts", content_of)
        return Written(contents, _system(layout), layout.left_out)


FORMAT = Gemini()


class ContentReader(ListReader):
    name, handed_through = PROVIDER, HANDED_THROUGH

    def begin(self, body: Record) -> Record:
        super().begin(body)
        for key in SYSTEM_KEYS:
            system = body.get(key)
            if isinstance(system, str):
                wire = {"provider": PROVIDER, "shape": "string"}
                self.assembler.system(Line(0), [Text(text=system)], wire=wire)
            elif isinstance(system, dict) and isinstance(system.get("parts"), list):
                as_content = {**system, "role": "system"}
                pieces = pieces_of(as_content, self._calls.called, self._calls.answered)
                role = {"role": system["role"]} if "role" in system else {}
                self.assembler.system(Line(0), pieces, wire=wire_of(as_content, pieces, **role))
            else:
                continue
            return {name: value for name, value in body.items() if name != key}
        return body

    def take(self, line: Line, content: Record) -> None:
        role = turn_role(content.get("role"))
        if role == "assistant":
            self._calls.forget()
        pieces = pieces_of(content, self._calls.called, self._calls.answered)
        self.report(line, pieces)
        wire = wire_of(content, pieces, item=self._item)
        self._item += 1
        if role == "assistant":
            self.assembler.assistant(line, pieces, wire=wire)
        elif role == "system":
            self.assembler.system(line, pieces, wire=wire)
        else:
            hand_over(self.assembler, line, pieces, wire)


def _named(said: Sequence[Said]) -> list[Said]:
    """Results with the names of their tools, which other providers do not write; and calls and
    results under the ids they have now, where one occurred twice."""
    calls = {piece.id: piece for one in said for piece in one.pieces if isinstance(piece, ToolCall)}

    def named(piece: Piece) -> Piece:
        if isinstance(piece, ToolCall):
            wire = own(piece.wire, PROVIDER)
            return replace(piece, wire=under_id(wire, piece.id, piece.tool)) if wire else piece
        if not isinstance(piece, ToolResult) or (call := calls.get(piece.call_id)) is None:
            return piece
        wire = own(piece.wire, PROVIDER) or {"provider": PROVIDER}
        # Without an id where its call has none.
        made = own(call.wire, PROVIDER).get("made_id", False)
        wire = {**under_id(wire, piece.call_id, call.tool), "name": call.tool, "made_id": made}
        return replace(piece, wire=wire)

    return [one._replace(pieces=tuple(map(named, one.pieces))) for one in said]


def _system(layout: Layout) -> Any:
    """The system instruction as it was read, where it stands alone; else the text of all."""
    if len(layout.head) == 1 and layout.head[0].wire and layout.head[0].item < 0:
        [head] = layout.head
        if head.wire.get("shape") == "string":
            return text_of_head(layout.head)
        # Its own role says nothing, and most leave it out.
        content = content_of("system", head.pieces, head.wire) | {"role": head.wire.get("role")}
        return {k: v for k, v in content.items() if k != "role" or "role" in head.wire}
    text = text_of_head(layout.head)
    return {"parts": [{"text": text}]} if text else None


DIALECT = Dialect(
    provider=PROVIDER,
    takes=lambda _, piece: not isinstance(piece, Media) or plain_media(piece) is not None,
    signed_by=(PROVIDER,),
    names=GEMINI_NAMES,
)

"""Google's Gemini API: lists of contents, and whole requests."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kedgeline.formats.log import Line
from kedgeline.formats.pieces import (
    NO_FILES,
    as_json,
    as_notes,
    cuts,
    media_of_part,
    plain_words,
    result,
    said_around,
)
from kedgeline.formats.providers.messages import Outputs
from kedgeline.formats.providers.repair import alternating, laid_out, text_of_head
from kedgeline.formats.providers.shape import (
    Ids,
    Names,
    ProviderShape,
    Read,
    Reader,
    SaidMessage,
    Sample,
    id_of,
    named_results,
    text_in,
    text_of_result,
)
from kedgeline.formats.records import Record, mapping, mappings, string
from kedgeline.formats.registry import Unread, Written
from kedgeline.formats.turns import Piece
from kedgeline.model import Media, Role, Text, Thinking, ToolCall, ToolResult, Transcript, Wire

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
CAMEL = {snake: key for key, snake in SNAKE.items()}
SYSTEM_KEYS = ("systemInstruction", "system_instruction")
OWN_PARTS = {"text", "executableCode", "codeExecutionResult", *SNAKE, *SNAKE.values()}


class Gemini(ProviderShape):
    name, field, keys, signed_by = "gemini", "parts", ("contents",), ("gemini",)
    roles = ("user", "function", "tool", "model", "assistant", "system")
    handed_through = (
        *("executableCode", "executable_code"),
        *("codeExecutionResult", "code_execution_result"),
    )
    said = ("parts",)
    names = Names(r"[^a-zA-Z0-9_.-]", longest=64, first=r"[a-zA-Z_]")
    outputs = Outputs(
        "parts",
        ("functionResponse", "function_response"),
        "id",
        "response",
        lambda text: {"output": text},
    )

    def knows(self, message: Record) -> bool:
        return "parts" in message and message.get("role") not in ("assistant", "agent")

    def sure(self, seen: Sample) -> int:
        parts = seen.blocks
        if not parts or any("type" in p or "kind" in p or not p.keys() & OWN_PARTS for p in parts):
            return 0
        spoken = any(content.get("role") == "model" for content in seen.messages)
        return 3 if spoken or "contents" in seen.body else 2

    def unread(self, message: Record) -> Unread | None:
        return super().unread({"role": "user", **message})  # where none is named, it is the user's

    def takes(self, role: Role, piece: Piece) -> bool:
        return not isinstance(piece, Media) or _plain_media(piece) is not None

    def begin(self, reader: Reader, body: Record) -> Record:
        for key in SYSTEM_KEYS:
            system = body.get(key)
            if isinstance(system, str):
                wire: Wire = {"provider": self.name, "shape": "string"}
                reader.assembler.system(Line(0), [Text(text=system)], wire=wire)
            elif isinstance(system, dict) and isinstance(system.get("parts"), list):
                content = {**system, "role": "system"}
                pieces = self.pieces_of(content, reader.calls)
                role = {"role": system["role"]} if "role" in system else {}
                wire = self.wire_of(content, pieces, **role)
                reader.assembler.system(Line(0), pieces, wire=wire)
            else:
                continue
            return {name: value for name, value in body.items() if name != key}
        return body

    def pieces_of(self, message: Record, ids: Ids) -> tuple[Piece, ...]:
        role, parts = self.turn_role(message), message.get("parts")
        if not isinstance(parts, list):
            return ()
        files = cuts([string(mapping(part).get("text")) for part in parts])
        pieces = tuple(
            piece
            for part, cut in zip(parts, files, strict=True)
            for piece in (
                self.pieces_in(role, part, ids)
                if cut == NO_FILES or role != "user"
                else self._around(part, cut)
            )
        )
        return pieces if message.get("role") in (*self.roles, None) else as_notes(pieces)

    def _around(self, part: Record, cut: tuple[int, int]) -> tuple[Piece, ...]:
        """A text of the user's with files that a client put into it."""
        return self.sealed("user", part, said_around(part["text"], cut), {"files": list(cut)})

    def kind_of(self, block: Record) -> str:
        return next(iter(block), "empty")

    def read_block(self, role: str, block: Record, ids: Ids) -> Read | None:
        part = _renamed(block, CAMEL)
        marks: Wire = {} if part.keys() == block.keys() else {"case": "snake"}
        if isinstance(call := part.get("functionCall"), dict) and role == "assistant":
            tool, call_id = string(call.get("name")), string(call.get("id"))
            made = {} if call_id else {"made_id": True}
            parameters = mapping(call.get("args"))
            piece = ToolCall(id=ids.called(tool, call_id), tool=tool, parameters=parameters)
            return (piece,), {**marks, **made}
        if isinstance(answer := part.get("functionResponse"), dict) and role == "user":
            tool, call_id = string(answer.get("name")), string(answer.get("id"))
            made = {} if call_id else {"made_id": True}
            given = _result(answer, ids.answered(tool, call_id))
            return (given,), {**marks, "name": tool, **made}
        if isinstance(text := part.get("text"), str):
            if not part.get("thought"):
                return self.read_text(role, text)[0], marks
            return (Thinking(text=text, signature=string(part.get("thoughtSignature"))),), marks
        media = _media(part)
        return None if media is None else ((media,), marks)

    def write_block(self, role: Role, piece: Piece) -> Record | None:
        block = self._camel(piece)
        if block is None or self.own(piece).get("case") != "snake":
            return block
        return {
            key: _renamed(value, SNAKE) if isinstance(value, dict) else value
            for key, value in _renamed(block, SNAKE).items()
        }

    def _camel(self, piece: Piece) -> Record | None:
        if (text := text_in(piece)) is not None:
            return {"text": text}
        if isinstance(piece, Thinking):
            signed = {"thoughtSignature": piece.signature} if piece.signature else {}
            return {"text": piece.text, "thought": True, **signed}
        if isinstance(piece, Media):
            return _plain_media(piece)
        if not isinstance(piece, (ToolCall, ToolResult)):
            return None
        named = {} if self.is_made(piece) else {"id": id_of(piece)}
        if isinstance(piece, ToolCall):
            return {"functionCall": {**named, "name": piece.tool, "args": piece.parameters}}
        response = {"output" if piece.success else "error": text_of_result(piece)}
        answer = {**named, "name": self.own(piece).get("name", ""), "response": response}
        media = [part for one in piece.media if (part := _plain_media(one)) is not None]
        return {"functionResponse": {**answer, "parts": media} if media else answer}

    def reread(self, role: Role, block: Any, piece: Piece) -> Sequence[Piece]:
        if cut := self.own(piece).get("files"):
            return self._around(block, (cut[0], cut[1]))
        return super().reread(role, block, piece)

    def wire_of(self, message: Record, pieces: Sequence[Piece], **marks: Any) -> Wire:
        return super().wire_of(message, pieces, **marks) or {"provider": self.name}

    def plain_message(self, role: Role, pieces: Sequence[Piece], wire: Wire) -> Record:
        spoken_by = "model" if role == "assistant" else role
        return {"role": spoken_by, "parts": self.written(role, pieces)}

    def write(self, transcript: Transcript) -> Written:
        layout = laid_out(transcript, self)
        if not layout.as_read:
            layout = layout._replace(said=named_results(layout.said, self))
        return Written(alternating(layout, self), self._system(layout.head), layout.left_out)

    def _system(self, head: Sequence[SaidMessage]) -> Any:
        """The system instruction as it was read, where it stands alone; else the text of all."""
        text = text_of_head(head)
        if len(head) != 1 or not head[0].wire or head[0].item >= 0:
            return {"parts": [{"text": text}]} if text else None
        wire = head[0].wire
        if wire.get("shape") == "string":
            return text
        # Its own role says nothing, and most leave it out.
        content = self.message_of("system", head[0].pieces, wire) | {"role": wire.get("role")}
        return {k: v for k, v in content.items() if k != "role" or "role" in wire}


FORMAT = Gemini()


def _media(part: Record) -> Media | None:
    return media_of_part({k: _renamed(mapping(v), CAMEL) for k, v in part.items()})


def _plain_media(media: Media) -> Record | None:
    if media.data:
        return {"inlineData": {"mimeType": media.mime, "data": media.data}}
    if not media.url:
        return None
    mime = {"mimeType": media.mime} if media.mime else {}
    return {"fileData": {**mime, "fileUri": media.url}}


def _result(answer: Record, call_id: str) -> ToolResult:
    response = answer.get("response")
    error = mapping(response).get("error")
    output = plain_words(error) if error is not None else _output(response)
    inside = (_media(_renamed(part, CAMEL)) for part in mappings(answer.get("parts")))
    media = [found for found in inside if found is not None]
    return result(call_id, output, failed=error is not None, media=media)


def _output(response: Any) -> str:
    """The text of a response: of the one field it usually is, else all of it."""
    if isinstance(response, dict) and len(response) == 1:
        [(key, value)] = response.items()
        if key in ("output", "result", "content"):
            return plain_words(value)
    return as_json(response) if response else ""


def _renamed(part: Record, names: dict[str, str]) -> Record:
    return {names.get(key, key): value for key, value in part.items()}

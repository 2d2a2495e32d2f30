"""OpenAI's Chat Completions API, and the many that speak it: lists of messages, whole requests."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar

from kedgeline.formats.pieces import as_json, as_notes, media_of, parsed_arguments, result
from kedgeline.formats.providers.messages import CALL_BLOCKS, Outputs
from kedgeline.formats.providers.repair import laid_out
from kedgeline.formats.providers.shape import (
    OPENAI_NAMES,
    Ids,
    KnownIds,
    ProviderShape,
    Read,
    SaidMessage,
    Sample,
    shaped,
    text_in,
    text_of_result,
)
from kedgeline.formats.records import Record, mapping, mappings, string
from kedgeline.formats.registry import Written
from kedgeline.formats.turns import Piece
from kedgeline.model import Media, Role, Text, Thinking, ToolCall, ToolResult, Transcript, Wire

REASONING = ("reasoning_content", "reasoning")
"""Where vendors put what the model thought; the API itself has no place for it."""
RESULTS = ("tool", "function")
SAID = ("content", "tool_calls", "function_call", "refusal", "audio")
"""Fields of which a message must have one; with none of them it is refused."""
OWN_ROLES = {*RESULTS, "developer"}
OWN_FIELDS = {"tool_calls", "tool_call_id", "function_call", *REASONING}
OWN_PARTS = {"image_url", "input_audio", "file", "refusal"}


class OpenAIChat(ProviderShape):
    name = "openai-chat"
    roles = ("system", "developer", "user", "assistant", *RESULTS)
    said, foreign = (*SAID, *REASONING), CALL_BLOCKS
    system_inside = True
    results_role: ClassVar[Role] = "tool"
    names = OPENAI_NAMES
    outputs = Outputs("", RESULTS, "tool_call_id", "content")

    def sure(self, seen: Sample) -> int:
        own = any(m.keys() & OWN_FIELDS or m.get("role") in OWN_ROLES for m in seen.messages)
        if own or seen.types & OWN_PARTS:
            return 3
        spoken = all("content" in message for message in seen.messages)
        return 2 if spoken and not seen.types and {"model", "messages"} <= seen.body.keys() else 0

    def takes(self, role: Role, piece: Piece) -> bool:
        if not isinstance(piece, Media):
            return True
        return role == "user" and _plain_media(piece) is not None

    def about(self, message: Record) -> dict[str, Any]:
        return {"message_id": string(message.get("id"))}

    def pieces_of(self, message: Record, ids: Ids) -> tuple[Piece, ...]:
        role = string(message.get("role"))
        if role in RESULTS:
            return (self._result(message, ids),)
        content = self.blocks_of(role, message.get("content"), ids)
        if role != "assistant":
            return content if role in self.roles else as_notes(content)
        thoughts = [(field, string(message.get(field))) for field in REASONING]
        thinking = [Thinking(text=t, wire=self._in(field)) for field, t in thoughts if t][:1]
        spoken = mapping(message.get("audio")).get("transcript")
        beside = (("refusal", message.get("refusal")), ("audio", spoken))
        words = [Text(text=t, wire=self._in(f)) for f, t in beside if isinstance(t, str)]
        calls = [self._call(block, ids) for block in mappings(message.get("tool_calls"))]
        if isinstance(old := message.get("function_call"), dict):
            calls.append(self._call(old, ids, field="function_call"))
        return (*thinking, *content, *words, *calls)

    def _in(self, field: str) -> Wire:
        return {"provider": self.name, "field": field}

    def read_block(self, role: str, block: Record, ids: Ids) -> Read | None:
        kind = block.get("type")
        if kind == "text" and isinstance(block.get("text"), str):
            return self.read_text(role, block["text"])
        if kind == "refusal" and isinstance(block.get("refusal"), str):
            return (Text(text=block["refusal"]),), {"type": "refusal"}
        media = media_of(block)
        return None if media is None else ((media,), {})

    def _call(self, block: Record, ids: Ids, **marks: Any) -> ToolCall:
        custom = block.get("type") == "custom"
        inner = block if marks else mapping(block.get("custom" if custom else "function"))
        arguments = {"input": inner.get("input")} if custom else inner.get("arguments")
        tool, call_id = string(inner.get("name")), "" if marks else string(block.get("id"))
        marks |= ({"type": "custom"} if custom else {}) | ({} if call_id else {"made_id": True})
        parameters = parsed_arguments(arguments)
        call = ToolCall(id=ids.called(tool, call_id), tool=tool, parameters=parameters)
        return self.sealed_one("assistant", block, call, **marks)

    def _result(self, message: Record, ids: Ids) -> ToolResult:
        """The result in a message of the role `tool`, or `function` of old."""
        tool = string(message.get("name")) or string(message.get("tool_name"))
        call_id = string(message.get("tool_call_id"))
        given = result(ids.answered(tool, call_id), message.get("content"))
        marks: Wire = {} if call_id else {"made_id": True}
        if message.get("role") == "function":
            marks = {"field": "function_call", "name": string(message.get("name"))}
        return self.sealed_one("tool", message, given, **marks)

    def write_block(self, role: Role, piece: Piece) -> Record | None:
        wire = self.own(piece)
        if (text := text_in(piece)) is not None:
            kind = "refusal" if wire.get("type") == "refusal" else "text"
            return {"type": kind, kind: text}
        if isinstance(piece, Media):
            return _plain_media(piece)
        if isinstance(piece, ToolResult):
            content, named = text_of_result(piece), {}
            if wire.get("field"):
                return {"role": "function", "name": wire.get("name", ""), "content": content}
            if not self.is_made(piece):
                named = {"tool_call_id": piece.call_id}
            return {"role": "tool", **named, "content": content}
        if not isinstance(piece, ToolCall):
            return None
        named = {} if self.is_made(piece) else {"id": piece.id}
        if wire.get("type") == "custom":
            custom = {"name": piece.tool, "input": piece.parameters.get("input")}
            return {**named, "type": "custom", "custom": custom}
        function = {"name": piece.tool, "arguments": as_json(piece.parameters)}
        return (
            function if wire.get("field") else {**named, "type": "function", "function": function}
        )

    def reread(self, role: Role, block: Any, piece: Piece) -> Sequence[Piece]:
        if isinstance(piece, ToolCall):
            field = self.own(piece).get("field")
            return (self._call(block, KnownIds((piece,)), **({"field": field} if field else {})),)
        if isinstance(piece, ToolResult):
            return (self._result(block, KnownIds((piece,))),)
        return super().reread(role, block, piece)

    def shape_of(self, content: Any) -> Wire:
        return {"shape": "list"} if isinstance(content, list) else {}

    def wire_of(self, message: Record, pieces: Sequence[Piece], **marks: Any) -> Wire:
        if message.get("role") in RESULTS:  # the result itself knows how it was written
            return {"provider": self.name, **marks}
        return super().wire_of(message, pieces, **marks)

    def plain_message(self, role: Role, pieces: Sequence[Piece], wire: Wire) -> Record:
        fields = [(string(self.own(piece).get("field")), piece) for piece in pieces]
        inside = [p for f, p in fields if not f and not isinstance(p, (Thinking, ToolCall))]
        content = shaped(role, self.written(role, inside), wire, empty=None)
        message: Record = {"role": role, "content": content}
        for field, piece in fields:
            if isinstance(piece, (Text, Thinking)) and field not in ("", "audio"):
                message[field] = piece.text
        calls = [(f, self.written_one(role, p)) for f, p in fields if isinstance(p, ToolCall)]
        if listed := [block for field, block in calls if not field]:
            message["tool_calls"] = listed
        return message | {field: block for field, block in calls if field}

    def write(self, transcript: Transcript) -> Written:
        layout = laid_out(transcript, self)
        said = [*layout.head, *layout.said]
        messages = [message for one in said for message in self._messages(one, layout.as_read)]
        return Written(messages, None, layout.left_out)

    def _messages(self, said: SaidMessage, as_read: bool) -> Iterator[Record]:
        results = [piece for piece in said.pieces if isinstance(piece, ToolResult)]
        yield from (self.written_one("tool", one) for one in results)
        if not results:
            message = self.message_of(said.role, said.pieces, said.wire)
            if as_read or any(message.get(key) for key in SAID):
                yield message


FORMAT = OpenAIChat()


def _plain_media(media: Media) -> Record | None:
    subtype, url = media.mime.rpartition("/")[2], media.address
    if media.kind == "image":
        return {"type": "image_url", "image_url": {"url": url}} if url else None
    if not media.data or media.kind == "video":
        return None
    if media.kind == "audio":
        return {"type": "input_audio", "input_audio": {"data": media.data, "format": subtype}}
    return {"type": "file", "file": {"filename": f"file.{subtype or 'bin'}", "file_data": url}}

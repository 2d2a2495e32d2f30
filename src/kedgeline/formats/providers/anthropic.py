"""Anthropic's Messages API: lists of messages, and whole requests."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from kedgeline.formats import pieces
from kedgeline.formats.log import Line
from kedgeline.formats.providers.messages import Outputs
from kedgeline.formats.providers.repair import Layout, alternating, laid_out, text_of_head
from kedgeline.formats.providers.shape import (
    Ids,
    Names,
    ProviderShape,
    Read,
    Reader,
    SaidMessage,
    Sample,
    text_in,
    text_of_result,
)
from kedgeline.formats.records import Record, mapping, string
from kedgeline.formats.registry import Written
from kedgeline.formats.turns import Piece
from kedgeline.model import Media, Opaque, Role, Thinking, ToolCall, ToolResult, Transcript, Wire

OWN_BLOCKS = {"tool_use", "tool_result", "thinking", "redacted_thinking", "server_tool_use"}
"""Block types no other provider has."""
USES = ("server_tool_use", "mcp_tool_use")
RESULT = "_tool_result"
"""How the types of their results end."""


class Anthropic(ProviderShape):
    name, part, signed_by = "anthropic", "block", ("anthropic", "claude-code")
    roles = ("user", "assistant", "system")
    names, ids = Names(r"[^a-zA-Z0-9_-]", longest=128), Names(r"[^a-zA-Z0-9_-]")
    outputs = Outputs("content", ("tool_result",), "tool_use_id", "content")
    handed_through = (
        *(*USES, "container_upload", "search_result", "compaction", "mcp_tool_result"),
        *("web_search_tool_result", "web_fetch_tool_result", "code_execution_tool_result"),
        *("bash_code_execution_tool_result", "text_editor_code_execution_tool_result"),
        "tool_search_tool_result",
    )

    def sure(self, seen: Sample) -> int:
        if seen.types & OWN_BLOCKS or any("source" in block for block in seen.blocks):
            return 3
        if {"system", "max_tokens"} <= seen.body.keys():
            return 3
        return 2 if seen.types == {"text"} or "system" in seen.body else 0

    def begin(self, reader: Reader, body: Record) -> Record:
        system = body.get("system")
        if isinstance(system, (str, list)):
            said = self.blocks_of("system", system, reader.calls)
            wire = {"provider": self.name, **self.shape_of(system)}
            reader.assembler.system(Line(0), said, wire=wire)
        return {name: value for name, value in body.items() if name != "system"}

    def about(self, message: Record) -> dict[str, Any]:
        cache = ("cache_read_input_tokens", "cache_creation_input_tokens")
        return {
            "message_id": string(message.get("id")),
            "model": string(message.get("model")),
            "usage": pieces.usage_in(message.get("usage"), "input_tokens", "output_tokens", *cache),
        }

    def read_block(self, role: str, block: Record, ids: Ids) -> Read | None:
        kind = block.get("type")
        if kind == "text" and isinstance(block.get("text"), str):
            return self.read_text(role, block["text"])
        if kind == "redacted_thinking":
            return (Thinking(signature=string(block.get("data"))),), {"type": kind}
        if kind == "thinking":
            text, signature = string(block.get("thinking")), string(block.get("signature"))
            return (Thinking(text=text, signature=signature),), {}
        if kind == "tool_use" and role == "assistant":
            call_id, tool = string(block.get("id")), string(block.get("name"))
            return (ToolCall(id=call_id, tool=tool, parameters=mapping(block.get("input"))),), {}
        if kind == "tool_result" and role == "user":
            return (_result(block),), {}
        media = _media(block) if kind in ("image", "document") else None
        return None if media is None else ((media,), {})

    def write_block(self, role: Role, piece: Piece) -> Record | None:
        if (text := text_in(piece)) is not None:
            return {"type": "text", "text": text}
        if isinstance(piece, Thinking):
            if (piece.wire or {}).get("type") == "redacted_thinking":
                return {"type": "redacted_thinking", "data": piece.signature}
            return {"type": "thinking", "thinking": piece.text, "signature": piece.signature}
        if isinstance(piece, ToolCall):
            named = {"type": "tool_use", "id": piece.id, "name": piece.tool}
            return {**named, "input": piece.parameters}
        if isinstance(piece, Media):
            return _plain_media(piece)
        return _plain_result(piece) if isinstance(piece, ToolResult) else None

    def wire_of(self, message: Record, pieces: Sequence[Piece], **marks: Any) -> Wire:
        """Of an answer of the API, only what may be sent back is kept."""
        if message.get("type") == "message":
            message = {name: message[name] for name in ("role", "content") if name in message}
        return super().wire_of(message, pieces, **marks)

    def shape_of(self, content: Any) -> Wire:
        return {"shape": "string"} if isinstance(content, str) else {}

    def plain_message(self, role: Role, pieces: Sequence[Piece], wire: Wire) -> Record:
        content: Any = self.written(role, pieces)
        if wire.get("shape") == "string" and [[*block] for block in content] == [["type", "text"]]:
            content = content[0]["text"]
        return {"role": role, "content": content}

    def write(self, transcript: Transcript) -> Written:
        layout = laid_out(transcript, self)
        if not layout.as_read:
            layout = _without_halves(layout)
        system: Any = text_of_head(layout.head) or None
        if len(layout.head) == 1 and layout.head[0].wire and layout.head[0].item < 0:
            [head] = layout.head  # the prompt stands alone: it is written as it was read
            system = self.plain_message("system", head.pieces, head.wire)["content"]
        messages = alternating(layout, self)
        return Written(messages, system, layout.left_out)


FORMAT = Anthropic()


def _result(block: Record) -> ToolResult:
    output, media = pieces.text_and_media(block.get("content"))
    failed = block.get("is_error") is True
    code = pieces.exit_code_in(output) if failed else None
    call = block.get("tool_use_id")
    return pieces.result(call, output, failed=failed, exit_code=code, media=media)


def _plain_result(result: ToolResult) -> Record:
    text = text_of_result(result)
    media = [block for one in result.media if (block := _plain_media(one)) is not None]
    texts = [{"type": "text", "text": text}] if text.strip() else []
    content = [*texts, *media] if media else text
    block = {"type": "tool_result", "tool_use_id": result.call_id, "content": content}
    return block if result.success else {**block, "is_error": True}


def _media(block: Record) -> Media | None:
    media = pieces.media_of(block)
    if media is not None and mapping(block.get("source")).get("type") == "text":
        return replace(media, data=base64.b64encode(media.data.encode()).decode())
    return media


def _plain_media(media: Media) -> Record | None:
    kind = "image" if media.kind == "image" else "document"
    if media.kind in ("audio", "video"):
        return None
    if media.data:
        source = {"type": "base64", "media_type": media.mime, "data": media.data}
        return {"type": kind, "source": source}
    return {"type": kind, "source": {"type": "url", "url": media.url}} if media.url else None


# What Anthropic refuses when only half of it is left: a tool of the provider without its result, a
# result without its use, thinking that nothing follows.

Place = tuple[int, int]
"""The number of a message, and of a piece in it."""


def _without_halves(layout: Layout) -> Layout:
    """The layout without them; what is left out is named."""
    halves = _halves(layout.said)
    said = _without(layout.said, halves)
    thoughts = _thoughts(said)
    left_out = {
        "halves of tools that the provider runs": len(halves),
        "thinking that nothing follows": len(thoughts),
    }
    named = (f"{what}: {count}" for what, count in left_out.items() if count)
    return layout._replace(said=_without(said, thoughts), left_out=(*layout.left_out, *named))


def _halves(said: Sequence[SaidMessage]) -> set[Place]:
    """Uses and results of the provider's tools that have lost the other. A use may wait for its
    result as long as the user does not speak."""
    alone: set[Place] = set()
    waiting: dict[str, Place] = {}
    for number, one in enumerate(said):
        spoken = any(not isinstance(piece, ToolResult) for piece in one.pieces)
        if one.role in ("user", "system") and spoken:
            waiting.clear()
        for position, piece in enumerate(one.pieces):
            if not isinstance(piece, Opaque):
                continue
            block = mapping(mapping(piece.wire).get("block"))
            if piece.kind in USES:
                # Until its result comes it is alone, and so is an earlier one of the same id.
                waiting[string(block.get("id"))] = number, position
                alone.add((number, position))
            elif piece.kind.endswith(RESULT):
                use = waiting.pop(string(block.get("tool_use_id")), None)
                alone ^= {use or (number, position)}
    return alone - set(waiting.values())


def _thoughts(said: Sequence[SaidMessage]) -> set[Place]:
    """Thinking at the end of the assistant's messages; those that follow each other become one."""
    alone: set[Place] = set()
    goes_on = False
    for number, one in reversed([*enumerate(said)]):
        goes_on = goes_on and one.role == "assistant"
        for position, piece in reversed(
            [*enumerate(one.pieces if one.role == "assistant" else ())]
        ):
            goes_on = goes_on or not isinstance(piece, Thinking)
            if not goes_on:
                alone.add((number, position))
    return alone


def _without(said: Sequence[SaidMessage], places: set[Place]) -> list[SaidMessage]:
    return [
        one._replace(pieces=tuple(p for n, p in enumerate(one.pieces) if (number, n) not in places))
        for number, one in enumerate(said)
    ]

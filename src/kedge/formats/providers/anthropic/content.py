"""Anthropic's messages and blocks as pieces, and pieces as messages and blocks."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from kedge.formats.content.blocks import media_of, text_and_media
from kedge.formats.content.refusals import INTERRUPTED, exit_code_in, is_refusal, reason_in
from kedge.formats.content.wrappers import said_by_user
from kedge.formats.intake.fields import mapping, string
from kedge.formats.intake.lines import Record
from kedge.formats.providers.messages import as_notes
from kedge.formats.providers.said import text_of_result
from kedge.formats.providers.wire import blocks_of, kept, restored, same_pieces, seal, sealed
from kedge.formats.turns.draft import Piece
from kedge.model import Media, Note, Role, Text, Thinking, ToolCall, ToolResult, Wire

PROVIDER = "anthropic"
ROLES = ("user", "assistant", "system")


def pieces_of(role: str, content: Any) -> tuple[Piece, ...]:
    if isinstance(content, str):
        content = [{"type": "text", "text": content}]
    if not isinstance(content, list):
        return ()
    pieces = tuple(piece for block in content for piece in _read(role, block))
    return pieces if role in ROLES else as_notes(pieces)


def _read(role: str, block: Any) -> tuple[Piece, ...]:
    kind = block.get("type") if isinstance(block, dict) else type(block).__name__
    if kind == "text" and isinstance(block.get("text"), str):
        said = said_by_user(block["text"]) if role == "user" else (Text(text=block["text"]),)
        return sealed(PROVIDER, block, said, _plain)
    if kind == "redacted_thinking":
        thought = Thinking(signature=string(block.get("data")))
        return sealed(PROVIDER, block, (thought,), _plain, type=kind)
    if (piece := _value(role, kind, block)) is not None:
        return sealed(PROVIDER, block, (piece,), _plain)
    return (kept(PROVIDER, kind, block),)


def _value(role: str, kind: Any, block: Any) -> Piece | None:
    if kind == "thinking":
        return Thinking(
            text=string(block.get("thinking")), signature=string(block.get("signature"))
        )
    if kind == "tool_use" and role == "assistant":
        return ToolCall(
            id=string(block.get("id")),
            tool=string(block.get("name")),
            parameters=mapping(block.get("input")),
        )
    if kind == "tool_result" and role == "user":
        return _result(block)
    if kind in ("image", "document"):
        return _media(block)
    return None


def _result(block: Record) -> ToolResult:
    output, media = text_and_media(block.get("content"))
    failed = block.get("is_error") is True
    refused = failed and is_refusal(output)
    interrupted = output.startswith(INTERRUPTED)
    success = not failed and not interrupted
    return ToolResult(
        call_id=string(block.get("tool_use_id")),
        success=success,
        output=output,
        error=output if not success and not refused else None,
        exit_code=exit_code_in(output) if failed else None,
        refused=refused,
        reason=reason_in(output) if refused else "",
        interrupted=interrupted,
        media=media,
    )


def _media(block: Record) -> Media | None:
    media = media_of(block)
    if media is not None and mapping(block.get("source")).get("type") == "text":
        return replace(media, data=base64.b64encode(media.data.encode()).decode())
    return media


def _plain(piece: Piece) -> Record | None:
    if isinstance(piece, (Text, Note)):
        return {"type": "text", "text": piece.text}
    if isinstance(piece, Thinking):
        if (piece.wire or {}).get("type") == "redacted_thinking":
            return {"type": "redacted_thinking", "data": piece.signature}
        return {"type": "thinking", "thinking": piece.text, "signature": piece.signature}
    if isinstance(piece, ToolCall):
        return {"type": "tool_use", "id": piece.id, "name": piece.tool, "input": piece.parameters}
    if isinstance(piece, ToolResult):
        return _plain_result(piece)
    return plain_media(piece) if isinstance(piece, Media) else None


def _plain_result(result: ToolResult) -> Record:
    text = text_of_result(result)
    media = [block for one in result.media if (block := plain_media(one)) is not None]
    texts = [{"type": "text", "text": text}] if text.strip() else []
    block = {
        "type": "tool_result",
        "tool_use_id": result.call_id,
        "content": [*texts, *media] if media else text,
    }
    return block if result.success else {**block, "is_error": True}


def plain_media(media: Media) -> Record | None:
    kind = "image" if media.kind == "image" else "document"
    if media.kind in ("audio", "video"):
        return None
    if media.data:
        source = {"type": "base64", "media_type": media.mime, "data": media.data}
        return {"type": kind, "source": source}
    return {"type": kind, "source": {"type": "url", "url": media.url}} if media.url else None


def wire_of(message: Record, pieces: Sequence[Piece], item: int) -> Wire:
    """What it takes to write the message again out of its pieces."""
    role, shape = string(message.get("role")), shape_of(message.get("content"))
    plain = plain_message(role if role in ROLES else "user", pieces, shape)
    return seal(PROVIDER, message, plain, item=item, **shape) or {}


def shape_of(content: Any) -> Wire:
    return {"shape": "string"} if isinstance(content, str) else {}


def plain_message(role: str, pieces: Sequence[Piece], wire: Wire) -> Record:
    blocks = blocks_of(PROVIDER, pieces, _plain, lambda block, _: _read(role, block))
    content: Any = blocks
    if wire.get("shape") == "string" and len(blocks) == 1 and list(blocks[0]) == ["type", "text"]:
        content = blocks[0]["text"]
    return {"role": role, "content": content}


def message_of(role: Role, pieces: Sequence[Piece], wire: Wire) -> Record:
    """One message, as it was read where the wire says how."""

    def holds(message: Record) -> bool:
        return same_pieces(pieces_of(string(message.get("role")), message.get("content")), pieces)

    return restored(wire, plain_message(role, pieces, wire), holds)

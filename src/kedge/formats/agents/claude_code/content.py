"""The content of Claude Code's messages as pieces."""

from __future__ import annotations

from collections.abc import Callable

from kedge.formats.agents.claude_code.records import Block
from kedge.formats.content.blocks import media_of
from kedge.formats.content.wrappers import said_by_user
from kedge.formats.turns.draft import Piece
from kedge.model import Note, Opaque, Text, Thinking, ToolCall, ToolResult

Content = str | list[Block] | None


def said(content: Content) -> tuple[Piece, ...]:
    """What an assistant message holds."""
    if not isinstance(content, list):
        return (Text(text=content),) if content else ()
    return tuple(_spoken(block) for block in content)


def heard(
    content: Content, *, meta: bool, result: Callable[[Block], ToolResult]
) -> tuple[list[Piece], list[ToolResult]]:
    """What a user message holds: words and notes, and results of tools."""
    if not isinstance(content, list):
        return list(_words(content or "", meta)), []
    pieces: list[Piece] = []
    results: list[ToolResult] = []
    for block in content:
        if block.type == "tool_result":
            results.append(result(block))
        elif block.type == "text":
            pieces.extend(_words(block.text or "", meta))
        else:
            pieces.append(_other(block))
    return pieces, results


def _words(text: str, meta: bool) -> tuple[Piece, ...]:
    if not text.strip():
        return ()
    pieces = said_by_user(text)
    if not meta:
        return pieces
    return tuple(Note(kind="injected", text=p.text) if isinstance(p, Text) else p for p in pieces)


def _spoken(block: Block) -> Piece:
    if block.type == "text":
        return Text(text=block.text or "")
    if block.type == "thinking":
        return Thinking(text=block.thinking or "", signature=block.signature or "")
    if block.type == "redacted_thinking":
        return Thinking(signature=block.data or "", wire={"type": "redacted_thinking"})
    if block.type == "tool_use":
        parameters = block.input if isinstance(block.input, dict) else {}
        return ToolCall(id=block.id or "", tool=block.name or "", parameters=parameters)
    return _other(block)


def _other(block: Block) -> Piece:
    media = media_of({"type": block.type, "source": block.source})
    if media is not None:
        return media
    fields = ("type", "id", "name", "input", "tool_use_id", "content")
    wire = {name: value for name in fields if (value := getattr(block, name)) is not None}
    return Opaque(kind=block.type, wire=wire)

"""Anthropic's Messages API: lists of messages, and whole requests."""

from __future__ import annotations

import base64
from collections.abc import Iterator, Sequence
from typing import Any

from msgspec.structs import replace

from kedgeline.formats.content import exit_code_in, media_of, said_by_user, text_and_media, usage_in
from kedgeline.formats.intake import Head, Lines, Record, mapping, string
from kedgeline.formats.log import Line, Log
from kedgeline.formats.providers.messages import (
    ListReader,
    as_notes,
    blocks_in,
    body_of,
    hand_over,
    sampled,
    turns_of,
    types_in,
    unread_of,
)
from kedgeline.formats.providers.repair import Layout, alternating, laid_out, text_of_head
from kedgeline.formats.providers.wire import (
    ANTHROPIC_IDS,
    ANTHROPIC_NAMES,
    Dialect,
    Said,
    blocks_of,
    kept,
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
    Opaque,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Transcript,
    Turn,
    Usage,
    Wire,
)

# Anthropic's messages and blocks as pieces, and pieces as messages and blocks.

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
    return ToolResult(
        call_id=string(block.get("tool_use_id")),
        success=not failed,
        output=output,
        error=output if failed else None,
        exit_code=exit_code_in(output) if failed else None,
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
    """What it takes to write the message again out of its pieces. Of an answer of the API, only
    what may be sent back."""
    if message.get("type") == "message":
        message = {name: message[name] for name in ("role", "content") if name in message}
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


# What Anthropic refuses when only half of it is left: a tool of the provider without its result, a
# result without its use, thinking that nothing follows.

USES = ("server_tool_use", "mcp_tool_use")
RESULT = "_tool_result"
"""How the types of their results end."""

Place = tuple[int, int]
"""The number of a message, and of a piece in it."""


def without_halves(layout: Layout) -> Layout:
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


def _halves(said: Sequence[Said]) -> set[Place]:
    """Uses and results of the provider's tools that have lost the other. A use may wait for its
    result as long as the user does not speak."""
    alone: set[Place] = set()
    waiting: dict[str, Place] = {}
    for number, one in enumerate(said):
        if one.role in ("user", "system") and any(
            not isinstance(p, ToolResult) for p in one.pieces
        ):
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


def _thoughts(said: Sequence[Said]) -> set[Place]:
    """Thinking at the end of the assistant's messages; those that follow each other become one."""
    alone: set[Place] = set()
    goes_on = False
    for number in range(len(said) - 1, -1, -1):
        if said[number].role != "assistant":
            goes_on = False
            continue
        for position in range(len(said[number].pieces) - 1, -1, -1):
            goes_on = goes_on or not isinstance(said[number].pieces[position], Thinking)
            if not goes_on:
                alone.add((number, position))
    return alone


def _without(said: Sequence[Said], places: set[Place]) -> list[Said]:
    return [
        one._replace(pieces=tuple(p for n, p in enumerate(one.pieces) if (number, n) not in places))
        if places
        else one
        for number, one in enumerate(said)
    ]


# Lists of Anthropic's messages and whole requests into turns, and transcripts into such lists.

OWN_BLOCKS = {"tool_use", "tool_result", "thinking", "redacted_thinking", "server_tool_use"}
"""Block types no other provider has."""
HANDED_THROUGH = {
    "server_tool_use",
    "web_search_tool_result",
    "web_fetch_tool_result",
    "code_execution_tool_result",
    "bash_code_execution_tool_result",
    "text_editor_code_execution_tool_result",
    "tool_search_tool_result",
    "mcp_tool_use",
    "mcp_tool_result",
    "container_upload",
    "search_result",
    "compaction",
}
"""Blocks of tools that the provider runs itself: kept as they are, and not worth reporting."""


class Anthropic:
    name = PROVIDER

    def sniff(self, head: Head) -> int:
        messages = sampled(head, ("messages",))
        if not messages or any(message.get("role") not in ROLES for message in messages):
            return 0
        blocks = blocks_in(messages)
        types = types_in(blocks)
        if types & OWN_BLOCKS or any("source" in block for block in blocks):
            return 3
        if {"system", "max_tokens"} <= body_of(head).keys():
            return 3
        return 2 if types == {"text"} or "system" in body_of(head) else 0

    def read(self, lines: Lines, log: Log) -> Iterator[Turn]:
        return turns_of(lines, log, MessageReader, ("messages",))

    def unread(self, message: Record) -> Unread | None:
        return unread_of(message, ROLES, ("content",))

    def write(self, transcript: Transcript) -> Written:
        layout = laid_out(transcript, DIALECT)
        if not layout.as_read:
            layout = without_halves(layout)
        messages = alternating(layout, "content", message_of)
        return Written(messages, _system(layout), layout.left_out)


FORMAT = Anthropic()


class MessageReader(ListReader):
    name, part, handed_through = PROVIDER, "block", HANDED_THROUGH

    def begin(self, body: Record) -> Record:
        super().begin(body)
        system = body.get("system")
        if isinstance(system, (str, list)):
            pieces = pieces_of("system", system)
            self.assembler.system(Line(0), pieces, wire={"provider": PROVIDER, **shape_of(system)})
        return {name: value for name, value in body.items() if name != "system"}

    def take(self, line: Line, message: Record) -> None:
        role = string(message.get("role"))
        pieces = pieces_of(role, message.get("content"))
        self.report(line, pieces)
        wire = wire_of(message, pieces, self._item)
        self._item += 1
        if role == "assistant":
            self.assembler.assistant(
                line,
                pieces,
                message_id=string(message.get("id")),
                model=string(message.get("model")),
                usage=_usage(message.get("usage")),
                wire=wire,
            )
        elif role == "system":
            self.assembler.system(line, pieces, wire=wire)
        else:
            hand_over(self.assembler, line, pieces, wire)

    def report(self, line: Line, pieces: Sequence[Piece]) -> None:
        super().report(line, pieces)
        for piece in pieces:
            if isinstance(piece, Opaque) and piece.kind == "compaction":
                summary = string(piece.wire["block"].get("content"))
                self.assembler.compacted(line, by=PROVIDER, summary=summary)


def _usage(counts: Any) -> Usage | None:
    cache = ("cache_read_input_tokens", "cache_creation_input_tokens")
    return usage_in(counts, "input_tokens", "output_tokens", *cache)


def _system(layout: Layout) -> Any:
    """The system prompt as it was read, where it stands alone; else the text of all."""
    if len(layout.head) == 1 and layout.head[0].wire and layout.head[0].item < 0:
        [head] = layout.head
        return plain_message("system", head.pieces, head.wire)["content"]
    return text_of_head(layout.head) or None


DIALECT = Dialect(
    provider=PROVIDER,
    takes=lambda role, piece: (
        not isinstance(piece, Media) or (role != "assistant" and plain_media(piece) is not None)
    ),
    signed_by=(PROVIDER, "claude-code"),
    names=ANTHROPIC_NAMES,
    ids=ANTHROPIC_IDS,
)

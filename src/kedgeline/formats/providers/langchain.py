"""LangChain's messages: `messages_to_dict`, the serialised constructors, and dumped models."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, NamedTuple

from kedgeline.formats import pieces as made
from kedgeline.formats.log import Line, Log
from kedgeline.formats.pieces import as_notes, media_of, said_by_user
from kedgeline.formats.providers.messages import CALL_BLOCKS, Outputs, unread_framework, unread_of
from kedgeline.formats.providers.repair import laid_out
from kedgeline.formats.providers.shape import (
    OPENAI_NAMES,
    Ids,
    KnownIds,
    ProviderShape,
    Reader,
    Sample,
    same_pieces,
    text_in,
    text_of_result,
    with_wire,
)
from kedgeline.formats.records import Record, mapping, mappings, string
from kedgeline.formats.registry import Unread, Written
from kedgeline.formats.turns import Piece
from kedgeline.model import (
    Media,
    Opaque,
    Role,
    Text,
    Thinking,
    ToolCall,
    ToolResult,
    Transcript,
    Wire,
)

PROVIDER = "langchain"
TYPES = ("human", "ai", "system", "tool", "function", "chat", "developer")
CHAT_ROLES = {
    "user": "human",
    "assistant": "ai",
    **{name: name for name in TYPES if name != "chat"},
}
"""What the free role of a chat message stands for."""
TURN_ROLES: dict[str, Role] = {"ai": "assistant", "system": "system", "developer": "system"}
SURE = frozenset({"additional_kwargs", "response_metadata"})
"""Fields that no other program's messages have."""
DUMPED = SURE | {
    *("type", "content", "name", "id", "role", "example", "artifact", "status", "tool_call_id"),
    *("tool_calls", "invalid_tool_calls", "tool_call_chunks", "chunk_position", "usage_metadata"),
}
"""Fields of a message that was dumped, or written by hand in the same way."""
REPEATED = ("tool_use", "tool_call", "function_call", "input_json_delta", "tool_call_chunk")
"""Blocks that repeat what stands among the calls."""
MEDIA = ("image", "audio", "video", "file")


class Content(NamedTuple):
    type: str
    data: Record


class LangChain(ProviderShape):
    name, signed_by = PROVIDER, (PROVIDER,)
    system_inside = True
    results_role: ClassVar[Role] = "tool"
    names = OPENAI_NAMES
    outputs = Outputs("", ("tool",), "tool_call_id", "content")

    def knows(self, message: Record) -> bool:
        return _content(message) is not None

    def sure(self, seen: Sample) -> int:
        return 3 if any("role" not in m or "type" in m for m in seen.messages) else 0

    def unread(self, message: Record) -> Unread | None:
        content = _content(message)
        if "role" in message and "type" not in message:
            return unread_of(message, tuple(CHAT_ROLES), ("content",), CALL_BLOCKS)
        if content is None:
            kind = message.get("type")
            return Unread("", f"a message of the type {kind!r}", f"use one of {', '.join(TYPES)}")
        if content.type == "chat":
            return unread_of(content.data, tuple(CHAT_ROLES), ("content",))
        return None

    def reader(self, log: Log, session: int) -> Reader:
        return _Reader(log, session, self)

    def turn_role(self, message: Record) -> Role:
        content = _content(message)
        return TURN_ROLES.get(content.type, "user") if content else "user"

    def pieces_of(self, message: Record, ids: Ids) -> tuple[Piece, ...]:
        content = _content(message)
        return tuple(_pieces_of(content, ids)) if content else ()

    def wire_of(self, message: Record, pieces: Sequence[Piece], **marks: Any) -> Wire:
        return {"provider": PROVIDER, "message": message, **marks}

    def about(self, message: Record) -> dict[str, Any]:
        data = (_content(message) or Content("", {})).data
        about, counts = mapping(data.get("response_metadata")), mapping(data.get("usage_metadata"))
        counts = {**counts, **mapping(counts.get("input_token_details"))}
        cache = ("cache_read", "cache_creation")
        return {
            "message_id": string(data.get("id")),
            "model": string(about.get("model_name")) or string(about.get("model")),
            "usage": made.usage_in(counts, "input_tokens", "output_tokens", *cache, within=True),
        }

    def write_block(self, role: Role, piece: Piece) -> Record | None:
        if (text := text_in(piece)) is not None:
            return {"type": "text", "text": text}
        if isinstance(piece, Thinking):
            return {"type": "thinking", "thinking": piece.text, "signature": piece.signature}
        if isinstance(piece, Media):
            where = {"base64": piece.data} if piece.data else {"url": piece.url}
            mime = {"mime_type": piece.mime} if piece.mime else {}
            return {"type": "file" if piece.kind == "document" else piece.kind, **where, **mime}
        return self.own(piece).get("block") if isinstance(piece, Opaque) else None

    def message_of(self, role: Role, pieces: Sequence[Piece], wire: Wire) -> Record:
        """One message as it was read, where it still says what the pieces say. A plain message of a
        chat becomes one like its neighbours."""
        known: Record = wire.get("message", {})
        own = "role" not in known and _content(known) is not None
        if own and same_pieces(self.pieces_of(known, KnownIds(pieces)), pieces):
            return known
        return self.plain_message(role, pieces, wire)

    def plain_message(self, role: Role, pieces: Sequence[Piece], wire: Wire) -> Record:
        blocks = [block for p in pieces if (block := self.write_block(role, p)) is not None]
        alone = len(blocks) == 1 and blocks[0]["type"] == "text"
        data: Record = {"content": blocks[0]["text"] if alone else blocks or ""}
        kind = {"system": "system", "assistant": "ai"}.get(role, "human")
        if calls := [piece for piece in pieces if isinstance(piece, ToolCall)]:
            data["tool_calls"] = [
                {"name": call.tool, "args": call.parameters, "id": call.id, "type": "tool_call"}
                for call in calls
            ]
        for result in (piece for piece in pieces if isinstance(piece, ToolResult)):
            media = [b for one in result.media if (b := self.write_block(role, one)) is not None]
            text = text_of_result(result)
            content = [{"type": "text", "text": text}, *media] if media else text
            status = "success" if result.success else "error"
            data = {"content": content, "tool_call_id": result.call_id, "status": status}
            kind = "tool"
        return {"type": kind, "data": {**data, "type": kind}}

    def write(self, transcript: Transcript) -> Written:
        """What was read as it was read, in the shape it had; all else as `messages_to_dict` writes
        it, each result in a message of its own."""
        layout = laid_out(transcript, self)
        messages = []
        for said in (*layout.head, *layout.said):
            results = [piece for piece in said.pieces if isinstance(piece, ToolResult)]
            alone: list[tuple[Piece, ...]] = [(result,) for result in results]
            messages += [
                self.message_of(said.role, pieces, said.wire)
                for pieces in alone or [said.pieces]
                if pieces or layout.as_read
            ]
        return Written(messages, None, layout.left_out)


FORMAT = LangChain()


class _Reader(Reader):
    def take(self, line: Line, message: Record) -> None:
        content = _content(message)
        if content is None:
            self.item += 1
            self.log.ignored[f"message/{message.get('type')}"] += 1
            return
        if mapping(content.data.get("additional_kwargs")).get("lc_source") == "summarization":
            summary = made.plain_words(content.data.get("content"))
            self.assembler.compacted(line, by=PROVIDER, summary=summary)
        super().take(line, message)


def _content(message: Record) -> Content | None:
    """What a message is and holds, whichever way it was dumped. Among objects may be plain messages
    of chats, as LangChain itself takes them."""
    kind, data = message.get("type"), message.get("data")
    if kind is None and "role" in message and unread_framework(message, CALL_BLOCKS) is None:
        kind, data = CHAT_ROLES.get(string(message["role"])), message
    if kind == "constructor" and isinstance(names := message.get("id"), list) and names:
        kind, data = str(names[-1]), message.get("kwargs")
    elif data is None and (message.keys() & SURE or message.keys() <= DUMPED):
        data = message
    name = string(kind).removesuffix("Chunk").removesuffix("Message").lower()
    if name not in TYPES or not isinstance(data, dict) or "content" not in data:
        return None
    if name == "chat":
        name = CHAT_ROLES.get(string(data.get("role")).lower(), "chat")
    return Content(name, data)


def _pieces_of(content: Content, ids: Ids) -> list[Piece]:
    """What a message holds."""
    kind, data = content
    if kind in ("tool", "function"):
        return [_result(data, ids)]
    if kind in ("system", "developer"):
        return _pieces("system", data.get("content"))
    extra = mapping(data.get("additional_kwargs"))
    if kind == "ai":
        thought = string(extra.get("reasoning_content"))
        thinking = [Thinking(text=thought)] if thought else []
        return [
            *thinking,
            *_pieces("assistant", data.get("content")),
            *_calls(data, extra, ids),
        ]
    by_user = kind == "human"
    pieces = _pieces("user" if by_user else "other", data.get("content"))
    # What a library put under the user's role names itself there.
    return pieces if by_user and not extra.get("lc_source") else list(as_notes(pieces))


def _calls(data: Record, extra: Record, ids: Ids) -> Iterator[ToolCall]:
    """The calls, from where they are parsed, else as the provider wrote them."""
    parsed = [*mappings(data.get("tool_calls")), *mappings(data.get("invalid_tool_calls"))]
    for call in parsed or mappings(extra.get("tool_calls")):
        # A message that is a plain object may hold them as the provider of chats writes them.
        inner = mapping(call.get("function")) or call
        yield _call(inner, inner.get("args", inner.get("arguments")), call.get("id"), ids)
    old = extra.get("function_call")
    if not parsed and isinstance(old, dict):
        yield _call(old, old.get("arguments"), None, ids)


def _call(named: Record, arguments: Any, call_id: Any, ids: Ids) -> ToolCall:
    tool, given = string(named.get("name")), string(call_id)
    return with_wire(made.call(ids.called(tool, given), tool, arguments), _made(given))


def _result(data: Record, ids: Ids) -> ToolResult:
    failed, given = data.get("status") == "error", string(data.get("tool_call_id"))
    call = ids.answered(string(data.get("name")), given)
    return with_wire(made.result(call, data.get("content"), failed=failed), _made(given))


def _made(given: str) -> Wire | None:
    return None if given else {"provider": PROVIDER, "made_id": True}


def _pieces(role: str, content: Any) -> list[Piece]:
    blocks = [content] if isinstance(content, str) else content
    found = blocks if isinstance(blocks, list) else ()
    return [piece for block in found for piece in _piece(role, block)]


def _piece(role: str, block: Any) -> tuple[Piece, ...]:
    kind = block.get("type") if isinstance(block, dict) else None
    text = block if isinstance(block, str) else mapping(block).get("text")
    if isinstance(text, str) and kind != "thinking":
        if not text:
            return ()
        return said_by_user(text) if role == "user" else (Text(text=text),)
    if kind in REPEATED or not isinstance(block, dict):
        return ()
    if kind in ("thinking", "reasoning", "reasoning_content"):
        return (_thought(block),)
    media = _media(block) or media_of(block)
    if media is not None:
        return (media,)
    return (Opaque(kind=str(kind), wire={"provider": PROVIDER, "block": block}),)


def _media(block: Record) -> Media | None:
    """Media in the blocks that LangChain defines for all providers."""
    data = string(block.get("base64")) or string(block.get("data"))
    url, mime = string(block.get("url")), string(block.get("mime_type", block.get("mimeType")))
    if block.get("type") not in MEDIA or not (data or url):
        return None
    return Media(kind=block["type"], mime=mime, data=data, url=url)


def _thought(block: Record) -> Thinking:
    """What the model thought; only Anthropic's blocks carry a signature that says whose it is."""
    text = string(block.get("thinking")) or string(block.get("reasoning"))
    if not text:
        text = "\n\n".join(string(part.get("text")) for part in mappings(block.get("summary")))
    signature = string(block.get("signature"))
    wire = {"provider": "anthropic"} if signature and block.get("type") == "thinking" else None
    return Thinking(text=text, signature=signature, wire=wire)

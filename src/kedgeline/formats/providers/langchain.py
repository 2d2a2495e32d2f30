"""LangChain's messages: `messages_to_dict`, the serialised constructors, and dumped models."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeGuard

from kedgeline.formats.content import (
    media_of,
    parsed_arguments,
    said_by_user,
    text_and_media,
    usage_in,
)
from kedgeline.formats.intake import Head, Lines, Record, mapping, mappings, string
from kedgeline.formats.log import Line, Log
from kedgeline.formats.providers.messages import (
    CALL_BLOCKS,
    ListReader,
    as_notes,
    foreign,
    note_summaries,
    sampled,
    turns_of,
    unread_of,
)
from kedgeline.formats.providers.repair import laid_out
from kedgeline.formats.providers.wire import (
    OPENAI_NAMES,
    Dialect,
    Said,
    kept,
    own,
    same_pieces,
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

PROVIDER = "langchain"
KEYS = ("messages",)
TYPES = ("human", "ai", "system", "tool", "function", "chat", "developer")
CHAT_ROLES = {
    "user": "human",
    "assistant": "ai",
    **{name: name for name in TYPES if name != "chat"},
}
"""What the free role of a chat message stands for."""
REPEATED = ("tool_use", "tool_call", "function_call", "input_json_delta", "tool_call_chunk")
"""Blocks that repeat what stands among the calls."""


MEDIA = ("image", "audio", "video", "file")


class Content(NamedTuple):
    type: str
    data: Record


Name = Callable[[str, str], str]
"""The id of a call, given its tool and the id that was written, if any."""


class LangChain:
    name = PROVIDER

    def sniff(self, head: Head) -> int:
        messages = sampled(head, KEYS)
        if not messages or any(_content(message) is None for message in messages):
            return 0
        return 3 if any("role" not in message or "type" in message for message in messages) else 0

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

    def read(self, lines: Lines, log: Log) -> Iterator[Turn]:
        return turns_of(lines, log, MessageReader, KEYS)

    def write(self, transcript: Transcript) -> Written:
        """What was read as it was read, in the shape it had; all else as `messages_to_dict` writes
        it."""
        layout = laid_out(transcript, DIALECT)
        messages = [
            message_of(said.role, pieces, said.wire)
            for said in (*layout.head, *layout.said)
            for pieces in _divided(said)
            if pieces or layout.as_read
        ]
        return Written(messages, None, layout.left_out)


FORMAT = LangChain()


class MessageReader(ListReader):
    name = PROVIDER

    def take(self, line: Line, message: Record) -> None:
        item = self._item
        self._item += 1
        content = _content(message)
        if content is None:
            self._log.ignored[f"message/{message.get('type')}"] += 1
            return
        kind, data = content
        if kind == "ai":
            self._calls.forget()
        pieces = pieces_of(content, self._calls.called, self._calls.answered)
        wire = {"provider": PROVIDER, "item": item, "message": message}
        if kind == "ai":
            self._assistant(line, data, pieces, wire)
        elif kind in ("tool", "function"):
            self.assembler.results(
                line, [p for p in pieces if isinstance(p, ToolResult)], wire=wire
            )
        elif kind in ("system", "developer"):
            self.assembler.system(line, pieces, wire=wire)
        else:
            self._user(line, data, pieces, wire)

    def _user(self, line: Line, data: Record, pieces: Sequence[Piece], wire: Wire) -> None:
        if mapping(data.get("additional_kwargs")).get("lc_source") == "summarization":
            summary = text_and_media(data.get("content"))[0]
            self.assembler.compacted(line, by=PROVIDER, summary=summary)
        else:
            note_summaries(self._log, self.assembler, line, pieces)
        self.assembler.user(line, pieces, wire=wire)

    def _assistant(self, line: Line, data: Record, pieces: Sequence[Piece], wire: Wire) -> None:
        about = mapping(data.get("response_metadata"))
        self.assembler.assistant(
            line,
            pieces,
            message_id=string(data.get("id")),
            model=string(about.get("model_name")) or string(about.get("model")),
            usage=_usage(data.get("usage_metadata")),
            wire=wire,
        )


def pieces_of(content: Content, called: Name, answered: Name) -> list[Piece]:
    """What a message holds; `called` and `answered` give calls and results their ids."""
    kind, data = content
    if kind in ("tool", "function"):
        return [_result(data, answered)]
    if kind in ("system", "developer"):
        return _pieces("system", data.get("content"))
    extra = mapping(data.get("additional_kwargs"))
    if kind == "ai":
        thought = string(extra.get("reasoning_content"))
        words = _pieces("assistant", data.get("content"))
        return [
            *([Thinking(text=thought)] if thought else ()),
            *words,
            *_calls(data, extra, called),
        ]
    by_user = kind == "human"
    pieces = _pieces("user" if by_user else "other", data.get("content"))
    # What a library put under the user's role names itself there.
    return pieces if by_user and not extra.get("lc_source") else list(as_notes(pieces))


def _divided(said: Said) -> list[tuple[Piece, ...]]:
    """The pieces by message: each result has one of its own."""
    results = [(piece,) for piece in said.pieces if isinstance(piece, ToolResult)]
    return [*results] or [said.pieces]


def message_of(role: Role, pieces: Sequence[Piece], wire: Wire) -> Record:
    """One message as it was read, where it still says what the pieces say. A plain message of a
    chat becomes one like its neighbours."""
    known: Record = wire.get("message", {})
    ids = iter([p.id if isinstance(p, ToolCall) else p.call_id for p in pieces if _is_call(p)])
    content = None if "role" in known else _content(known)
    if content is not None:
        again = pieces_of(content, *[lambda *_: next(ids, "")] * 2)
        if same_pieces(again, pieces):
            return known
    return _plain_message(role, pieces)


def _plain_message(role: Role, pieces: Sequence[Piece]) -> Record:
    blocks = [block for piece in pieces if (block := _plain(piece)) is not None]
    alone = len(blocks) == 1 and blocks[0]["type"] == "text"
    data: Record = {"content": blocks[0]["text"] if alone else blocks or ""}
    kind = {"system": "system", "assistant": "ai"}.get(role, "human")
    if calls := [piece for piece in pieces if isinstance(piece, ToolCall)]:
        data["tool_calls"] = [
            {"name": call.tool, "args": call.parameters, "id": call.id, "type": "tool_call"}
            for call in calls
        ]
    for result in (piece for piece in pieces if isinstance(piece, ToolResult)):
        media = [block for one in result.media if (block := _plain(one)) is not None]
        text = text_of_result(result)
        content = [{"type": "text", "text": text}, *media] if media else text
        status = "success" if result.success else "error"
        kind, data = "tool", {"content": content, "tool_call_id": result.call_id, "status": status}
    return {"type": kind, "data": {**data, "type": kind}}


def _plain(piece: Piece) -> Record | None:
    """A block of the content, written from the values of a piece."""
    if isinstance(piece, (Text, Note)):
        return {"type": "text", "text": piece.text}
    if isinstance(piece, Thinking):
        return {"type": "thinking", "thinking": piece.text, "signature": piece.signature}
    if isinstance(piece, Media):
        where = {"base64": piece.data} if piece.data else {"url": piece.url}
        mime = {"mime_type": piece.mime} if piece.mime else {}
        return {"type": "file" if piece.kind == "document" else piece.kind, **where, **mime}
    return own(piece.wire, PROVIDER).get("block") if isinstance(piece, Opaque) else None


def _is_call(piece: Piece) -> TypeGuard[ToolCall | ToolResult]:
    return isinstance(piece, (ToolCall, ToolResult))


def _calls(data: Record, extra: Record, called: Name) -> Iterator[ToolCall]:
    """The calls, from where they are parsed, else as the provider wrote them."""
    parsed = [*mappings(data.get("tool_calls")), *mappings(data.get("invalid_tool_calls"))]
    for call in parsed:
        # A message that is a plain object may hold them as the provider of chats writes them.
        inner = mapping(call.get("function")) or call
        yield _call(inner, inner.get("args", inner.get("arguments")), call.get("id"), called)
    if parsed:
        return
    for call in mappings(extra.get("tool_calls")):
        function = mapping(call.get("function"))
        yield _call(function, function.get("arguments"), call.get("id"), called)
    if isinstance(old := extra.get("function_call"), dict):
        yield _call(old, old.get("arguments"), None, called)


def _call(named: Record, arguments: Any, call_id: Any, called: Name) -> ToolCall:
    tool, given = string(named.get("name")), string(call_id)
    wire = None if given else {"provider": PROVIDER, "made_id": True}
    parameters = parsed_arguments(arguments)
    return ToolCall(id=called(tool, given), tool=tool, parameters=parameters, wire=wire)


def _result(data: Record, answered: Name) -> ToolResult:
    output, media = text_and_media(data.get("content"))
    failed, given = data.get("status") == "error", string(data.get("tool_call_id"))
    return ToolResult(
        call_id=answered(string(data.get("name")), given),
        success=not failed,
        output=output,
        error=output if failed else None,
        media=media,
        wire=None if given else {"provider": PROVIDER, "made_id": True},
    )


def _content(message: Record) -> Content | None:
    """What a message is and holds, whichever way it was dumped. Among objects may be plain messages
    of chats, as LangChain itself takes them."""
    kind, data = message.get("type"), message.get("data")
    if kind is None and "role" in message and foreign(message, CALL_BLOCKS) is None:
        kind, data = CHAT_ROLES.get(string(message["role"])), message
    if kind == "constructor" and isinstance(names := message.get("id"), list) and names:
        kind, data = str(names[-1]), message.get("kwargs")
    elif data is None and message.keys() & {"additional_kwargs", "response_metadata"}:
        data = message
    name = string(kind).removesuffix("Chunk").removesuffix("Message").lower()
    if name not in TYPES or not isinstance(data, dict) or "content" not in data:
        return None
    if name == "chat":
        name = CHAT_ROLES.get(string(data.get("role")).lower(), "chat")
    return Content(name, data)


def _pieces(role: str, content: Any) -> list[Piece]:
    if isinstance(content, str):
        content = [content]
    pieces: list[Piece] = []
    for block in content if isinstance(content, list) else ():
        pieces.extend(_piece(role, block))
    return pieces


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
    return (media,) if media is not None else (kept(PROVIDER, kind, block),)


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


def _usage(counts: Any) -> Usage | None:
    every = {**mapping(counts), **mapping(mapping(counts).get("input_token_details"))}
    cache = ("cache_read", "cache_creation")
    return usage_in(every, "input_tokens", "output_tokens", *cache, within=True)


DIALECT = Dialect(
    provider=PROVIDER,
    takes=lambda role, piece: not isinstance(piece, Media) or role != "assistant",
    signed_by=(PROVIDER,),
    system_inside=True,
    names=OPENAI_NAMES,
)

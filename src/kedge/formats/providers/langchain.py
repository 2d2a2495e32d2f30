"""LangChain's messages: `messages_to_dict`, the serialised constructors, and dumped models."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from kedge.formats.content.blocks import media_of, parsed_arguments, text_and_media
from kedge.formats.content.wrappers import said_by_user
from kedge.formats.intake.fields import mapping, mappings, string, tokens_in
from kedge.formats.intake.head import Head
from kedge.formats.intake.lines import Line, Lines, Record
from kedge.formats.intake.log import Log
from kedge.formats.providers.messages import (
    Unnamed,
    as_notes,
    compacted,
    note_summaries,
    sampled,
    turns_of,
)
from kedge.formats.providers.wire import kept
from kedge.formats.turns.assembly import Assembler
from kedge.formats.turns.draft import Piece
from kedge.model import Media, Text, Thinking, ToolCall, ToolResult, Turn, Usage

KEYS = ("messages",)
TYPES = ("human", "ai", "system", "tool", "function", "chat", "developer")
CHAT_ROLES = {"user": "human", "assistant": "ai", "human": "human", "ai": "ai", "system": "system"}
"""What the free role of a chat message stands for."""
CALL_BLOCKS = ("tool_use", "tool_call", "function_call", "input_json_delta", "tool_call_chunk")
"""Blocks that repeat what stands among the calls."""


MEDIA = ("image", "audio", "video", "file")


class Content(NamedTuple):
    type: str
    data: Record


class LangChain:
    name = "langchain"

    def sniff(self, head: Head) -> int:
        messages = sampled(head, KEYS)
        return 3 if messages and all(_content(message) is not None for message in messages) else 0

    def read(self, lines: Lines, log: Log) -> Iterator[Turn]:
        return turns_of(lines, log, MessageReader, KEYS)


FORMAT = LangChain()


class MessageReader:
    name = "langchain"

    def __init__(self, log: Log, session: int) -> None:
        self.assembler = Assembler(log, session=session)
        self._log = log
        self._calls = Unnamed()

    def begin(self, body: Record) -> Record:
        return body

    def take(self, line: Line, message: Record) -> None:
        content = _content(message)
        if content is None:
            self._log.ignored[f"message/{message.get('type')}"] += 1
            return
        kind, data = content
        if kind == "chat":
            kind = CHAT_ROLES.get(string(data.get("role")).lower(), "chat")
        if kind == "ai":
            self._assistant(line, data)
        elif kind in ("tool", "function"):
            self._result(line, data)
        elif kind in ("system", "developer"):
            self.assembler.system(line, _pieces("system", data.get("content")))
        else:
            self._user(line, data, by_user=kind == "human")

    def _user(self, line: Line, data: Record, *, by_user: bool) -> None:
        pieces = _pieces("user" if by_user else "other", data.get("content"))
        source = mapping(data.get("additional_kwargs")).get("lc_source")
        if source == "summarization":
            summary = text_and_media(data.get("content"))[0]
            compacted(self._log, self.assembler, line, by="langchain", summary=summary)
        else:
            note_summaries(self._log, self.assembler, line, pieces)
        # What a library put under the user's role names itself there.
        self.assembler.user(line, pieces if by_user and not source else as_notes(pieces))

    def _assistant(self, line: Line, data: Record) -> None:
        self._calls.forget()
        extra = mapping(data.get("additional_kwargs"))
        thought = string(extra.get("reasoning_content"))
        pieces = [
            *((Thinking(text=thought),) if thought else ()),
            *_pieces("assistant", data.get("content")),
            *self._called(data, extra),
        ]
        about = mapping(data.get("response_metadata"))
        self.assembler.assistant(
            line,
            pieces,
            message_id=string(data.get("id")),
            model=string(about.get("model_name")) or string(about.get("model")),
            usage=_usage(data.get("usage_metadata")),
        )

    def _called(self, data: Record, extra: Record) -> Iterator[ToolCall]:
        """The calls, from where they are parsed, else as the provider wrote them."""
        parsed = [*mappings(data.get("tool_calls")), *mappings(data.get("invalid_tool_calls"))]
        for call in parsed:
            yield self._call(call, call.get("args"), call.get("id"))
        if parsed:
            return
        for call in mappings(extra.get("tool_calls")):
            function = mapping(call.get("function"))
            yield self._call(function, function.get("arguments"), call.get("id"))
        if isinstance(old := extra.get("function_call"), dict):
            yield self._call(old, old.get("arguments"), None)

    def _call(self, named: Record, arguments: Any, call_id: Any) -> ToolCall:
        tool = string(named.get("name"))
        return ToolCall(
            id=self._calls.called(tool, string(call_id)),
            tool=tool,
            parameters=parsed_arguments(arguments),
        )

    def _result(self, line: Line, data: Record) -> None:
        output, media = text_and_media(data.get("content"))
        failed = data.get("status") == "error"
        call_id = self._calls.answered(string(data.get("name")), string(data.get("tool_call_id")))
        result = ToolResult(
            call_id=call_id,
            success=not failed,
            output=output,
            error=output if failed else None,
            media=media,
        )
        self.assembler.results(line, [result])


def _content(message: Record) -> Content | None:
    """What a message is and holds, whichever way it was dumped."""
    kind, data = message.get("type"), message.get("data")
    if kind == "constructor" and isinstance(names := message.get("id"), list) and names:
        kind, data = str(names[-1]), message.get("kwargs")
    elif data is None and message.keys() & {"additional_kwargs", "response_metadata"}:
        data = message
    name = string(kind).removesuffix("Chunk").removesuffix("Message").lower()
    if name not in TYPES or not isinstance(data, dict) or "content" not in data:
        return None
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
    if kind in CALL_BLOCKS or not isinstance(block, dict):
        return ()
    if kind in ("thinking", "reasoning", "reasoning_content"):
        return (_thought(block),)
    media = _media(block) or media_of(block)
    return (media,) if media is not None else (kept("langchain", kind, block),)


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
    found = tokens_in(counts, "input_tokens", "output_tokens")
    details = mapping(counts).get("input_token_details")
    cache = tokens_in(details, "cache_read", "cache_creation")
    if not found and not cache:
        return None
    read, written = cache["cache_read"], cache["cache_creation"]
    return Usage(
        input=max(found["input_tokens"] - read - written, 0),
        output=found["output_tokens"],
        cache_read=read,
        cache_write=written,
    )

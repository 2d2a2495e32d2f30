"""Messages of pydantic-ai as its `ModelMessagesTypeAdapter` writes and reads them: requests with
prompts and what tools returned, responses with words, thinking and calls."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from kedgeline.formats import pieces as made
from kedgeline.formats.pieces import Kind, as_json, plain_words, said_by_user
from kedgeline.formats.providers.messages import Outputs
from kedgeline.formats.providers.repair import OPENING, groups, laid_out
from kedgeline.formats.providers.shape import (
    OPENAI_NAMES,
    Ids,
    ProviderShape,
    Read,
    Sample,
    named_results,
    text_in,
    text_of_result,
)
from kedgeline.formats.records import Record, mapping, string
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
    Usage,
)

KINDS = ("request", "response")
SYSTEM = "system-prompt"
TEXTS: dict[str, str] = {"system": SYSTEM, "assistant": "text"}
"""The part that holds the words of a role; all others speak in prompts of the user's."""
MEDIA: tuple[Kind, ...] = ("image", "audio", "video", "document")
URL_SAFE = str.maketrans("-_", "+/")


class PydanticAI(ProviderShape):
    name, field, signed_by = "pydantic-ai", "parts", ("pydantic-ai",)
    roles = ("",)
    system_inside = True
    names = OPENAI_NAMES
    outputs = Outputs("parts", ("tool-return", "retry-prompt"), "tool_call_id", "content")

    def knows(self, message: Record) -> bool:
        return self.unread(message) is None

    def sure(self, seen: Sample) -> int:
        return 3

    def unread(self, message: Record) -> Unread | None:
        kind, parts = message.get("kind"), message.get("parts")
        if kind not in KINDS:
            return Unread(".kind", f"a message of the kind {kind!r}", "use request or response")
        for number, part in enumerate(parts if isinstance(parts, list) else [None]):
            if not string(mapping(part).get("part_kind")):
                return Unread(f".parts[{number}]", "a part without a part_kind")
        return None

    def turn_role(self, message: Record) -> Role:
        return "assistant" if message.get("kind") == "response" else "user"

    def about(self, message: Record) -> dict[str, Any]:
        names = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")
        usage = made.usage_in(message.get("usage"), *names, within=True)
        return {
            "message_id": string(message.get("provider_response_id")),
            "model": string(message.get("model_name")),
            "time": made.utc_time(message.get("timestamp")),
            "usage": None if usage == Usage() else usage,  # where nothing was counted, all are 0
        }

    def kind_of(self, block: Record) -> str:
        return string(block.get("part_kind")) or "dict"

    def read_block(self, role: str, block: Record, ids: Ids) -> Read | None:
        kind = string(block.get("part_kind"))
        pieces = _pieces(kind, block)
        if not pieces:
            return None
        tool = string(block.get("tool_name"))
        named = {"name": tool} if isinstance(pieces[0], ToolResult) else {}
        return pieces, {"type": kind, **named}

    def write_block(self, role: Role, piece: Piece) -> Record | None:
        """Where a part was read from another kind than the role speaks in, it stays of that
        kind."""
        wire = self.own(piece)
        if (text := text_in(piece)) is not None:
            kind = wire.get("type") or TEXTS.get(role, "user-prompt")
            return {"content": text, "part_kind": kind}
        if isinstance(piece, Thinking):
            signed = {"signature": piece.signature} if piece.signature else {}
            return {"content": piece.text, **signed, "part_kind": "thinking"}
        if isinstance(piece, Media):
            media = _plain_media(piece)
            return {"content": [media], "part_kind": "user-prompt"} if media else None
        if isinstance(piece, ToolCall):
            named = {"tool_name": piece.tool, "args": piece.parameters, "tool_call_id": piece.id}
            return {**named, "part_kind": "tool-call"}
        if isinstance(piece, ToolResult):
            return _plain_result(piece, wire.get("name", ""))
        return None

    def plain_message(self, role: Role, pieces: Sequence[Piece], wire: Any) -> Record:
        kind = "response" if role == "assistant" else "request"
        return {"parts": self.written(role, pieces), "kind": kind}

    def write(self, transcript: Transcript) -> Written:
        layout = laid_out(transcript, self)
        said = layout.said
        if not layout.as_read:
            said = [*layout.head, *named_results(said, self)]
        spoken = [group for group in groups(said) if group.pieces or layout.as_read]
        messages = [self.message_of(*group) for group in spoken]
        kinds = ["" if _is_prompt(message) else message["kind"] for message in messages]
        if not layout.as_read and next(filter(None, kinds), "") == "response":
            messages.insert(kinds.index("response"), self.message_of("user", [OPENING], {}))
        return Written(messages, None, layout.left_out)


FORMAT = PydanticAI()


def _pieces(kind: str, part: Record) -> tuple[Piece, ...]:
    content = part.get("content")
    if kind == "user-prompt":
        return _prompt(content)
    if kind == "tool-call":
        return (made.call(part.get("tool_call_id"), part.get("tool_name"), part.get("args")),)
    if kind == "tool-return" or (kind == "retry-prompt" and part.get("tool_name")):
        return (_result(kind, part),)
    if kind in ("retry-prompt", "retry-feedback"):
        text = content if isinstance(content, str) else as_json(content)
        return (Note(kind="injected", text=text),)
    if not isinstance(content, str):
        return ()
    if kind in TEXTS.values():
        return (Text(text=content),)
    if kind == "thinking":
        return (Thinking(text=content, signature=string(part.get("signature"))),)
    return (Note(kind="summary", text=content),) if kind == "compaction" else ()


def _prompt(content: Any) -> tuple[Piece, ...]:
    """The words and media of a prompt; what is neither stays with the part alone."""
    pieces: list[Piece] = []
    for one in content if isinstance(content, list) else [content]:
        text = one if isinstance(one, str) else mapping(one).get("content")
        if (media := _media(one)) is not None:
            pieces.append(media)
        elif isinstance(text, str):
            pieces.extend(said_by_user(text))
    return tuple(pieces)


def _result(kind: str, part: Record) -> ToolResult:
    content = part.get("content")
    several = content if isinstance(content, list) else [content]
    media = tuple(found for one in several if (found := _media(one)) is not None)
    words = [one for one in several if _media(one) is None]
    output = plain_words(words if isinstance(content, list) or not words else words[0])
    outcome = string(part.get("outcome")) or "success"
    return made.result(
        part.get("tool_call_id"),
        output,
        failed=kind == "retry-prompt" or outcome in ("failed", "retried"),
        refused=outcome == "denied",
        interrupted=outcome == "interrupted",
        media=media,
    )


def _plain_result(result: ToolResult, tool: str) -> Record:
    text = text_of_result(result)
    media = [block for one in result.media if (block := _plain_media(one)) is not None]
    content = [*([text] if text else ()), *media] if media else text
    part: Record = {"tool_name": tool, "content": content, "tool_call_id": result.call_id}
    outcome = "denied" if result.refused else "interrupted" if result.interrupted else "failed"
    part |= {} if result.success else {"outcome": outcome}
    return {**part, "part_kind": "tool-return"}


def _media(value: Any) -> Media | None:
    block = mapping(value)
    kind, mime = string(block.get("kind")), string(block.get("media_type"))
    known = (one for one in MEDIA if kind.startswith(one) or mime.startswith(one))
    found: Kind = next(known, "file")
    if kind == "binary" and isinstance(data := block.get("data"), str):
        return Media(kind=found, mime=mime, data=data.translate(URL_SAFE))
    if kind.endswith("-url") and isinstance(url := block.get("url"), str):
        return Media(kind=found, mime=mime, url=url)
    return None


def _plain_media(media: Media) -> Record | None:
    if media.data:
        return {"data": media.data, "media_type": media.mime, "kind": "binary"}
    kind = "document" if media.kind == "file" else media.kind
    return {"url": media.url, "kind": f"{kind}-url"} if media.url else None


def _is_prompt(message: Record) -> bool:
    """Whether a request says nothing but what the system does."""
    prompts = all(part.get("part_kind") == SYSTEM for part in message["parts"])
    return message["kind"] == "request" and prompts

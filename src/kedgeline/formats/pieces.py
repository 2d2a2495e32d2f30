"""Pieces of messages out of whatever clients write: texts, thoughts, calls, results, media, counts.

Every function takes values of any type, and makes of a wrong one an empty one."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any, Literal

import msgspec

from kedgeline.formats.records import Record, mapping, mappings, maybe_tokens, string
from kedgeline.formats.turns import Piece
from kedgeline.formats.voices import said_by_user
from kedgeline.model import Media, Note, Opaque, Text, Thinking, ToolCall, ToolResult, Usage

Kind = Literal["image", "document", "audio", "video", "file"]
Change = Literal["", "create", "update", "delete"]

# What was said.


def texts(content: Any) -> list[Piece]:
    """The texts of a string or of blocks, those that are empty left out."""
    blocks = content if isinstance(content, list) else [content]
    found = (block if isinstance(block, str) else mapping(block).get("text") for block in blocks)
    return [Text(text=text) for text in found if isinstance(text, str) and text]


def without(text: str, found: re.Match[str]) -> str:
    """The words around what was found in a text."""
    around = (text[: found.start()].strip(), text[found.end() :].strip())
    return "\n\n".join(filter(None, around))


def thoughts(text: Any, signature: Any = "") -> list[Piece]:
    thought = Thinking(text=string(text), signature=string(signature))
    return [thought] if thought.text or thought.signature else []


def heard(content: Any, *, person: bool = True) -> list[Piece]:
    """What stands under the user's role, as a text or in blocks; where no `person` wrote it, its
    words are nobody's."""
    pieces: list[Piece] = []
    for block in content if isinstance(content, list) else [content]:
        text = block if isinstance(block, str) else mapping(block).get("text")
        if isinstance(text, str):
            if text.strip():
                pieces += said_by_user(text) if person else [Note(kind="injected", text=text)]
        elif isinstance(block, dict):
            pieces.append(other(block))
    return pieces


def said(content: Any) -> list[Piece]:
    """What the assistant said, thought and called, as a text or in blocks."""
    if not isinstance(content, list):
        return texts(content)
    return [_spoken(block) for block in mappings(content)]


def _spoken(block: Record) -> Piece:
    """One block of an assistant's."""
    kind = block.get("type")
    if kind == "text":
        return Text(text=string(block.get("text")))
    if kind == "thinking":
        seal = string(block.get("signature")) or string(block.get("thinkingSignature"))
        return Thinking(text=string(block.get("thinking")), signature=seal)
    if kind == "redacted_thinking":
        return Thinking(signature=string(block.get("data")), wire={"type": kind})
    if kind in ("tool_use", "toolCall"):
        arguments = block.get("input" if kind == "tool_use" else "arguments")
        return call(block.get("id"), block.get("name"), arguments)
    return other(block)


def other(block: Record) -> Piece:
    """A block that holds no words: media, or one that nobody knows."""
    return media_of(block) or Opaque(kind=str(block.get("type")), wire=block)


def as_notes(pieces: Sequence[Piece]) -> tuple[Piece, ...]:
    """Words that are neither the user's nor the model's, whatever role they stand under."""
    return tuple(
        Note(kind="injected", text=piece.text, wire=piece.wire)
        if isinstance(piece, Text)
        else piece
        for piece in pieces
    )


# What was called, and what came of it.


def call(call_id: Any, tool: Any, arguments: Any) -> ToolCall:
    parameters = parsed_arguments(arguments)
    return ToolCall(id=string(call_id), tool=string(tool), parameters=parameters)


def calls_in(message: Record) -> list[ToolCall]:
    """The calls of a message as OpenAI's chat messages carry them; many agents write them so."""
    found = ((one, mapping(one.get("function"))) for one in mappings(message.get("tool_calls")))
    return [call(one.get("id"), named.get("name"), named.get("arguments")) for one, named in found]


def result(
    call_id: Any,
    content: Any,
    *,
    failed: bool = False,
    exit_code: int | None = None,
    refused: bool = False,
    reason: str = "",
    interrupted: bool = False,
    error: str = "",
    change: Change = "",
    media: Sequence[Media] = (),
) -> ToolResult:
    """A result. It is a success unless something says otherwise; a call that was refused did not
    fail either. The `error` is the output, where nothing else is told."""
    output, shown = text_and_media(content)
    success = not (failed or refused or interrupted or exit_code)
    return ToolResult(
        call_id=string(call_id),
        success=success,
        output=output,
        error=None if success or refused else error or output,
        exit_code=exit_code,
        refused=refused,
        reason=reason if refused else "",
        interrupted=interrupted,
        change=change if success else "",
        media=(*shown, *media),
    )


def parsed_arguments(arguments: Any) -> Record:
    """A call's arguments as an object, also when they were written as a JSON string."""
    if isinstance(arguments, dict):
        return arguments
    if not isinstance(arguments, str) or not arguments.strip():
        return {}
    try:
        value = msgspec.json.decode(arguments)
    except (ValueError, RecursionError):
        return {"input": arguments}
    return value if isinstance(value, dict) else {"input": value}


_EXIT_CODE = re.compile(r"Exit code (-?\d{1,10})\b")


def exit_code_in(output: str) -> int | None:
    """The exit code that a failed command's output begins with, as Claude's clients word it."""
    found = _EXIT_CODE.match(output)
    return int(found[1]) if found else None


class DistinctIds:
    """Ids made distinct, where a call and its result are one item and only its place pairs them."""

    def __init__(self) -> None:
        self._given: set[str] = set()

    def one_of(self, *wanted: Any) -> str:
        """The first of the values that is an id and was not given before, or one like it."""
        known = [value for value in wanted if isinstance(value, str) and value] or ["call"]
        fresh = next((value for value in known if value not in self._given), "")
        number = len(self._given)
        while not fresh or fresh in self._given:
            number += 1
            fresh = f"{known[-1]}-{number}"
        self._given.add(fresh)
        return fresh


# Content of results: texts and media.


def text_of(content: Any) -> str:
    """The text of a string or of a list of text blocks."""
    return text_and_media(content)[0]


def text_and_media(content: Any) -> tuple[str, tuple[Media, ...]]:
    """A content as text, and the media in it; other values as JSON."""
    if isinstance(content, str):
        return content, ()
    if not isinstance(content, list):
        return "" if content is None else as_json(content), ()
    words: list[str] = []
    media: list[Media] = []
    for block in content:
        if isinstance(block, str):
            words.append(block)
        elif isinstance(block, dict) and isinstance(block.get("text"), str):
            words.append(block["text"])
        elif isinstance(block, dict) and (found := media_of(block)) is not None:
            media.append(found)
        else:
            words.append(as_json(block))
    return "\n".join(words), tuple(media)


def media_of(block: Record) -> Media | None:
    """An image, document, audio or file block of any provider; None when it is none."""
    kind = block.get("type")
    if kind in ("image", "document") and isinstance(source := block.get("source"), dict):
        return Media(
            kind="image" if kind == "image" else "document",
            mime=string(source.get("media_type")),
            data=string(source.get("data")),
            url=string(source.get("url")),
        )
    if kind == "image" and isinstance(data := block.get("data"), str):  # MCP and pi
        return Media(kind="image", mime=string(block.get("mimeType")), data=data)
    if kind in ("image_url", "input_image"):
        url = block.get("image_url")
        if found := string(url.get("url") if isinstance(url, dict) else url):
            return media_from_url(found, "image")
    if kind == "input_audio" and isinstance(audio := block.get("input_audio"), dict):
        mime = f"audio/{string(audio.get('format'))}"
        return Media(kind="audio", mime=mime, data=string(audio.get("data")))
    if kind in ("file", "input_file"):
        file = block["file"] if isinstance(block.get("file"), dict) else block
        return media_from_url(file.get("file_data") or file.get("file_url"), "file")
    return None


def media_from_url(url: Any, kind: Kind, mime: Any = "") -> Media:
    """Media behind a URL; a `data:` URL holds the bytes itself."""
    head, _, data = string(url).partition(",")
    if not head.startswith("data:"):
        return Media(kind=kind, mime=string(mime), url=string(url))
    told = head.removeprefix("data:").partition(";")[0]
    return Media(kind=kind, mime=told or string(mime), data=data)


def media_kind(mime: str) -> Kind:
    """What a file of this type is."""
    known: tuple[Kind, ...] = ("image", "audio", "video")
    return next((kind for kind in known if mime.startswith(f"{kind}/")), "file")


def as_json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


# Times and counts.


def time_of(value: Any) -> datetime | None:
    """An ISO 8601 string, or seconds or milliseconds since 1970, as a time in UTC."""
    try:
        if isinstance(value, str):
            time = datetime.fromisoformat(value)
            return time.astimezone(UTC) if time.tzinfo else time.replace(tzinfo=UTC)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return datetime.fromtimestamp(value / 1000 if value > 1e11 else value, UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return None


def usage_in(
    counts: Any, given: str, output: str, read: str = "", written: str = "", *, within: bool = False
) -> Usage | None:
    """Tokens by the names that a client counts them under; None where it counts nothing. With
    `within` what came from the cache, or went into it, is part of the input."""
    if not isinstance(counts, dict):
        return None
    known = [maybe_tokens(counts.get(name)) for name in (given, output, read, written)]
    if known == [None] * 4:
        return None
    sent, received, cached, stored = (number or 0 for number in known)
    return Usage(
        input=max(sent - cached - stored, 0) if within else sent,
        output=received,
        cache_read=cached,
        cache_write=stored,
    )

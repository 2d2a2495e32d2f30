"""What the messages of Gemini CLI hold: words, thoughts, calls with their results."""

from __future__ import annotations

import re
from typing import Any, Literal

from kedge.formats.content.blocks import as_json, parsed_arguments
from kedge.formats.content.referenced import cuts, said_around
from kedge.formats.intake.fields import Ids, mapping, mappings, string, tokens_in
from kedge.formats.intake.lines import Record
from kedge.formats.turns.draft import Piece
from kedge.model import Media, Note, Text, Thinking, ToolCall, ToolResult, Usage

_EXIT_CODE = re.compile(r"^Exit Code: (?:(-?\d{1,10})\b|\(none\))", re.MULTILINE)
_STOPPED = "User cancelled tool execution"
"""How the client words a call that was stopped while it ran, and not refused before."""
_ENDED = ("success", "error", "cancelled")
_HOOK = re.compile(r"\s*(<hook_context>[^<>]*</hook_context>)")
"""What a hook said, which the client puts behind the output of a call. There is no other tag in it:
the client writes angle brackets in it as entities."""


def _parts(content: Any) -> list[Record]:
    """Content as parts: a text, a part, or a list of both."""
    items = content if isinstance(content, list) else [content]
    texts = [{"text": item} if isinstance(item, str) else item for item in items]
    return [item for item in texts if isinstance(item, dict)]


def text_in(content: Any) -> str:
    return "\n".join(text for part in _parts(content) if (text := string(part.get("text"))))


def heard(content: Any) -> list[Piece]:
    pieces: list[Piece] = []
    parts = _parts(content)
    texts = [string(part.get("text")) for part in parts]
    for part, text, cut in zip(parts, texts, cuts(texts), strict=True):
        if text.strip():
            pieces.extend(said_around(text, cut))
        pieces.extend(_media(part))
    return pieces


def said(content: Any) -> list[Piece]:
    """What the model said; calls in it are passed over: `toolCalls` has them with their results."""
    pieces: list[Piece] = []
    for part in _parts(content):
        text, signature = string(part.get("text")), string(part.get("thoughtSignature"))
        if part.get("thought") is True:
            pieces.append(Thinking(text=text, signature=signature))
        elif text:
            pieces.append(Text(text=text))
        pieces.extend(_media(part))
    return pieces


def thoughts_of(message: Record) -> list[Thinking]:
    found = []
    for thought in mappings(message.get("thoughts")):
        words = (string(thought.get("subject")), string(thought.get("description")))
        if text := ": ".join(filter(None, words)):
            found.append(Thinking(text=text))
    return found


def _media(part: Record) -> list[Media]:
    inline, file = mapping(part.get("inlineData")), mapping(part.get("fileData"))
    if not inline and not file:
        return []
    mime = string(inline.get("mimeType")) or string(file.get("mimeType"))
    family = mime.partition("/")[0]
    kinds: dict[str, Literal["image", "audio", "video"]] = {
        "image": "image",
        "audio": "audio",
        "video": "video",
    }
    return [
        Media(
            kind=kinds.get(family, "file"),
            mime=mime,
            data=string(inline.get("data")),
            url=string(file.get("fileUri")),
        )
    ]


def hooks_of(item: Record) -> list[Note]:
    """What hooks said of a call."""
    output, error, _ = _returned(item.get("result"))
    found = _HOOK.findall("\n".join((output, error)))
    return [Note(kind="hook", text=said) for said in found]


def call_and_result(item: Record, ids: Ids) -> tuple[ToolCall, ToolResult | None]:
    """A tool call and, once it has ended, its result."""
    call = ToolCall(
        id=ids.distinct(item.get("id"), item.get("name")),
        tool=string(item.get("name")),
        parameters=parsed_arguments(item.get("args")),
    )
    if item.get("status") not in _ENDED and not item.get("result"):
        return call, None
    return call, _result(call, item)


def _result(call: ToolCall, item: Record) -> ToolResult:
    told, failure, media = _returned(item.get("result"))
    output, error = _HOOK.sub("", told), _HOOK.sub("", failure)
    cancelled = item.get("status") == "cancelled"
    stopped = cancelled and _STOPPED in error
    code = _exit_code(output) if call.verb == "run" else None
    failed = item.get("status") == "error" or (bool(error) and item.get("status") != "success")
    success = not (cancelled or failed or code not in (None, 0))
    text = output or error
    return ToolResult(
        call_id=call.id,
        success=success,
        output=text,
        error=None if success or cancelled else error or output,
        exit_code=code,
        refused=cancelled and not stopped,
        interrupted=stopped,
        change=_change(call, item) if success else "",
        media=tuple(media),
    )


def _returned(result: Any) -> tuple[str, str, list[Media]]:
    """Output, error and media of a call's result."""
    outputs: list[str] = []
    errors: list[str] = []
    media: list[Media] = []
    for part in _parts(result):
        response = mapping(mapping(part.get("functionResponse")).get("response"))
        output, error = response.get("output"), string(response.get("error"))
        if response and not error and not isinstance(output, str):
            output = as_json(response)
        outputs.extend((string(part.get("text")), string(output)))
        errors.append(error)
        media.extend(_media(part))
    return "\n".join(filter(None, outputs)), "\n".join(filter(None, errors)), media


def _exit_code(output: str) -> int | None:
    """The exit code that the shell tool writes behind the command's output; the last such line is
    the tool's own."""
    codes = _EXIT_CODE.findall(output)
    return int(codes[-1]) if codes and codes[-1] else None


def _change(call: ToolCall, item: Record) -> Literal["", "create", "update"]:
    """What the tool shows to have done to the file: a new one had no content before."""
    shown = mapping(item.get("resultDisplay"))
    if call.verb not in ("write", "edit") or "originalContent" not in shown:
        return ""
    return "update" if shown["originalContent"] else "create"


def usage_of(counts: Any) -> Usage | None:
    """Tokens of one answer; what came from the cache is counted within the input."""
    found = tokens_in(counts, "input", "output", "cached", "thoughts", "tool")
    if not found:
        return None
    return Usage(
        input=max(found["input"] - found["cached"], 0) + found["tool"],
        output=found["output"] + found["thoughts"],
        cache_read=found["cached"],
    )

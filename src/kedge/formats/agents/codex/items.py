"""The items of a rollout as pieces."""

from __future__ import annotations

import re
from typing import Any

from kedge.formats.content.blocks import media_from_url, media_of, parsed_arguments
from kedge.formats.content.wrappers import said_by_user
from kedge.formats.intake.fields import mapping, mappings, string
from kedge.formats.intake.lines import Line, Record
from kedge.formats.turns.draft import Piece
from kedge.model import Media, Note, Text, Thinking, ToolCall, ToolResult

IDE_OPENING = "# Context from my IDE setup:"
"""How the editor extension begins a prompt: with the open files, then the request."""
IDE_REQUEST = re.compile(r"^## My request for Codex:[ \t]*\n?", re.MULTILINE)
_IMAGE_TAG = re.compile(r"</?image\b[^>]*>\s*")
"""What the client writes around an image that the user attached."""


def heard(content: Any) -> list[Piece]:
    """What a message under the user's role holds: words, notes, images."""
    if isinstance(content, str):
        return _words(content)
    pieces: list[Piece] = []
    for block in mappings(content):
        if isinstance(text := block.get("text"), str):
            pieces.extend(_words(text))
        elif (media := media_of(block)) is not None:
            pieces.append(media)
    return pieces


def told(payload: Record) -> list[Piece]:
    """What a `user_message` event holds."""
    images = payload.get("images")
    urls = images if isinstance(images, list) else []
    media = [media_from_url(url, "image") for url in urls if isinstance(url, str)]
    return [*_words(string(payload.get("message"))), *media]


def said(content: Any) -> list[Piece]:
    """What a message of the assistant, or of the client as system or developer, holds."""
    if isinstance(content, str):
        return [Text(text=content)] if content else []
    texts = (block.get("text") for block in mappings(content))
    return [Text(text=text) for text in texts if isinstance(text, str) and text]


def thought(payload: Record) -> Thinking | None:
    """A reasoning item; without a readable text its seal alone is kept."""
    texts = [
        text
        for name in ("content", "summary")
        for block in mappings(payload.get(name))
        if (text := string(block.get("text")))
    ]
    signature = string(payload.get("encrypted_content"))
    return Thinking(text="\n\n".join(texts), signature=signature) if texts or signature else None


def _named(payload: Record) -> str:
    """A tool's name; the tools of a server stand behind its name, and the client's own groups say
    nothing."""
    space = string(payload.get("namespace"))
    return (space if space.endswith("__") else "") + string(payload.get("name"))


def call_of(payload: Record, line: Line) -> ToolCall:
    """The call an item makes; one without an id gets one from its place in the file."""
    kind = payload.get("type")
    call_id = string(payload.get("call_id")) or string(payload.get("id")) or f"line-{line.number}"
    if kind == "function_call":
        name = _named(payload)
        return ToolCall(
            id=call_id, tool=name, parameters=parsed_arguments(payload.get("arguments"))
        )
    if kind == "custom_tool_call":
        name = _named(payload)
        return ToolCall(id=call_id, tool=name, parameters={"input": payload.get("input")})
    if kind == "tool_search_call":
        return ToolCall(
            id=call_id, tool="tool_search", parameters=parsed_arguments(payload.get("arguments"))
        )
    action = mapping(payload.get("action"))
    parameters = {key: value for key, value in action.items() if key != "type"}
    if kind == "image_generation_call":
        prompt = string(payload.get("revised_prompt"))
        parameters = {"prompt": prompt} if prompt else {}
    return ToolCall(id=call_id, tool=str(kind).removesuffix("_call"), parameters=parameters)


def result_inside(payload: Record, call: ToolCall) -> ToolResult:
    """The result of a call that the provider ran itself and that no output item follows."""
    failed = payload.get("status") in ("failed", "incomplete")
    image = string(payload.get("result"))
    media = (Media(kind="image", mime="image/png", data=image),) if image else ()
    return ToolResult(call_id=call.id, success=not failed, media=media)


def _words(text: str) -> list[Piece]:
    if not text.strip():
        return []
    if _IMAGE_TAG.fullmatch(text.strip()):
        return [Note(kind="injected", text=text)]
    if not text.lstrip().startswith(IDE_OPENING):
        return list(said_by_user(text))
    request = IDE_REQUEST.search(text)
    if request is None:
        return [Note(kind="environment", text=text)]
    context = Note(kind="environment", text=text[: request.start()].rstrip())
    words = text[request.end() :].strip()
    return [context, *(said_by_user(words) if words else ())]

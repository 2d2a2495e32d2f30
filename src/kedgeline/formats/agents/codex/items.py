"""The items of a rollout as pieces."""

from __future__ import annotations

import re
from typing import Any, Literal, NamedTuple

import msgspec

from kedgeline.formats.content import (
    as_json,
    media_from_url,
    media_of,
    parsed_arguments,
    said_by_user,
    text_and_media,
)
from kedgeline.formats.intake import Record, mapping, mappings, maybe_whole, string
from kedgeline.formats.log import Line
from kedgeline.formats.turns import Piece
from kedgeline.model import Media, Note, Text, Thinking, ToolCall, ToolResult

# Tool outputs of Codex: exit codes, refusals, interruptions, and what the tools reported.

_REFUSED = re.compile(
    r"\s*(?:(?:exec command |patch )?rejected by user\b"
    r"|This action was rejected due to unacceptable risk"
    r'|exec_command failed\b[^\n]{0,4000}\bRejected\("(?i:rejected by user))'
)
"""How the client words a call that was not allowed to run; the output is these words and nothing of
the tool's."""
_SERVER_REFUSED = "user rejected MCP tool call"
_INTERRUPTED = re.compile(r"\s*aborted(?:\s*\Z| by user\b)")
_FAILED = (
    "apply_patch verification failed",
    "exec_command failed",
    "execution error: ",
    "failed in sandbox",
    "failed to parse function arguments",
    "failed to parse exec_command arguments",
    "unsupported call: ",
    "unsupported custom tool call: ",
    "write_stdin failed",
)
"""How the client words a call that it could not carry out. It writes no flag beside the words; the
output of a command never stands there bare, but behind a header or inside an object."""
_HEADER_STARTS = ("Exit code: ", "Chunk ID: ", "Wall time: ")
_EXIT_CODE = re.compile(r"^(?:Exit code: |Process exited with code )(-?\d{1,10})\s*$", re.MULTILINE)
_CHANGES: dict[str, Literal["create", "update", "delete"]] = {
    "add": "create",
    "update": "update",
    "delete": "delete",
}


class Outcome(NamedTuple):
    """What an event said of a call before its output came."""

    success: bool | None = None
    exit_code: int | None = None
    refused: bool = False
    change: Literal["", "create", "update", "delete"] = ""
    server: bool = False
    """The tool is a server's, whose output is its own and could imitate the client's words."""


class _Said(NamedTuple):
    text: str
    exit_code: int | None
    bare: bool
    """Whether the text may be the client's own: it stands behind no header and in no object."""


def awaited(call: ToolCall) -> Outcome:
    """What is known of a call before anything is told of it."""
    return Outcome(server="__" in call.tool)


def outcome_of(event: Record, call: Outcome) -> Outcome:
    """An event that tells how a call ended, such as `patch_apply_end`."""
    success = event.get("success")
    returned = mapping(event.get("result"))
    if returned:
        success = "Err" not in returned and not mapping(returned.get("Ok")).get("isError")
    changes = list(mapping(event.get("changes")).values())
    kind = string(mapping(changes[0]).get("type")) if len(changes) == 1 else ""
    return Outcome(
        success=success if isinstance(success, bool) else None,
        exit_code=maybe_whole(event.get("exit_code")),
        refused=event.get("status") == "declined",
        change=_CHANGES.get(kind, ""),
        server=call.server,
    )


def result_of(payload: Record, outcome: Outcome) -> ToolResult:
    """The result an output item gives."""
    content, flag = _content(payload)
    text, media = text_and_media(content)
    said = _Said(text, None, bare=True) if outcome.server else _unwrapped(text)
    code = said.exit_code if said.exit_code is not None else outcome.exit_code
    clients = said.bare and not outcome.server
    refused = outcome.refused or (said.bare and _is_refusal(text, outcome))
    interrupted = clients and _INTERRUPTED.match(text) is not None
    success = not (
        refused
        or interrupted
        or flag is False
        or outcome.success is False
        or code not in (None, 0)
        or (clients and text.startswith(_FAILED))
    )
    return ToolResult(
        call_id=string(payload.get("call_id")),
        success=success,
        output=said.text,
        error=None if success or refused else said.text,
        exit_code=None if refused else code,
        refused=refused,
        interrupted=interrupted,
        change=outcome.change if success else "",
        media=media,
    )


def _is_refusal(text: str, outcome: Outcome) -> bool:
    if outcome.server:
        return text.strip() == _SERVER_REFUSED
    return _REFUSED.match(text) is not None


def tools_found(payload: Record) -> ToolResult:
    """The result of a search for tools."""
    tools = payload.get("tools")
    return ToolResult(
        call_id=string(payload.get("call_id")),
        success=payload.get("status") != "failed",
        output=as_json(tools) if isinstance(tools, list) else "",
    )


def _content(payload: Record) -> tuple[Any, bool | None]:
    """The content of an output, and the flag that some versions write beside it."""
    output, flag = payload.get("output"), payload.get("success")
    if isinstance(output, dict) and output.keys() & {"content", "success"}:
        flag = output.get("success", flag)
        output = output.get("content", output.get("content_items"))
    return output, flag if isinstance(flag, bool) else None


def _unwrapped(text: str) -> _Said:
    """The output without the object or the header lines that carry its exit code."""
    if text.startswith("{") and (inner := _object(text)) is not None:
        code = maybe_whole(mapping(inner.get("metadata")).get("exit_code"))
        return _Said(string(inner.get("output")), code, bare=False)
    if text.startswith(_HEADER_STARTS):
        head, found, body = text.partition("\nOutput:\n")
        if exited := _EXIT_CODE.search(head):
            return _Said(body if found else "", int(exited[1]), bare=False)
        return _Said(text, None, bare=False)
    return _Said(text, None, bare=True)


def _object(text: str) -> Record | None:
    """The object `{"output", "metadata"}` that a text may be."""
    try:
        value = msgspec.json.decode(text)
    except (ValueError, RecursionError):
        return None
    if isinstance(value, dict) and isinstance(value.get("metadata"), dict) and "output" in value:
        return value
    return None


IDE_OPENING = "# Context from my IDE setup:"
"""How the editor extension begins a prompt: with the open files, then the request."""
IDE_REQUEST = re.compile(r"^## My request for Codex:[ \t]*\n?", re.MULTILINE)
"""The last such heading is the extension's: a selection in an open file may have one too."""
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
    *_, request = (None, *IDE_REQUEST.finditer(text))
    if request is None:
        return [Note(kind="environment", text=text)]
    context = Note(kind="environment", text=text[: request.start()].rstrip())
    words = text[request.end() :].strip()
    return [context, *(said_by_user(words) if words else ())]

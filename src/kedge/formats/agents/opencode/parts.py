"""What the parts of OpenCode's messages hold: calls with their results, files, token counts."""

from __future__ import annotations

from typing import Any, Literal

from kedge.formats.content.blocks import media_from_url, parsed_arguments, text_and_media
from kedge.formats.intake.fields import Ids, mapping, mappings, maybe_whole, string, tokens_in
from kedge.formats.intake.lines import Record
from kedge.formats.turns.draft import Piece
from kedge.model import Media, Note, ToolCall, ToolResult, Usage

_REFUSED = (
    "The user rejected permission",
    "rejected permission",
    "The user has specified a rule which prevents you",
    "The user dismissed this question",
)
"""How the client words a call that the user, or a rule of theirs, did not let run."""
_FEEDBACK = "with the following feedback: "
_ABORTED = "Tool execution aborted"
_EDITS = ("write", "edit")
OWN_TOOLS = (
    "apply_patch",
    "bash",
    "batch",
    "codesearch",
    "edit",
    "glob",
    "grep",
    "list",
    "lsp",
    "multiedit",
    "patch",
    "plan_enter",
    "plan_exit",
    "question",
    "read",
    "skill",
    "task",
    "todoread",
    "todowrite",
    "webfetch",
    "websearch",
    "write",
)
"""Tools whose errors the client words itself. A server's tool words its own, and could put words
into the user's mouth by imitating a refusal."""


def call_and_result(part: Record, ids: Ids) -> tuple[ToolCall, ToolResult | None]:
    """A tool part is a call and, once it has ended, its result."""
    state = mapping(part.get("state"))
    call = ToolCall(
        id=ids.distinct(part.get("callID"), part.get("id")),
        tool=string(part.get("tool")),
        parameters=parsed_arguments(state.get("input")),
    )
    if state.get("status") == "completed":
        return call, _completed(call, state)
    if state.get("status") == "error":
        return call, _failed(call, state)
    return call, None


def _completed(call: ToolCall, state: Record) -> ToolResult:
    output, media = text_and_media(state.get("output"))
    attached = [_attachment(file) for file in mappings(state.get("attachments"))]
    metadata = mapping(state.get("metadata"))
    code = maybe_whole(metadata.get("exit"))
    success = code in (None, 0)
    return ToolResult(
        call_id=call.id,
        success=success,
        output=output,
        error=None if success else output,
        exit_code=code,
        change=_change(call, metadata) if success else "",
        media=(*media, *attached),
    )


def _failed(call: ToolCall, state: Record) -> ToolResult:
    error = text_and_media(state.get("error"))[0]
    metadata = mapping(state.get("metadata"))
    refused, own = error.startswith(_REFUSED), call.tool in OWN_TOOLS
    return ToolResult(
        call_id=call.id,
        success=False,
        output=string(metadata.get("output")) or error,
        error=None if refused else error,
        exit_code=maybe_whole(metadata.get("exit")),
        refused=refused,
        reason=error.partition(_FEEDBACK)[2].strip() if refused and own else "",
        interrupted=metadata.get("interrupted") is True or error == _ABORTED,
    )


def _change(call: ToolCall, metadata: Record) -> Literal["", "create", "update"]:
    """What the tool reports: whether the file was there before."""
    if call.tool not in _EDITS:
        return ""
    if isinstance(existed := metadata.get("exists"), bool):
        return "update" if existed else "create"
    before = mapping(metadata.get("filediff")).get("before")
    if not isinstance(before, str):
        return ""
    return "update" if before else "create"


def file_of(part: Record) -> Piece:
    """An attached file; of plain text and folders only the name stands here, the content follows as
    a text of the client's."""
    mime, name = string(part.get("mime")), string(part.get("filename"))
    if mime in ("text/plain", "application/x-directory"):
        return Note(kind="injected", text=name or string(part.get("url")))
    return _attachment(part)


def _attachment(file: Record) -> Media:
    mime = string(file.get("mime"))
    kind: Literal["image", "document", "file"] = "image" if mime.startswith("image/") else "file"
    found = media_from_url(string(file.get("url")), "document" if "pdf" in mime else kind)
    return Media(kind=found.kind, mime=found.mime or mime, data=found.data, url=found.url)


def signature_of(part: Record) -> str:
    """The seal of a provider that seals its thinking."""
    for provider in mapping(part.get("metadata")).values():
        for name in ("signature", "reasoningEncryptedContent", "redactedData"):
            if sealed := string(mapping(provider).get(name)):
                return sealed
    return ""


def failure_of(error: Record) -> Note:
    name = string(error.get("name"))
    text = string(mapping(error.get("data")).get("message")) or name
    return Note(kind="interruption" if name == "MessageAbortedError" else "failure", text=text)


def usage_of(counts: Any) -> Usage | None:
    """Tokens of a message; only in some versions does the output count the reasoning too."""
    found = tokens_in(counts, "input", "output", "total")
    cache = tokens_in(mapping(counts).get("cache"), "read", "write")
    if not found and not cache:
        return None
    given, read, written = found["input"], cache["read"], cache["write"]
    known = "total" in found and "input" in found
    rest = found["total"] - given - read - written if known else 0
    return Usage(
        input=given,
        output=max(rest, found["output"]),
        cache_read=read,
        cache_write=written,
    )

"""Items that call a tool or give its output, as calls and results and back.

The type of an item stands in the wire of the call or result; without one it is a function's.
"""

from __future__ import annotations

from typing import Any, Literal

from kedge.formats.content.blocks import as_json, media_from_url, parsed_arguments, text_and_media
from kedge.formats.intake.fields import mapping, mappings, maybe_whole, string
from kedge.formats.intake.lines import Record
from kedge.formats.providers.openai_responses.parts import PROVIDER, plain_media
from kedge.formats.providers.said import text_of_result
from kedge.formats.providers.wire import own, sealed_one
from kedge.formats.turns.draft import Piece
from kedge.model import ToolCall, ToolResult, Verb

CALLS = {
    "function_call": "arguments",
    "custom_tool_call": "input",
    "local_shell_call": "action",
    "shell_call": "action",
    "apply_patch_call": "operation",
    "computer_call": "action",
}
"""Items that call a tool the client runs, and where their parameters stand."""
OUTPUTS = {f"{kind}_output": kind for kind in CALLS}
NAMED = ("function_call", "custom_tool_call")
"""Items that name their tool; the others are one tool each."""
OPERATIONS: dict[str, tuple[Verb, Literal["create", "update", "delete"]]] = {
    "create_file": ("write", "create"),
    "update_file": ("edit", "update"),
    "delete_file": ("delete", "delete"),
}
"""What an operation of `apply_patch_call` is, and what it does to the file when it succeeds."""


def call_id_of(item: Record) -> str:
    """The id of a call; the output of a local shell keeps it in `id`."""
    return string(item.get("call_id")) or string(item.get("id"))


def call_of(item: Record) -> ToolCall:
    kind = string(item.get("type"))
    place = item.get(CALLS[kind])
    if kind == "function_call":
        parameters = parsed_arguments(place)
    elif kind == "custom_tool_call":
        parameters = {"input": place}
    else:
        actions = item.get("actions")
        parameters = {"actions": actions} if place is None and actions else mapping(place)
    call = ToolCall(
        id=call_id_of(item),
        tool=string(item.get("name")) if kind in NAMED else kind.removesuffix("_call"),
        parameters=parameters,
        verb=_operation(parameters)[0] if kind == "apply_patch_call" else "other",
    )
    return sealed_one(PROVIDER, item, call, plain_call, **_mark(kind))


def result_of(item: Record, call: ToolCall | None) -> ToolResult:
    kind = OUTPUTS[string(item.get("type"))]
    call_id = call_id_of(item)
    if kind == "shell_call":
        result = _shell_result(call_id, item)
    elif kind == "apply_patch_call":
        result = _patch_result(call_id, item, call)
    elif kind == "computer_call":
        screen = media_from_url(string(mapping(item.get("output")).get("image_url")), "image")
        result = ToolResult(call_id=call_id, media=(screen,) if screen.url or screen.data else ())
    else:
        output, media = text_and_media(item.get("output"))
        result = ToolResult(call_id=call_id, output=output, media=media)
    return sealed_one(PROVIDER, item, result, plain_result, **_mark(kind))


def kind_of(piece: ToolCall | ToolResult) -> str:
    """The type of item a call is, or a result answers."""
    return string(own(piece.wire, PROVIDER).get("type")) or "function_call"


def plain_call(piece: Piece) -> Record | None:
    if not isinstance(piece, ToolCall):
        return None
    kind = kind_of(piece)
    item = {"type": kind, "call_id": piece.id}
    if kind == "function_call":
        return {**item, "name": piece.tool, "arguments": as_json(piece.parameters)}
    if kind == "custom_tool_call":
        return {**item, "name": piece.tool, "input": piece.parameters.get("input")}
    if kind == "computer_call" and "actions" in piece.parameters:
        return {**item, "actions": piece.parameters["actions"]}
    return {**item, CALLS[kind]: piece.parameters}


def plain_result(piece: Piece) -> Record | None:
    if not isinstance(piece, ToolResult):
        return None
    kind = kind_of(piece)
    item: Record = {"type": f"{kind}_output", "call_id": piece.call_id}
    text = text_of_result(piece)
    if kind == "local_shell_call":
        return {"type": f"{kind}_output", "id": piece.call_id, "output": text}
    if kind == "shell_call":
        ending: Record = {"type": "exit", "exit_code": piece.exit_code or 0}
        outcome = {"type": "timeout"} if piece.interrupted else ending
        return {**item, "output": [{"stdout": text, "stderr": "", "outcome": outcome}]}
    if kind == "apply_patch_call":
        return {**item, "status": "completed" if piece.success else "failed", "output": text}
    media = [part for one in piece.media if (part := plain_media(one)) is not None]
    if kind == "computer_call":
        # Only a picture can stand here; without one, what was read stays.
        screens = [{"type": "computer_screenshot", "image_url": m["image_url"]} for m in media]
        return {**item, "output": screens[0]} if screens else item
    if not media:
        return {**item, "output": text}
    texts = [{"type": "input_text", "text": text}] if text.strip() else []
    return {**item, "output": [*texts, *media]}


def _shell_result(call_id: str, item: Record) -> ToolResult:
    runs = mappings(item.get("output"))
    texts = (string(run.get(stream)) for run in runs for stream in ("stdout", "stderr"))
    output = "\n".join(text for text in texts if text)
    outcomes = [mapping(run.get("outcome")) for run in runs]
    codes = [maybe_whole(outcome.get("exit_code")) for outcome in outcomes]
    code = next((code for code in codes if code), codes[-1] if codes else None)
    timed_out = any(outcome.get("type") == "timeout" for outcome in outcomes)
    success = not timed_out and not code
    return ToolResult(
        call_id=call_id,
        success=success,
        output=output,
        error=None if success else output,
        exit_code=code,
        interrupted=timed_out,
    )


def _patch_result(call_id: str, item: Record, call: ToolCall | None) -> ToolResult:
    output, success = string(item.get("output")), item.get("status") != "failed"
    return ToolResult(
        call_id=call_id,
        success=success,
        output=output,
        error=None if success else output,
        change=_operation(call.parameters)[1] if call and success else "",
    )


def _operation(
    parameters: Record,
) -> tuple[Verb, Literal["", "create", "update", "delete"]]:
    return OPERATIONS.get(string(parameters.get("type")), ("edit", ""))


def _mark(kind: str) -> dict[str, Any]:
    return {} if kind == "function_call" else {"type": kind}

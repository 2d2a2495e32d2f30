"""Tool results of Claude Code: success, refusal and the user's reason, exit codes, changes."""

from __future__ import annotations

import re
from typing import Literal

import msgspec

from kedge.formats.blocks import text_and_media
from kedge.formats.claude_code.records import Block, Extra, decode_extra, is_there
from kedge.model import ToolCall, ToolResult

REFUSALS = (
    "The user doesn't want to proceed with this tool use.",
    "The user doesn't want to take this action right now.",
    "Permission to use ",
    "Claude requested permissions to ",
)
"""How the client words a call that was not allowed to run."""
_SAID = ("the user said:\n", "The user provided the following reason for the rejection:")
_NOT_SAID = ("The user wants to clarify these questions.",)
"""The client's own words where the user's would stand."""
_INTERRUPTED = "[Request interrupted by user"
_EXIT_CODE = re.compile(r"Exit code (-?\d+)\b")
_USES_EXTRA = {"write", "edit", "run", "delegate"}
"""Verbs whose `toolUseResult` says something the result does not; for the others it is not decoded."""


def result_of(block: Block, call: ToolCall | None, raw: msgspec.Raw, denied: bool) -> ToolResult:
    output, media = text_and_media(block.content)
    failed = bool(block.is_error)
    refused = failed and (denied or output.startswith(REFUSALS))
    extra = _extra(raw) if call is not None and call.verb in _USES_EXTRA else None
    code = _exit_code(output, extra, failed)
    interrupted = output.startswith(_INTERRUPTED) or (
        extra is not None and extra.interrupted is True
    )
    success = not failed and not interrupted and code in (None, 0)
    return ToolResult(
        call_id=block.tool_use_id or "",
        success=success,
        output=output,
        error=output if not success and not refused else None,
        exit_code=code,
        refused=refused,
        reason=_reason(output) if refused else "",
        interrupted=interrupted,
        change=_change(call, extra) if success else "",
        media=media,
    )


def agent_of(raw: msgspec.Raw) -> str:
    """The sub-agent a delegating call reports to have run."""
    extra = _extra(raw)
    return extra.agentId if extra is not None and isinstance(extra.agentId, str) else ""


def _extra(raw: msgspec.Raw) -> Extra | None:
    if not is_there(raw):
        return None
    try:
        return decode_extra(raw)
    except msgspec.MsgspecError:
        return None  # a plain string or a list: the result says all of it


def _exit_code(output: str, extra: Extra | None, failed: bool) -> int | None:
    if failed and (found := _EXIT_CODE.match(output)):
        return int(found[1])
    if extra is not None and isinstance(extra.exitCode, int):
        return extra.exitCode
    return None


def _reason(output: str) -> str:
    for marker in _SAID:
        before, found, said = output.partition(marker)
        if found and not said.lstrip().startswith(_NOT_SAID):
            return said.strip()
    return ""


def _change(call: ToolCall | None, extra: Extra | None) -> Literal["", "create", "update"]:
    if call is None or extra is None or call.verb not in ("write", "edit"):
        return ""
    if extra.type in ("create", "update"):
        return "create" if extra.type == "create" else "update"
    if not is_there(extra.originalFile):
        return ""
    was_empty = bytes(extra.originalFile) in (b"null", b'""')
    return "create" if was_empty and not extra.oldString else "update"

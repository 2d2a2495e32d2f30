"""Tool results of Claude Code: success, refusal and the user's reason, exit codes, changes."""

from __future__ import annotations

import re
from typing import Literal

import msgspec

from kedge.formats.agents.claude_code.records import Block, Extra, decode_extra, is_there
from kedge.formats.content.blocks import text_and_media
from kedge.formats.content.refusals import (
    INTERRUPTED,
    exit_code_in,
    is_own_tool,
    is_refusal,
    reason_in,
)
from kedge.model import ToolCall, ToolResult

INTERRUPTIONS = {"interrupted", "cancelled"}
"""Denials that nobody decided: the user stopped the agent, or a sibling call ended it."""
_USES_EXTRA = {"write", "edit", "run", "delegate"}
"""Verbs whose `toolUseResult` says something the result does not; for the others it is not decoded.
"""
AGENT_WITHIN = 1_000
"""Characters at the end of a result in which the sub-agent is named."""
_AGENT = re.compile(r"^agentId: ([\w-]{4,80})\b", re.MULTILINE)


def result_of(
    block: Block, call: ToolCall | None, *, raw: msgspec.Raw, denial: str | None = None
) -> ToolResult:
    """One result; `denial` is the client's own word for why a call did not run, if it has one."""
    output, media = text_and_media(block.content)
    failed = bool(block.is_error)
    stopped = denial in INTERRUPTIONS
    denied = denial is not None and not stopped
    refused = failed and not stopped and (denied or is_refusal(output))
    extra = _extra(raw) if call is not None and call.verb in _USES_EXTRA else None
    code = _exit_code(output, extra, failed)
    reported = extra is not None and extra.interrupted is True
    interrupted = stopped or reported or output.startswith(INTERRUPTED)
    success = not failed and not interrupted and code in (None, 0)
    return ToolResult(
        call_id=block.tool_use_id or "",
        success=success,
        output=output,
        error=output if not success and not refused else None,
        exit_code=code,
        refused=refused,
        reason=reason_in(output) if refused and (denied or is_own_tool(call)) else "",
        interrupted=interrupted,
        change=_change(call, extra) if success else "",
        media=media,
    )


def agent_of(raw: msgspec.Raw, result: ToolResult) -> str:
    """The sub-agent a delegating call reports to have run. In the file of a sub-agent that called
    another one, the client says it only in words, behind all that the other one said."""
    extra = _extra(raw)
    if extra is not None and isinstance(extra.agentId, str):
        return extra.agentId
    named = _AGENT.findall(result.output[-AGENT_WITHIN:]) if result.success else ()
    return named[-1] if named else ""


def _extra(raw: msgspec.Raw) -> Extra | None:
    if not is_there(raw):
        return None
    try:
        return decode_extra(raw)
    except (ValueError, RecursionError):
        return None  # a plain string or a list: the result says all of it


def _exit_code(output: str, extra: Extra | None, failed: bool) -> int | None:
    if failed and (code := exit_code_in(output)) is not None:
        return code
    if extra is not None and isinstance(extra.exitCode, int):
        return extra.exitCode
    return None


def _change(call: ToolCall | None, extra: Extra | None) -> Literal["", "create", "update"]:
    if call is None or extra is None or call.verb not in ("write", "edit"):
        return ""
    if extra.type in ("create", "update"):
        return "create" if extra.type == "create" else "update"
    if not is_there(extra.originalFile):
        return ""
    was_empty = bytes(extra.originalFile) in (b"null", b'""')
    return "create" if was_empty and not extra.oldString else "update"

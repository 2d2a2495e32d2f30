"""What mini-swe-agent writes under the user's role behind the task: observations, and the few
sentences in which it passes on what the user typed."""

from __future__ import annotations

import re
from typing import Any, Literal, NamedTuple

from kedge.formats.content.blocks import text_and_media
from kedge.formats.intake.fields import mapping, maybe_whole, string
from kedge.formats.intake.lines import Record
from kedge.model import ToolCall, ToolResult

RETURN_CODE = re.compile(
    r"\s*(?:<exception>.*?</exception>\s*)?<returncode>\s*(-?\d{1,9})\s*</returncode>", re.DOTALL
)
"""How an observation begins. Older versions without a template print the result as Python does."""
_PRINTED = re.compile(r"Observation: \{'output':.*'returncode': (-?\d{1,9})", re.DOTALL)
_TIMED_OUT = re.compile(r"The last command <command>.*?</command> timed out", re.DOTALL)
NOT_EXECUTED = "action was not executed"
"""The exception the client notes for calls the user did not let run."""


class Interruption(NamedTuple):
    kind: Literal["rejection", "interruption", "task", "shell"]
    words: str
    """What the user typed."""


_SENTENCES: tuple[
    tuple[re.Pattern[str], Literal["rejection", "interruption", "task", "shell"]], ...
]
_SENTENCES = (
    (
        re.compile(
            r"Commands? not executed[.:] *"
            r"(?:The user rejected your commands? with the following message:"
            r"|Switching to human mode)?"
        ),
        "rejection",
    ),
    (re.compile(r"Interrupted by user: *(?:Temporary interruption caught\.)?"), "interruption"),
    (re.compile(r"The user added a new task: *"), "task"),
    (re.compile(r"User command: *"), "shell"),
)
"""How the client introduces what the user typed while it ran."""
_FENCE = re.compile(r"```\w*\n|\n?```\s*$")


def interruption(text: str) -> Interruption | None:
    """What the user said in between, out of the client's sentence around it."""
    for sentence, kind in _SENTENCES:
        if found := sentence.match(text):
            words = text[found.end() :].strip()
            return Interruption(kind, _FENCE.sub("", words) if kind == "shell" else words)
    return None


def result_of(call: ToolCall, message: Record) -> ToolResult:
    """The result of a call; the exit code from the message's own record, else from its text."""
    extra = mapping(message.get("extra"))
    output, media = text_and_media(message.get("content", message.get("output")))
    if string(extra.get("exception_info")) == NOT_EXECUTED:
        return ToolResult(call_id=call.id, success=False, output=output, refused=True, media=media)
    code = _exit_code(extra, output)
    success = code in (None, 0) and not _TIMED_OUT.match(output)
    return ToolResult(
        call_id=call.id,
        success=success,
        output=output,
        error=None if success else output,
        exit_code=code,
        media=media,
    )


def refusal(call: ToolCall, output: str, reason: str) -> ToolResult:
    return ToolResult(call_id=call.id, success=False, output=output, refused=True, reason=reason)


def interrupted(call: ToolCall, output: str) -> ToolResult:
    return ToolResult(call_id=call.id, success=False, output=output, error=output, interrupted=True)


def submitted(call: ToolCall) -> ToolResult:
    """The command that ends a run has no observation: the client hears it succeed, and asks the
    user what is next."""
    return ToolResult(call_id=call.id)


def is_observation(content: Any) -> bool:
    return isinstance(content, str) and RETURN_CODE.match(content) is not None


def _exit_code(extra: Record, output: str) -> int | None:
    if (code := maybe_whole(extra.get("returncode"))) is not None:
        return code
    found = RETURN_CODE.match(output) or _PRINTED.match(output)
    return int(found[1]) if found else None

"""Observations as results.

SWE-agent records no exit codes, but its own commands and its environment say in fixed words when
something was not done.
"""

from __future__ import annotations

import re
from typing import Any, Literal

from kedge.formats.agents.swe_agent.actions import COMMANDS
from kedge.formats.content.blocks import text_and_media
from kedge.model import ToolCall, ToolResult

NOT_DONE = (
    "Your proposed edit has introduced new syntax error(s)",
    "Your edit was not applied",
    "Your search and replace strings are the same",
    "Search text must not be empty",
    "No edit was made",
    "No file open",
    "No replacement was performed",
    "No edit history found",
    "Wrong flag!",
    "Usage: ",
    "usage: ",
    "Error: ",
    "Warning: File '",
    "File already exists at: ",
    "The path ",
    "The parent directory ",
    "Parameter `",
    "Invalid `",
    "Unrecognized command ",
    "Ran into ",
)
"""How SWE-agent's own commands begin when they did nothing."""

NOT_RUN = (
    "EXECUTION TIMED OUT",
    "COMMAND FAILED TO EXECUTE",
    "BROKEN PIPE ERROR",
    "UNKNOWN ERROR. RESTARTING PROCESS",
    "Your bash command contained syntax errors and was NOT executed",
    "Your command was not executed",
)
"""How the environment begins when an action did not run, or not to its end."""

_CANCELLED = re.compile(r"The command '.{0,20000}' was cancelled because it took more than", re.S)
_UNSUPPORTED = re.compile(r"Operation '.{0,20000}' is not supported by this environment", re.S)
_NOT_FOUND = re.compile(r"(?:File|Directory) [^\n]{1,500} not found\s*(?:\r?\n|$)")
_LABEL = re.compile(r"\s*(?:OBSERVATION|Observation):\s*")


def result_of(call: ToolCall, content: Any, observed: str) -> ToolResult:
    """The result of a call; `observed` is the content's text without the environment's state."""
    text, media = text_and_media(content)
    success = not _failed(call, _LABEL.sub("", observed, count=1).lstrip())
    return ToolResult(
        call_id=call.id,
        success=success,
        output=text,
        error=None if success else observed.strip(),
        change=_change(call) if success else "",
        media=media,
    )


def _failed(call: ToolCall, text: str) -> bool:
    if text.startswith(NOT_RUN) or _CANCELLED.match(text) or _UNSUPPORTED.match(text):
        return True
    if call.tool not in COMMANDS:
        return False  # the words of any other program prove nothing
    return text.startswith(NOT_DONE) or _NOT_FOUND.match(text) is not None


def _change(call: ToolCall) -> Literal["", "create", "update"]:
    """Its `create` refuses a file that exists, so that a success always made one."""
    if call.tool not in COMMANDS:
        return ""
    if call.verb == "write":
        return "create"
    return "update" if call.verb == "edit" else ""

"""Turns built by hand, for tests of the stages behind reading."""

from __future__ import annotations

from itertools import count
from typing import Any

from kedgeline.model import ToolCall, ToolResult, Turn

Step = tuple[ToolCall, ToolResult]
"""A call with its result."""

_ids = count()


def called(
    tool: str, output: str = "", *, success: bool = True, exit_code: int | None = None, **given: Any
) -> Step:
    """A call with its result."""
    call_id = f"call-{next(_ids)}"
    return (
        ToolCall(id=call_id, tool=tool, parameters=given),
        ToolResult(call_id=call_id, success=success, output=output, exit_code=exit_code),
    )


def bash(
    command: str, output: str = "", *, exit_code: int = 0, success: bool | None = None
) -> Step:
    fine = exit_code == 0 if success is None else success
    return called("Bash", output, success=fine, exit_code=exit_code, command=command)


def edit(path: str, *, success: bool = True) -> Step:
    return called(
        "Edit", "updated", success=success, file_path=path, old_string="a", new_string="b"
    )


def turn(
    index: int,
    *steps: Step,
    user: str = "",
    says: str = "",
    exchange: int = 0,
    tokens: int = 100,
    **fields: Any,
) -> Turn:
    return Turn(
        index=index,
        exchange=exchange,
        user_message=user,
        assistant_response=says,
        tool_calls=tuple(call for call, _ in steps),
        tool_results=tuple(result for _, result in steps),
        tokens=tokens,
        **fields,
    )

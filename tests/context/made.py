"""Outcomes made by hand, so that these tests do not depend on how commands are read."""

from __future__ import annotations

from typing import Any

from kedgeline.model import PreservationContext, ToolCall, ToolResult
from kedgeline.outcomes import Counts, Outcome, Purpose, Run, Touch
from kedgeline.pipeline.context import Extraction
from tests.turns import turn


def ran(
    command: str,
    output: str = "",
    *,
    purpose: Purpose = "other",
    success: bool | None = True,
    exit_code: int | None = None,
    counts: Counts | None = None,
    **result: Any,
) -> Outcome:
    """A command with one run in it."""
    code = (0 if success else 1) if exit_code is None else exit_code
    call = ToolCall(id="c", tool="Bash", parameters={"command": command})
    words = tuple(command.split())
    return Outcome(
        call=call,
        result=ToolResult(
            call_id="c", **{"success": code == 0, "output": output, "exit_code": code, **result}
        ),
        runs=(Run(purpose=purpose, words=words, success=success, counts=counts),),
    )


def used(tool: str, path: str, error: str = "", action: Any = "modified") -> Outcome:
    """A tool used on a file; an error says why it failed."""
    touched = () if error else (Touch(path=path, action=action),)
    return Outcome(
        call=ToolCall(id="c", tool=tool, parameters={"file_path": path}),
        result=ToolResult(call_id="c", success=not error, output=error or "done"),
        touched=touched,
    )


def touched(*touches: Touch) -> Outcome:
    return Outcome(
        call=ToolCall(id="c", tool="Bash", parameters={}),
        result=ToolResult(call_id="c"),
        touched=touches,
    )


def after(*outcomes: Outcome, root: str = "") -> PreservationContext:
    """The context behind so many turns of one call each."""
    extraction = Extraction(root)
    for index, outcome in enumerate(outcomes):
        extraction.add(turn(index), (outcome,))
    return extraction.context()

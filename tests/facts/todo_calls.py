"""Calls that keep lists of todos."""

from __future__ import annotations

from typing import Any

from kedgeline.model import ToolResult
from tests.turns import Step, called


def whole(*items: tuple[str, str], tool: str = "TodoWrite", key: str = "todos") -> Step:
    """A whole list of texts with their states."""
    listed = [{"content": text, "status": state} for text, state in items]
    return called(tool, "ok", **{key: listed})


def created(number: int, subject: str) -> Step:
    output = f"Task #{number} created successfully: {subject}"
    return called("TaskCreate", output, subject=subject, description="more of it")


def updated(number: int, *, success: bool = True, **given: Any) -> Step:
    return called("TaskUpdate", f"#{number}", success=success, taskId=str(number), **given)


def approved(plan: str = "", output: str = "User has approved your plan.") -> Step:
    return called("ExitPlanMode", output, **({"plan": plan} if plan else {}))


def refused(step: Step, reason: str = "") -> Step:
    """The same call, not let run."""
    call, _ = step
    return call, ToolResult(call_id=call.id, success=False, refused=True, reason=reason)

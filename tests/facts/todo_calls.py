"""Calls that keep lists of todos, and showing turns to an extractor."""

from __future__ import annotations

from typing import Any

from kedgeline.facts.extractor import Extractor
from kedgeline.model import ToolCall, ToolResult, Turn
from kedgeline.shell import outcomes_of
from tests.turns import called

Step = tuple[ToolCall, ToolResult]


def seen(extractor: Extractor, *turns: Turn) -> list[Any]:
    """The facts of turns, in their order."""
    return [fact for turn in turns for fact in extractor.see(turn, outcomes_of(turn))]


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

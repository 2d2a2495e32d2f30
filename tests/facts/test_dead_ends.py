"""Dead ends: what was tried and dropped."""

from __future__ import annotations

from typing import Any

from kedgeline.facts.dead_ends import DeadEndExtractor
from kedgeline.facts.extractor import Setting
from kedgeline.model import DeadEnd, ToolCall, ToolResult, Turn
from tests.facts.speaking import told_by
from tests.turns import Step, called, turn

ROOT = "/srv/app"


def found(*turns: Turn) -> list[DeadEnd]:
    return told_by(DeadEndExtractor(Setting(root=ROOT)), *turns)


def dropped(*steps: Step) -> list[str]:
    """What was dropped in one exchange, a turn per step."""
    return [fact.what for fact in found(*(turn(n, step) for n, step in enumerate(steps)))]


def swap(path: str, old: str, new: str, *, success: bool = True) -> Step:
    given: dict[str, Any] = {"file_path": f"{ROOT}/{path}", "old_string": old, "new_string": new}
    return called("Edit", "updated", success=success, **given)


def refused(tool: str, reason: str = "", **given: Any) -> Step:
    call = ToolCall(id=f"refused-{tool}-{reason}", tool=tool, parameters=given)
    return call, ToolResult(call_id=call.id, success=False, refused=True, reason=reason)


def test_an_edit_that_is_exactly_reversed() -> None:
    there, back = (
        swap("a.py", "return old(x)", "return new(x)"),
        swap("a.py", "return new(x)", "return old(x)"),
    )
    assert dropped(there, back) == ["a.py: `return new(x)`, taken back"]
    assert dropped(back, there, back) == ["a.py: `return old(x)`, taken back"]
    assert dropped(there, swap("b.py", "return new(x)", "return old(x)")) == []
    assert dropped(there, swap("a.py", "return new(x)", "return old(y)")) == []
    failing = swap("a.py", "return new(x)", "return old(x)", success=False)
    assert dropped(there, failing) == []


def test_prints_put_in_to_be_taken_out_are_no_dead_end() -> None:
    old, new = "run(x)", "# debug\nprint(x)\nrun(x)"
    assert dropped(swap("a.py", old, new), swap("a.py", new, old)) == []


def test_a_refused_call_with_the_users_reason() -> None:
    change = refused(
        "Edit",
        "wait, use the enum",
        file_path=f"{ROOT}/a.py",
        old_string="x",
        new_string="# c\nif y:",
    )
    run = refused("Bash", "not now", command="git push --force")
    plan = refused("ExitPlanMode", "no tests", plan="# Add tests\n\n1. x")
    ask = refused("AskUserQuestion", "let me think", questions=[])
    given = [
        (f.what, f.why, f.by) for step in (change, run, plan, ask) for f in found(turn(0, step))
    ]
    assert given == [
        ("edit of a.py (`if y:`), refused", "wait, use the enum", "user"),
        ("`git push --force`, refused", "not now", "user"),
        ("plan “Add tests” as proposed, refused", "no tests", "user"),
    ]

"""Dead ends: what was tried and dropped."""

from __future__ import annotations

from typing import Any

import pytest

from kedgeline.facts.dead_ends import DeadEndExtractor
from kedgeline.facts.extractor import Setting
from kedgeline.model import DeadEnd, ToolCall, ToolResult, Turn
from kedgeline.shell import outcomes_of
from tests.turns import bash, called, edit, turn

ROOT = "/srv/app"
Step = tuple[ToolCall, ToolResult]


def found(*turns: Turn) -> list[DeadEnd]:
    extractor = DeadEndExtractor(Setting(root=ROOT))
    return [fact for one in turns for fact in extractor.see(one, outcomes_of(one))]


def dropped(*steps: Step) -> list[str]:
    """What was dropped in one exchange, a turn per step."""
    return [fact.what for fact in found(*(turn(n, step) for n, step in enumerate(steps)))]


def swap(path: str, old: str, new: str, *, success: bool = True) -> Step:
    given: dict[str, Any] = {"file_path": f"{ROOT}/{path}", "old_string": old, "new_string": new}
    return called("Edit", "updated", success=success, **given)


def refused(tool: str, reason: str = "", **given: Any) -> Step:
    call = ToolCall(id=f"refused-{tool}-{reason}", tool=tool, parameters=given)
    return call, ToolResult(call_id=call.id, success=False, refused=True, reason=reason)


A = edit(f"{ROOT}/src/a.py")


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


def test_the_user_undid_the_work_before() -> None:
    said = "oh no. I undid your changes, try again. Read it first."
    (one,) = found(turn(0, A), turn(1, user=said, exchange=1))
    assert one == DeadEnd(
        turn=1,
        by="user",
        what="changes to a.py, undone by the user",
        why="I undid your changes, try again.",
    )


@pytest.mark.parametrize(
    ("words", "heard"),
    [
        ("please revert that", True),
        ("The tests may stay parallel, can you undo this?", True),
        ("yeah you can undo that, it was me", True),
        ("don't revert that", False),
        ("why did you undo that?", False),
        ("add a command that lets users undo this", False),
        ("should we roll back that one?", False),
        ("write a revert function", False),
    ],
)
def test_the_user_asks_for_work_to_be_taken_back(words: str, heard: bool) -> None:
    given = found(turn(0, A), turn(1, user=words, exchange=1))
    assert [fact.by for fact in given] == ["user"] * heard
    assert found(turn(0, user=words)) == []


def test_what_the_user_asked_for_is_not_told_again_when_it_is_done() -> None:
    undo = bash("git checkout -- src/a.py")
    given = found(turn(0, A), turn(1, undo, user="revert that", exchange=1))
    assert [fact.by for fact in given] == ["user"]


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


def test_a_call_refused_without_a_word_is_told_with_the_next_words() -> None:
    change = turn(0, refused("Edit", file_path=f"{ROOT}/a.py", old_string="x", new_string="yy"))
    (one,) = found(change, turn(1, user="how do we know?", exchange=1))
    assert (one.turn, one.what, one.why) == (1, "edit of a.py (`yy`), refused", "how do we know?")
    assert found(change, turn(1, user="continue", exchange=1)) == []
    assert [one.why for one in found(change, turn(1, says="So be it."))] == [""]
    assert found(change) == []


def test_a_stopped_command_is_a_dead_end_where_the_words_speak_against_it() -> None:
    call, _ = refused("Bash", command="make all")
    run = turn(0, (call, ToolResult(call_id=call.id, success=False, interrupted=True)))
    assert found(run, turn(1, user="stop running make", exchange=1)) != []
    assert found(run, turn(1, user="text must stop at a line break", exchange=1)) == []
    plan = turn(0, refused("ExitPlanMode", plan="# Add tests"))
    for words in ("Implement the following plan", "no tests in the plan please"):
        assert found(plan, turn(1, user=words, exchange=1)) == []

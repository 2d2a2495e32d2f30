"""Dead ends: what was tried and dropped."""

from __future__ import annotations

from itertools import count
from typing import Any

import pytest

from kedgeline.facts.dead_ends import DeadEndExtractor
from kedgeline.facts.extractor import Setting
from kedgeline.model import DeadEnd, ToolCall, ToolResult, Turn
from tests.facts.speaking import noted, told_by
from tests.turns import Step, bash, called, turn

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


# Calls that the user did not let run.


_ids = count()


def no(tool: str = "Bash", **given: Any) -> Step:
    """A call refused without a word."""
    call = ToolCall(id=f"no-{next(_ids)}", tool=tool, parameters=given)
    return call, ToolResult(call_id=call.id, success=False, refused=True)


CHECK = "mise run check"


def after(words: str, *steps: Step, command: str = CHECK) -> list[tuple[str, str]]:
    """What is told of a refused command when the user says something."""
    turns = (turn(0, no(command=command)), turn(1, *steps, user=words, exchange=1))
    return [(fact.what, fact.why) for fact in found(*turns)]


def test_a_refused_command_is_told_when_the_user_asks_for_something_else() -> None:
    (one,) = found(turn(0, no(command=CHECK)), turn(1, user="Commit", exchange=1))
    assert one == DeadEnd(
        turn=1, by="user", what=f"`{CHECK}`, refused", why="the user then said “Commit”"
    )


def test_an_edit_refused_without_a_word_is_told_with_the_next_words() -> None:
    change = turn(0, no("Edit", file_path=f"{ROOT}/a.py", old_string="x", new_string="yy"))
    (one,) = found(change, turn(1, user="how do we know?", exchange=1))
    assert (one.turn, one.what) == (1, "edit of a.py (`yy`), refused")
    assert one.why == "the user then said “how do we know?”"
    assert [one.why for one in found(change, turn(1, says="So be it."))] == [""]
    assert found(change) == []


def test_a_command_that_then_runs_after_all_was_not_refused() -> None:
    words = "it needs no network"
    assert after(words, bash(CHECK)) == []
    assert len(after(words, bash("mise run other"))) == 1


def test_a_command_that_was_only_interrupted_was_not_refused() -> None:
    call, _ = no(command=CHECK)
    stopped = call, ToolResult(call_id=call.id, success=False, interrupted=True)
    assert found(turn(0, stopped), turn(1, user="stop that", exchange=1)) == []


@pytest.mark.parametrize("command", ["rg x", "cd lib && ls -l | head -3", "git log --oneline"])
def test_a_command_that_only_looks_is_no_attempt(command: str) -> None:
    assert after("Commit", command=command) == []


def test_a_refusal_after_which_the_agent_goes_on_is_told_without_a_reason() -> None:
    given = found(turn(0, no(command=CHECK)), turn(1, bash("ls"), says="Then I look."))
    assert [(fact.turn, fact.what, fact.why) for fact in given] == [(1, f"`{CHECK}`, refused", "")]
    assert found(turn(0, no(command=CHECK)), turn(1, no(command=CHECK))) == []
    assert found(turn(0, no("mcp__x__look", query="y")), turn(1, bash("ls"))) == []


def test_a_clients_mark_of_the_interruption_is_passed_over() -> None:
    mark = noted(1, "interruption", "[Request interrupted]")
    (one,) = found(turn(0, no(command=CHECK)), mark, turn(2, user="Commit", exchange=1))
    assert one.turn == 2
    assert found(turn(0, no(command=CHECK)), mark) == []


def test_a_slash_command_that_starts_work_is_another_order() -> None:
    order = noted(1, "command", "/review 12", says="Looking.")
    (one,) = found(turn(0, no(command=CHECK)), order)
    assert one.why == "the user then said “/review 12”"
    steering = noted(1, "command", "/model")
    assert found(turn(0, no(command=CHECK)), steering) == []
    assert len(found(turn(0, no(command=CHECK)), steering, turn(2, user="Commit"))) == 1


def test_words_of_another_session_say_nothing_of_it() -> None:
    assert found(turn(0, no(command=CHECK)), turn(1, user="Commit", session=1)) == []


def test_a_reason_is_given_without_what_was_pasted() -> None:
    (said,) = after("why ```\nlong output\n``` again?")
    assert "why … again?" in said[1]
    (pasted,) = after("```\nonly output\n```")
    assert "only output" in pasted[1]


def test_only_two_are_told_of_many() -> None:
    looks = [no(command=f"rg t{n}") for n in range(3)]
    many = turn(0, *looks, *(no(command=f"make t{n}") for n in range(9)))
    given = found(many, turn(1, user="Commit", exchange=1))
    assert [fact.what for fact in given] == ["`make t0`, refused", "`make t1`, refused"]

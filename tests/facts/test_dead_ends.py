"""Dead ends: what was tried and dropped."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kedgeline.facts.dead_ends import DeadEndExtractor
from kedgeline.facts.extractor import Setting
from kedgeline.model import DeadEnd, ToolCall, ToolResult, Turn
from kedgeline.outcomes import outcomes_of
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


@pytest.mark.parametrize(
    ("command", "what"),
    [
        ("git checkout -- src/a.py", "edits of a.py, undone by `git checkout -- src/a.py`"),
        ("cd src && git checkout a.py", "edits of a.py, undone by `git checkout a.py`"),
        ("git checkout .", "edits of a.py, undone by `git checkout .`"),
        ("git restore src/a.py", "edits of a.py, undone by `git restore src/a.py`"),
        ("git reset --hard", "edits of a.py, undone by `git reset --hard`"),
    ],
)
def test_edits_that_git_takes_back(command: str, what: str) -> None:
    assert dropped(A, bash(command)) == [what]


@pytest.mark.parametrize(
    "command",
    [
        "git checkout -- src/b.py",
        "git checkout -b new",
        "git checkout --ours src/a.py",
        "git restore --staged src/a.py",
        "git reset HEAD src/a.py",
        "git stash",
        "git stash && make && git stash pop",
        "echo git checkout -- src/a.py",
    ],
)
def test_commands_that_take_nothing_back(command: str) -> None:
    assert dropped(A, bash(command)) == []


def test_only_what_was_edited_since_the_last_commit_can_be_taken_back() -> None:
    undo = bash("git checkout -- src/a.py")
    assert dropped(undo) == []
    assert dropped(A, bash("git commit -am x", "[main 1a2b3c4] x"), undo) == []
    assert dropped(A, undo, undo) == ["edits of a.py, undone by `git checkout -- src/a.py`"]
    assert dropped(edit(f"{ROOT}/src/a.py", success=False), undo) == []
    assert dropped(A, bash("git checkout -- src/a.py", "error: x", exit_code=1)) == []


def test_a_stash_is_a_dead_end_when_it_is_dropped() -> None:
    stash, drop = bash("git stash"), bash("git stash drop")
    assert dropped(A, stash, drop) == ["edits of a.py, undone by `git stash drop`"]
    assert dropped(A, stash, bash("git stash pop"), drop) == []
    assert dropped(A, stash, bash("git stash pop"), bash("git reset --hard")) != []
    failing = bash("git stash && make; git stash pop", "error: conflict", exit_code=1)
    assert dropped(A, failing, bash("git checkout -- src/a.py")) == []


def test_an_error_since_the_edit_is_the_reason() -> None:
    broken = bash("go build ./...", "src/a.go:3:1: undefined: x", exit_code=1)
    change, undo = edit(f"{ROOT}/src/a.go"), bash("git checkout -- src/a.go")
    (one,) = found(turn(0, change), turn(1, broken), turn(2, undo))
    assert (one.turn, one.by, one.why) == (2, "tool", "src/a.go:3:1: undefined: x")
    (other,) = found(turn(0, broken), turn(1, change), turn(2, undo))
    assert other.why == ""


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


def test_many_reversed_edits_of_one_exchange_are_one_dead_end() -> None:
    pairs = [("return old(x)", "return new(x)"), ("import old_name", "import new_name")]
    steps = [swap("a.py", *pair) for pair in pairs] + [swap("a.py", b, a) for a, b in pairs]
    assert len(dropped(*steps)) == 1


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


def test_a_command_that_failed_in_two_variants_before_another_worked() -> None:
    first = bash("docker run -p 80:80 app serve", "error: port taken", exit_code=1)
    second = bash("docker run -p 81:80 app serve", "error: no network", exit_code=1)
    works = bash("docker run --network host app serve", "ok")
    (one,) = found(turn(0, first), turn(1, second), turn(2, works))
    assert one.why == "error: no network"
    assert one.what == (
        "`docker run -p 80:80 app serve`, `docker run -p 81:80 app serve`;"
        " `docker run --network host app serve` works"
    )
    assert dropped(first, works) == []
    assert dropped(first, first, works) == []
    assert dropped(first, second, bash("docker ps", "none")) == []
    assert found(turn(0, first), turn(1, second), turn(2, works, exchange=1)) == []


def test_tests_that_failed_are_no_dead_end() -> None:
    red = [
        bash(f"pytest a{n}.py -q x", "FAILED a.py::b - x\n1 failed", exit_code=1) for n in (1, 2)
    ]
    assert dropped(*red, bash("pytest a.py -q x", "1 passed in 1s")) == []


def test_a_file_created_in_one_exchange_and_deleted_in_another() -> None:
    made = called("Write", "created", file_path=f"{ROOT}/docs/x.md", content="x")
    gone = bash("rm docs/x.md")
    (one,) = found(turn(3, made), turn(4, gone, exchange=1, user="delete that file"))
    assert (one.what, one.why) == ("docs/x.md, created in t3 and deleted again", "delete that file")
    assert dropped(made, gone) == []
    scratch = called("Write", "created", file_path="/tmp/x.md", content="x")
    assert found(turn(0, scratch), turn(1, bash("rm /tmp/x.md"), exchange=1)) == []


texts = st.text(alphabet=st.sampled_from("agit -./_ 01\n'`|&;($\x00é"), max_size=50)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(texts, texts, texts, st.booleans()), max_size=6))
def test_hostile_input_never_raises(steps: list[tuple[str, str, str, bool]]) -> None:
    turns = []
    for n, (command, output, user, success) in enumerate(steps):
        given: dict[str, Any] = {
            "file_path": command,
            "old_string": output,
            "new_string": n,
            "edits": [user, {}],
        }
        turns.append(
            turn(
                n,
                bash(f"git {command}", output, success=success),
                called("Edit", output, success=success, **given),
                refused("Task", user, description=3, plan=command),
                user=f"revert that {user}",
                exchange=n,
            )
        )
    found(*turns)

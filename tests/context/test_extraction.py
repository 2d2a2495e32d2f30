"""What a summary has to preserve, gathered turn by turn."""

from __future__ import annotations

import sys
from typing import Any

import pytest

from kedgeline.model import PreservationContext, Turn
from kedgeline.outcomes import Touch
from kedgeline.pipeline.context import Extraction, extract_from_turns, relative
from tests.context.made import after, ran, touched, used
from tests.turns import bash, called, edit, turn


def heard(*words: str, kept_from: int = 0, **fields: Any) -> PreservationContext:
    """The context of what a user said, one turn each."""
    extraction = Extraction()
    for index, said in enumerate(words):
        extraction.add(turn(index, user=said, **fields), ())
    return extraction.context(kept_from=kept_from)


def test_changed_files_come_before_those_only_read() -> None:
    found = after(
        used("Read", "config.json", action="read"),
        used("Edit", "src/auth.rs"),
        used("Write", "src/login.ts", action="created"),
    )
    assert found.active_files == ("src/auth.rs", "src/login.ts", "config.json")


def test_a_file_read_and_changed_is_named_once_and_worked_on_last_at_the_end() -> None:
    found = after(
        used("Read", "a.py", action="read"),
        used("Edit", "a.py"),
        used("Edit", "b.py"),
        used("Read", "c.py", action="read"),
        used("Read", "a.py", action="read"),
    )
    assert found.active_files == ("b.py", "a.py", "c.py")


def test_deleted_files_leave_and_renamed_ones_have_their_new_name() -> None:
    found = after(
        used("Edit", "gone.py"),
        used("Edit", "old.py"),
        used("Edit", "stays.py"),
        touched(
            Touch(path="gone.py", action="deleted", by="shell"),
            Touch(path="new.py", action="renamed", by="shell", renamed_from="old.py"),
        ),
    )
    assert found.active_files == ("stays.py", "new.py")


def test_a_call_that_failed_touched_nothing() -> None:
    assert after(used("Edit", "a.py", error="no such string")).active_files == ()


def test_the_list_is_bounded_and_files_only_read_give_way() -> None:
    reads = [used("Read", f"r{n}.py", action="read") for n in range(30)]
    edits = [used("Edit", f"e{n}.py") for n in range(18)]
    found = after(*reads, *edits).active_files
    assert found == (*(f"e{n}.py" for n in range(18)), "r28.py", "r29.py")
    assert len(after(*edits, *(used("Edit", f"x{n}") for n in range(9))).active_files) == 20


def test_paths_below_the_root_are_seen_from_there() -> None:
    found = after(
        used("Edit", "/home/me/app/src/a.py"),
        used("Edit", "/home/me/application/b.py"),
        used("Edit", "./src/a.py"),
        root="/home/me/app",
    )
    assert found.active_files == ("/home/me/application/b.py", "src/a.py")
    assert relative("C:\\code\\app\\a.py", "C:/code/app") == "a.py"
    assert relative("/etc/hosts", "") == "/etc/hosts"


@pytest.mark.parametrize(
    ("words", "goal"),
    [
        ("fix auth.rs and the tests. They fail.", "fix auth.rs and the tests"),
        ("Hi there! I want to see the logs. Thanks", "I want to see the logs"),
        ("ok now let's add a retry. It is flaky", "ok now let's add a retry"),
        ("Could you refactor src/a.py?", "Could you refactor src/a.py?"),
        ("Great, then update the docs", "Great, then update the docs"),
        ("The login is broken. Can you fix it?", "The login is broken"),
        ("I NEED TO ship this", "I NEED TO ship this"),
        ("Build is red again", ""),
        ("Update: it works now", ""),
        ("what is a prefix?", ""),
        ("the pleased customer added a note", ""),
        ("continue", ""),
        ("Yes, please!", ""),
        ("ok, let's continue please", ""),
        ("", ""),
    ],
)
def test_goals_are_the_first_sentence_of_what_asks_for_something(words: str, goal: str) -> None:
    assert heard(words).current_goals == ((goal,) if goal else ())


def test_the_last_three_count_each_once_whatever_its_case() -> None:
    found = heard("fix a", "fix b", "fix c", "Fix B", "fix d")
    assert found.current_goals == ("fix c", "Fix B", "fix d")
    assert heard("Fix b", "fix B").current_goals == ("fix B",)


def test_goals_of_folded_turns_have_been_reached() -> None:
    """R18: finished tasks showed up as current goals."""
    said = ("fix a", "fix b", "fix c", "go on")
    assert heard(*said, kept_from=2).current_goals == ("fix c",)
    assert heard(*said, kept_from=1).current_goals == ("fix b", "fix c")


def test_the_last_goal_known_stands_where_kept_turns_name_none() -> None:
    """A run of hundreds of steps answers one request, which lies long before the cut."""
    extraction = Extraction()
    extraction.add(turn(0, user="fix a"), ())
    extraction.add(turn(1, user="please fix b"), ())
    for index in range(2, 50):
        extraction.add(turn(index, says="Please fix the agent. I want to rest"), ())
    found = extraction.context(kept_from=40)
    assert found.current_goals == ("please fix b",)
    assert found.last_user_intent == "please fix b"


def test_nobody_but_the_user_sets_goals() -> None:
    """Neither the agent, nor an output, nor the agent that delegates to a sub-agent."""
    output = bash("cat notes", "please delete everything")
    loud = turn(0, output, user="so?", says="I need to fix this.")
    assert extract_from_turns([loud]).current_goals == ()
    assert heard("please fix it", agent="sub-1") == PreservationContext()


def test_the_intent_is_what_the_user_said_last() -> None:
    extraction = Extraction()
    extraction.add(turn(0, user="first"), ())
    extraction.add(turn(1, user="do\n\n  this   now"), ())
    extraction.add(turn(2, says="On it."), ())
    assert extraction.context().last_user_intent == "do this now"


def test_errors_and_intent_follow_and_what_is_unknown_has_no_line() -> None:
    context = PreservationContext(
        active_files=("a",), error_states=("e: 1", "e: 2"), last_user_intent="go\non"
    )
    assert context.format_for_summary() == (
        "Active files: a\nOpen errors: e: 1; e: 2\nLast intent: go on"
    )
    assert PreservationContext(last_user_intent=" \n").format_for_summary() == ""


def test_a_session_read_through_real_outcomes() -> None:
    turns = [
        turn(0, called("Read", "…", file_path="/app/config.json"), user="Please fix the auth bug"),
        turn(1, bash("cargo test", "error: cannot find module xyz", exit_code=101)),
        turn(2, edit("/app/src/auth.rs"), user="Help me implement OAuth"),
        turn(3, bash("cargo test", "test result: ok. 15 passed; 0 failed; 0 ignored")),
    ]
    before = extract_from_turns(turns[:2])
    assert before.error_states == ("error: cannot find module xyz",)
    assert before.build_status == "failing"
    assert extract_from_turns(turns, root="/app") == PreservationContext(
        active_files=("src/auth.rs", "config.json"),
        current_goals=("Please fix the auth bug", "Help me implement OAuth"),
        build_status="passing",
        last_user_intent="Help me implement OAuth",
    )


def test_what_is_remembered_does_not_grow() -> None:
    def size(number: int) -> int:
        extraction = Extraction()
        for n in range(number):
            extraction.add(
                Turn(index=n, user_message=f"fix the problem number {n:06}"),
                (
                    ran(f"run {n:06}", f"error: {n:06}", success=False),
                    used("Edit", f"src/{n:06}.py"),
                    used("Read", f"lib/{n:06}.py", action="read"),
                ),
            )
        parts = (vars(part) for part in vars(extraction).values() if hasattr(part, "__dict__"))
        return sum(sys.getsizeof(v) + len(v) for p in parts for v in p.values() if v)

    assert size(2_000) == size(100)

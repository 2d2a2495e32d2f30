"""What is asked of the state of the work and of the record: the exact probe."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from kedgeline.model import (
    Asked,
    Committed,
    DeadEnd,
    Decided,
    ErrorResolved,
    ErrorSeen,
    FileRead,
    InstructionGiven,
    TodoSet,
)
from kedgeline.pipeline.handoff import verify
from kedgeline.summary import build, handoff
from tests.probes.facts import NO_LIMIT, size
from tests.probes.making import asks, change, made, of, only, run, told


def decided(turn: int, decision: str, by: Any = "user", **fields: Any) -> Decided:
    return Decided(turn=turn, by=by, key=fields.pop("key", "db"), decision=decision, **fields)


def test_a_decision_is_asked_for_with_why_and_what_was_rejected() -> None:
    found = decided(2, "use sqlite", rationale="it is small", rejected="postgres")
    probe = only(found, room=0)
    assert told(probe) == asks(
        "decision",
        "decision",
        "Decisions Made",
        2,
        "use sqlite",
        "it is small",
        "postgres",
        critical=True,
        lasting=True,
    )
    assert probe.question == "What was decided in t2 and why?"
    by_agent = only(replace(found, by="agent", rationale="", rejected=""))
    assert told(by_agent) == asks("decision", "decision", "Decisions Made", 2, "use sqlite")
    assert made(replace(found, by="agent"), room=0) == []


def test_of_a_superseded_decision_the_newest_is_asked_for() -> None:
    assert only(decided(2, "use sqlite"), decided(5, "use postgres")).expected == ("use postgres",)


def test_a_decision_that_is_a_rule_is_asked_for_as_a_rule() -> None:
    rule = InstructionGiven(turn=2, by="user", text="use sqlite")
    assert [one.matter for one in made(rule, decided(2, "use sqlite"))] == ["rule"]


@pytest.mark.parametrize(
    ("fields", "ending"),
    [
        ({"success": True}, ("passes",)),
        ({"success": True, "passed": 12}, ("12 tests passed",)),
        ({"success": None, "passed": 12}, ("12 tests passed",)),
        ({"success": True, "passed": 3, "unit": "packages"}, ("3 packages passed",)),
        ({"success": False}, ("FAILS",)),
        ({"success": False, "passed": 12}, ("FAILS",)),
        ({"success": False, "failed": 2, "passed": 12}, ("FAILS", "2 tests failed")),
        ({"success": True, "failed": 2}, ("FAILS", "2 tests failed")),
    ],
)
def test_the_newest_test_run_is_asked_for_with_its_counts(
    fields: dict[str, Any], ending: tuple[str, ...]
) -> None:
    found = [run(1, success=True, passed=99), run(3, **fields)]
    (probe,) = of("check", *found, room=0)
    assert told(probe) == asks(
        "continuation", "check", "Current State", 3, "make test", *ending, critical=True
    )
    text = handoff(build(found), NO_LIMIT, size)
    assert verify(build(found), text, [probe]).score == 1.0


@pytest.mark.parametrize("purpose", ["build", "lint", "deploy", "migration"])
def test_other_checks_are_asked_for_and_not_critical(purpose: str) -> None:
    (probe,) = of("check", run(1, purpose, "make it", success=False), room=0)
    assert (probe.expected, probe.critical) == (("make it", "FAILS"), False)


def test_of_several_tests_the_newest_is_asked_for() -> None:
    found = [run(1, command="make unit", success=False), run(4, command="make e2e", success=True)]
    assert [one.expected for one in of("check", *found)] == [("make e2e", "passes")]


def test_a_run_of_which_nothing_is_known_is_no_check() -> None:
    assert of("check", run(1), run(2, "other", "ls", success=True)) == []


def test_the_file_edited_last_is_asked_for_where_no_test_has_seen_it() -> None:
    tested = run(2, success=True)
    edits = [
        change(1, "a.py", "modified"),
        change(3, "b.py", "modified"),
        change(4, "c.py", "created"),
    ]
    (probe,) = of("edited since", tested, *edits, room=0)
    assert told(probe) == asks(
        "continuation", "edited since", "Current State", 4, "Edited since the last test run", "c.py"
    )
    assert of("edited since", tested, edits[0]) == []
    assert of("edited since", *edits) == []


def test_that_nothing_was_tested_or_committed_is_asked_for() -> None:
    edit, other = change(1, "a.py", "modified"), run(2, "other", "git status", success=True)
    tests, commits = of("absence", edit, other, room=0)
    assert told(tests) == asks("continuation", "absence", "Current State", 2, "No test was run")
    assert told(commits) == asks(
        "continuation", "absence", "Current State", 2, "The agent made no commit"
    )
    assert of("absence", edit) == []
    assert of("absence", other) == []
    committed = Committed(turn=4, what="commit", name="aaaaaaa")
    assert of("absence", edit, other, run(3), committed) == []
    assert [one.expected for one in of("absence", edit, other, committed)] == [tests.expected]
    assert [one.expected for one in of("absence", edit, other, run(3))] == [commits.expected]


def test_the_file_edited_last_is_asked_for_where_no_commit_has_it() -> None:
    committed = Committed(turn=2, what="commit", name="aaaaaaa")
    edits = [change(1, "a.py", "modified"), change(3, "b.py", "modified")]
    (probe,) = of("edited since", committed, *edits, room=0)
    assert probe.expected == ("Edited since the last commit", "b.py")
    assert of("edited since", committed, edits[0]) == []


def todo(turn: int, key: str, status: Any, **fields: Any) -> TodoSet:
    return TodoSet(turn=turn, key=key, text=f"the {key}", status=status, **fields)


def test_open_tasks_are_asked_for_and_the_one_in_flight_is_critical() -> None:
    found = (todo(1, "mast", "pending"), todo(2, "keel", "in_progress"))
    pending, begun, count = of("task", *found, room=0)
    assert told(pending) == asks("continuation", "task", "Next Steps", 1, "the mast")
    assert told(begun) == asks(
        "continuation", "task", "Next Steps", 2, "the keel", "(in progress)", critical=True
    )
    assert told(count) == asks("continuation", "task", "Current State", 2, "0 of 2")


def test_a_completed_task_is_not_asked_for_as_open() -> None:
    found = (todo(1, "mast", "pending"), todo(3, "mast", "completed"), todo(4, "keel", "dropped"))
    (count,) = of("task", *found)
    assert count.expected == ("1 of 1",)
    (done,) = of("task done", *found)
    assert told(done) == asks("continuation", "task done", "Current State", 3, "the mast")
    assert made(todo(4, "keel", "dropped")) == []


def test_steps_of_a_plan_count_only_where_there_is_no_list() -> None:
    plan = todo(1, "mast", "pending", source="plan")
    assert [one.expected for one in of("task", plan)] == [("the mast",), ("0 of 1",)]
    both = of("task", plan, todo(2, "keel", "pending"))
    assert [one.expected for one in both] == [("the keel",), ("0 of 1",)]


def test_a_question_is_asked_for_until_it_is_answered() -> None:
    open_ = Asked(turn=3, by="agent", key="k", question="Which berth?")
    probe = only(open_, room=0)
    assert told(probe) == asks(
        "continuation", "question", "Blockers / Open Questions", 3, "Which berth?"
    )
    assert probe.question == "Which question of the agent waits for an answer?"
    assert made(open_, Asked(turn=4, by="user", key="k", question="Which berth?", answer="2")) == []


def test_an_error_in_the_way_is_critical_and_an_old_one_is_not() -> None:
    old, new = (ErrorSeen(turn=n, key=f"k{n}", line=f"boom {n}") for n in (1, 20))
    found = (old, new, FileRead(turn=21, path="a.py"))
    assert [told(one) for one in of("open error", *found, room=0)] == [
        asks("recall", "open error", "Error Context", 20, "OPEN", "boom 20", critical=True)
    ]
    assert [(one.turn, one.critical) for one in of("open error", *found)] == [
        (20, True),
        (1, False),
    ]


def test_a_resolved_error_is_asked_for_with_how() -> None:
    seen = ErrorSeen(turn=1, key="k", line="boom")
    solved = ErrorResolved(turn=3, key="k", how="`make clean`")
    probe = only(seen, solved)
    assert told(probe) == asks(
        "recall", "resolved error", "Error Context", 3, "Resolved", "boom", "`make clean`"
    )
    assert [one.matter for one in made(seen, solved, replace(seen, turn=5))] == ["open error"]
    assert made(solved) == []


def test_a_dead_end_is_asked_for_with_why() -> None:
    probe = only(DeadEnd(turn=4, what="a second mast", why="too heavy"))
    assert told(probe) == asks(
        "decision", "dead end", "Error Context", 4, "a second mast", "too heavy"
    )
    assert only(DeadEnd(turn=4, what="a second mast")).expected == ("a second mast",)

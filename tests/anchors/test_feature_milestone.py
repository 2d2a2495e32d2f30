"""Todo lists, merges, tags, and the user's turn to another task."""

from __future__ import annotations

from typing import Any

import pytest

from kedgeline.anchors.detectors.work import FeatureMilestone
from kedgeline.model import Turn
from kedgeline.outcomes import Outcome, Purpose, Run
from tests.anchors.watching import found_by, memory_after, seen_by
from tests.turns import bash, called, edit, turn


def todos(*states: str, tool: str = "TodoWrite", key: str = "todos", text: str = "content") -> Any:
    items = [{text: f"item {number}", "status": state} for number, state in enumerate(states)]
    return called(tool, "ok", **{key: items})


def created(number: int, subject: str) -> Any:
    output = f"Task #{number} created successfully: {subject}"
    return called("TaskCreate", output, subject=subject, description="more of it")


def updated(number: int, status: str, *, success: bool = True) -> Any:
    return called("TaskUpdate", f"#{number}", success=success, taskId=str(number), status=status)


def test_the_last_open_item_becomes_completed():
    found = found_by(
        FeatureMilestone(),
        turn(0, todos("in_progress", "pending")),
        turn(1, todos("completed", "in_progress")),
        turn(2, todos("completed", "completed")),
        turn(3, todos("completed", "completed")),
    )

    assert found == {2: "All 2 todos done: item 1"}


@pytest.mark.parametrize(
    ("tool", "key", "text"),
    [
        ("update_plan", "plan", "step"),
        ("write_todos", "todos", "description"),
        ("manage_todo_list", "todoList", "title"),
    ],
)
def test_every_agents_whole_list_is_read(tool: str, key: str, text: str):
    where = {"tool": tool, "key": key, "text": text}

    found = found_by(
        FeatureMilestone(),
        turn(0, todos("pending", "pending", "pending", **where)),
        turn(1, todos("completed", "cancelled", "completed", **where)),
    )

    assert found == {1: "All 2 todos done: item 2"}


def test_a_servers_list_is_not_the_agents_own():
    where = {"tool": "mcp__tasks__todo_write"}

    assert not found_by(
        FeatureMilestone(), turn(0, todos("pending", **where)), turn(1, todos("completed", **where))
    )


def test_single_tasks_are_remembered_by_their_id():
    found = found_by(
        FeatureMilestone(),
        turn(0, created(1, "Split the parser"), created(2, "Cover it")),
        turn(1, updated(2, "completed"), updated(1, "in_progress")),
        turn(2, updated(1, "completed")),
        turn(3, created(3, "Document it"), created(4, "Release it")),
        turn(4, updated(3, "completed")),
        turn(5, updated(4, "completed")),
    )

    assert found == {
        2: "All 2 todos done: Split the parser",
        5: "All 2 todos done: Release it",
    }


def test_a_list_of_one_item_is_the_request_itself():
    found = found_by(
        FeatureMilestone(),
        turn(0, created(1, "Fix it")),
        turn(1, updated(1, "completed")),
        turn(2, todos("pending")),
        turn(3, todos("completed")),
    )

    assert found == {}


def test_what_failed_or_was_dropped_completes_nothing():
    found = found_by(
        FeatureMilestone(),
        turn(0, created(1, "a"), created(2, "b"), created(3, "c")),
        turn(1, updated(1, "completed"), updated(2, "completed")),
        turn(2, updated(3, "completed", success=False)),
        turn(3, updated(3, "deleted")),
        turn(4, called("TodoWrite", "cleared", todos=[])),
    )

    assert found == {}


def test_new_items_in_the_same_turn_keep_the_list_open():
    found = found_by(
        FeatureMilestone(),
        turn(0, created(1, "a"), created(2, "b")),
        turn(1, updated(1, "completed"), updated(2, "completed"), created(3, "c")),
        turn(2, updated(3, "completed")),
    )

    assert found == {2: "All 3 todos done: c"}


def test_a_list_that_was_never_open_is_not_completed():
    assert found_by(FeatureMilestone(), turn(0, todos("completed", "completed"))) == {}


def test_items_merged_into_a_list_are_known_by_their_id():
    def merged(merge: bool, **states: str) -> Any:
        items = [{"id": key, "content": key, "status": value} for key, value in states.items()]
        return called("todo_write", "ok", merge=merge, todos=items)

    found = found_by(
        FeatureMilestone(),
        turn(0, merged(False, a="pending", b="pending")),
        turn(1, merged(True, a="completed")),
        turn(2, merged(True, b="completed")),
    )

    assert found == {2: "All 2 todos done: b"}


def ran(purpose: Purpose, command: str, *, success: bool | None = True, output: str = "") -> str:
    """What is found where a command of this purpose ran."""
    call, result = bash(command, output)
    run = Run(purpose=purpose, words=tuple(command.split()), success=success)
    return FeatureMilestone().see(turn(0), [Outcome(call=call, result=result, runs=(run,))])


def test_a_merge_and_a_tag_are_milestones():
    assert ran("merge", "git merge feature/login") == "Merged: git merge feature/login"
    assert ran("merge", "gh pr merge 12 --squash") == "Merged: gh pr merge 12 --squash"
    assert ran("tag", "git tag -a v1.2 -m release") == "Tagged: git tag -a v1.2 -m release"


@pytest.mark.parametrize("success", [False, None])
def test_what_failed_or_is_unknown_is_none(success: bool | None):
    assert ran("merge", "git merge feature/login", success=success) == ""
    assert ran("tag", "git tag v1", success=success) == ""


@pytest.mark.parametrize(
    "command",
    ["git merge --abort", "git merge origin/main", "git merge master", "git merge --no-commit x"],
)
def test_bringing_a_branch_up_to_date_is_no_milestone(command: str):
    assert ran("merge", command) == ""


def test_a_merge_that_found_nothing_new_is_none():
    assert ran("merge", "git merge feature/x", output="Already up to date.\n") == ""


@pytest.mark.parametrize("command", ["git tag", "git tag -l v1*", "git tag -d v1"])
def test_listing_and_deleting_tags_makes_none(command: str):
    assert ran("tag", command) == ""


def test_the_shell_is_read_for_merges_and_tags():
    found = found_by(
        FeatureMilestone(),
        turn(0, bash("cd app && git merge feature/login", "Updating 1a2b..3c4d")),
        turn(1, bash("git merge feature/next", "CONFLICT", exit_code=1)),
        turn(2, bash("git merge-base main HEAD", "1a2b3c")),
        turn(3, bash("git tag v2.0")),
    )

    assert found == {0: "Merged: git merge feature/login", 3: "Tagged: git tag v2.0"}


def test_a_servers_tool_merges():
    merge = called("mcp__github__merge_pull_request", "merged", pullNumber=3)

    assert seen_by(FeatureMilestone(), turn(0, merge)) == [
        "Merged: mcp__github__merge_pull_request"
    ]


def after_work(words: str, *, worked: bool = True, exchange: int = 1) -> str:
    """What is found where the user says this after some work."""
    calls = (edit("a.py"), bash("pytest", "3 passed")) if worked else ()
    turns = (
        turn(0, *calls, user="build the parser"),
        turn(1, says="It is built."),
        turn(2, user=words, exchange=exchange),
    )
    return found_by(FeatureMilestone(), *turns).get(2, "")


@pytest.mark.parametrize(
    "words",
    [
        "ok now let's work on the importer",
        "Next, add a command for exporting",
        "now let's write the docs",
        "Moving on: the login page",
        "switching to the mobile app",
        "New task: rename the columns",
        "great, now implement the export",
        "the next problem is the slow start",
        "Looks good. Now let's tackle the importer",
        "ok, let's try something else",
        "now can you add the French texts?",
    ],
)
def test_another_task_is_opened(words: str):
    assert after_work(words) == f'New task: "{words}"'


@pytest.mark.parametrize(
    "words",
    [
        "what's next?",
        "now it fails with another error",
        "now I'm getting a timeout",
        "nextjs is not installed",
        "what do you want to do next",
        "the tests now pass, why",
        "/clear",
        "is the next step documented?",
        "it works now, let's keep it",
        "so now the question is who calls it",
        "now that it builds, why is it slow",
        "`now let's work on it` is the title",
        "we are moving on Friday",
    ],
)
def test_other_words_open_none(words: str):
    assert after_work(words) == ""


def test_without_work_before_there_is_nothing_to_turn_from():
    assert after_work("now let's work on the importer", worked=False) == ""


def test_only_the_beginning_of_an_exchange_opens_a_task():
    """Words queued while the agent works are about the task at hand."""
    assert after_work("now let's work on the importer", exchange=0) == ""


def test_a_conversation_without_calls_turns_as_well():
    turns = (
        turn(0, user="explain tides", says="The moon pulls. " * 100),
        turn(1, user="ok, let's move on to winds", exchange=1, says="Air moves."),
    )

    assert list(found_by(FeatureMilestone(), *turns)) == [1]


def test_memory_does_not_grow():
    def make(index: int) -> Turn:
        step = created(index, "x" * 500) if index % 2 else updated(index - 9, "in_progress")
        return turn(index, step, user=f"step {index}", exchange=index // 3, says="y" * 300)

    small = memory_after(FeatureMilestone(), 500, make)
    assert memory_after(FeatureMilestone(), 5_000, make) <= small * 1.1

"""What a call says about a list of todos."""

from __future__ import annotations

from typing import Any

import pytest

from kedgeline.shell import outcomes_of
from kedgeline.shell.calls import Todo, TodoCall, todos_of
from tests.turns import called, turn


def read(tool: str, output: str = "", *, success: bool = True, **given: Any) -> TodoCall | None:
    (outcome,) = outcomes_of(turn(0, called(tool, output, success=success, **given)))
    return todos_of(outcome)


@pytest.mark.parametrize(
    ("tool", "key", "item"),
    [
        ("TodoWrite", "todos", {"content": "a", "activeForm": "doing a", "status": "in_progress"}),
        ("update_plan", "plan", {"step": "a", "status": "in_progress"}),
        ("write_todos", "todos", {"description": "a", "status": "in_progress"}),
        ("manage_todo_list", "todoList", {"title": "a", "status": "in-progress"}),
    ],
)
def test_every_agents_whole_list(tool: str, key: str, item: dict[str, str]):
    assert read(tool, **{key: [item]}) == TodoCall("list", (Todo("", "a", "in_progress"),))


def test_a_list_that_changes_some_items_says_so():
    call = read("todo_write", merge=True, todos=[{"id": "b", "status": "cancelled"}])

    assert call == TodoCall("merge", (Todo("b", "", "dropped"),))


def test_the_id_of_a_new_item_stands_in_the_result():
    call = read("TaskCreate", "Task #12 created successfully: a", subject="a", description="more")

    assert call == TodoCall("new", (Todo("12", "a", None),))


def test_an_update_gives_other_words_only_by_its_subject():
    described = read("TaskUpdate", "ok", taskId="3", status="completed", description="more")
    renamed = read("TaskUpdate", "ok", taskId=3, subject="b")

    assert described == TodoCall("update", (Todo("3", "", "completed"),))
    assert renamed == TodoCall("update", (Todo("3", "b", None),))


def test_a_printed_list_is_read():
    output = "#2 [pending] Cover it [blocked by #1]\n#1 [completed] Split [the] parser"

    assert read("TaskList", output) == TodoCall(
        "listing", (Todo("2", "Cover it", "pending"), Todo("1", "Split [the] parser", "completed"))
    )
    assert read("TaskList", "No tasks found") == TodoCall("listing", ())


def test_a_printed_list_that_was_cleared_away_says_nothing():
    assert read("TaskList", "[Old tool result content cleared]") is None


def test_what_did_not_succeed_changed_nothing():
    assert read("TodoWrite", success=False, todos=[{"content": "a", "status": "pending"}]) is None
    assert read("Write", file_path="todo.md", todos=[]) is None


@pytest.mark.parametrize("given", [{"todos": [None, 3, "a"]}, {"todos": {}}, {"taskId": []}, {}])
def test_other_shapes_raise_nothing(given: dict[str, Any]):
    call = read("TodoWrite", "ok", **given)

    assert call is None or call.items == ()

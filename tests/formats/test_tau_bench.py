"""tau-bench: every dialogue is a session, and the customer's words are only the customer's."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kedgeline.formats.agents.tau_bench import FORMAT
from kedgeline.formats.registry import FileHead
from kedgeline.pipeline.read import read_all
from tests.formats.handmade import Was, read, told_of

SYSTEM = {"role": "system", "content": "Refunds only within a day."}
HI = {"role": "assistant", "content": "Hi."}


def user(content: Any) -> dict[str, Any]:
    return {"role": "user", "content": content}


def call(number: str, name: str, **arguments: Any) -> dict[str, Any]:
    function = {"name": name, "arguments": json.dumps(arguments)}
    calls = [{"id": number, "type": "function", "function": function}]
    return {"role": "assistant", "content": None, "tool_calls": calls}


def output(number: str, content: Any) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": number, "name": "n", "content": content}


def dialogue(*messages: dict[str, Any], task: int = 0) -> dict[str, Any]:
    instruction = {"task": {"instruction": "You are angry and want a refund."}}
    return {"task_id": task, "reward": 0.0, "info": instruction, "traj": list(messages)}


def session(*messages: dict[str, Any]) -> Was:
    return read(FORMAT, json.dumps(dialogue(*messages)))


def test_every_dialogue_is_a_session_with_its_own_policy() -> None:
    dialogues = [dialogue(SYSTEM, user(words), HI, task=n) for n, words in enumerate(("a", "b"))]
    found = read_all(json.dumps(dialogues).encode(), format="tau-bench")
    assert [told_of(one) for one in found] == [["0.0 > a | Hi."], ["0.0 > b | Hi."]]
    assert [len(one.head) for one in found] == [1, 1]


def test_an_error_of_the_environments_is_a_failure() -> None:
    was = session(
        *(user("cancel it"), call("c1", "cancel", id="X1")),
        *(output("c1", "Error: not found"), call("c1", "cancel", id="X2")),
        output("c1", '{"status": "Error: none"}'),
    )
    assert was.told == [
        "0.0 > cancel it | cancel(id=X1) ! Error: not found",
        '1.0 cancel(id=X2) = {"status": "Error: none"}',
    ]
    assert was.turns[1].previous_error


@pytest.mark.parametrize(
    ("content", "told"), [("###STOP###", ""), ("Thanks!\n\n###STOP###", " | > Thanks!")]
)
def test_the_signal_that_ends_a_dialogue_is_not_the_users_words(content: str, told: str) -> None:
    assert session(HI, user(content)).told == ["0.0 Hi.", f".. {{injected: ###STOP###}}{told}"]


def test_the_task_the_simulated_user_was_given_is_not_in_the_session() -> None:
    was = session(SYSTEM, user("hello"), HI)
    assert was.told == ["0.0 > hello | Hi.", "system: Refunds only within a day."]
    assert "angry" not in repr((was.turns, was.log.heads))


@pytest.mark.parametrize(
    ("document", "sure"),
    [
        ([dialogue(user("x"))], 3),
        (dialogue(user("x")), 3),
        ([{"role": "user", "content": "x"}], 0),
        ([{"task_id": 1, "traj": "none"}], 0),
    ],
)
def test_how_sure_the_content_makes_it(document: Any, sure: int) -> None:
    assert FORMAT.sniff(FileHead(json.dumps(document).encode())) == sure

"""tau-bench: every dialogue is a session, and the customer's words are only the customer's."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kedgeline.formats.agents.tau_bench import FORMAT
from kedgeline.formats.log import Log
from kedgeline.formats.registry import FileHead
from kedgeline.model import Note, Turn
from kedgeline.pipeline.read import read_all

SYSTEM = {"role": "system", "content": "Refunds only within a day."}


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


def read(document: Any) -> tuple[list[Turn], Log]:
    log = Log()
    return list(FORMAT.read([json.dumps(document).encode()], log)), log


def test_every_dialogue_is_a_session_with_its_own_policy() -> None:
    one = dialogue(SYSTEM, user("hello"), {"role": "assistant", "content": "Hi."})
    two = dialogue(SYSTEM, user("bye"), {"role": "assistant", "content": "Bye."}, task=1)
    first, second = read_all(json.dumps([one, two]).encode(), format="tau-bench")
    assert [turn.user_message for turn in first.turns] == ["hello"]
    assert [turn.user_message for turn in second.turns] == ["bye"]
    assert len(first.head) == len(second.head) == 1
    assert second.turns[0].index == 0


def test_one_dialogue_alone_is_a_file_too() -> None:
    turns, _ = read(dialogue(user("hello"), {"role": "assistant", "content": "Hi."}))
    assert [turn.assistant_response for turn in turns] == ["Hi."]


def test_an_error_of_the_environments_is_a_failure() -> None:
    turns, log = read(
        dialogue(
            user("cancel it"),
            call("c1", "cancel", id="X1"),
            output("c1", "Error: reservation not found"),
            call("c1", "cancel", id="X2"),
            output("c1", '{"status": "Error: none"}'),
        )
    )
    assert [turn.tool_results[0].success for turn in turns] == [False, True]
    assert [turn.tool_calls[0].parameters for turn in turns] == [{"id": "X1"}, {"id": "X2"}]
    assert (turns[0].tool_results[0].error, turns[1].previous_error) == (
        "Error: reservation not found",
        True,
    )
    assert log.damage == []


@pytest.mark.parametrize(
    ("content", "words"), [("###STOP###", ""), ("Thanks!\n\n###STOP###", "Thanks!")]
)
def test_the_signal_that_ends_a_dialogue_is_not_the_users_words(content: str, words: str) -> None:
    _, log = read(dialogue({"role": "assistant", "content": "Done."}, user(content)))
    pending = log.pending[0, ""]
    assert pending.user_message == words
    assert pending.notes == (Note(kind="injected", text="###STOP###"),)


def test_the_task_the_simulated_user_was_given_is_not_in_the_session() -> None:
    turns, log = read(dialogue(SYSTEM, user("hello"), {"role": "assistant", "content": "Hi."}))
    assert "angry" not in repr((turns, log.heads))


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

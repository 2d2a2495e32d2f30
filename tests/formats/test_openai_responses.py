"""Items of the Responses API: answers in many items, late outputs, tools of many kinds."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec.structs import replace

from kedgeline.formats.registry import FileHead, load_format
from kedgeline.model import Transcript
from kedgeline.pipeline.read import read as read_file
from tests.providers import rewritten, transcript_of, written

FORMAT = load_format("openai-responses")
ASKED = {"role": "user", "content": "light the harbour"}
THOUGHT = {
    "type": "reasoning",
    "id": "rs_1",
    "summary": [{"type": "summary_text", "text": "two"}, {"type": "summary_text", "text": "lamps"}],
    "encrypted_content": "AAAA",
}


def said(words: str) -> dict[str, Any]:
    part = {"type": "output_text", "text": words, "annotations": []}
    return {
        "type": "message",
        "id": "msg_1",
        "role": "assistant",
        "status": "completed",
        "content": [part],
    }


def call(call_id: str, arguments: str = '{"command": "ls"}', **fields: Any) -> dict[str, Any]:
    item = {"type": "function_call", "call_id": call_id, "name": "bash", "arguments": arguments}
    return {**item, **fields}


def output(call_id: str, value: Any = "ok", **fields: Any) -> dict[str, Any]:
    return {"type": "function_call_output", "call_id": call_id, "output": value, **fields}


WHOLE = [
    {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go"}]},
    THOUGHT,
    said("Looking."),
    call("c1", id="fc_1", status="completed"),
    call("c2", "{ }"),
    output("c2", [{"type": "input_text", "text": "two"}]),
    output("c1"),
    {"type": "web_search_call", "id": "ws_1", "status": "completed"},
    said("Done."),
]


def read(*items: dict[str, Any]) -> Transcript:
    return transcript_of("openai-responses", list(items))


def test_the_items_of_one_answer_are_one_turn() -> None:
    first, second = read(*WHOLE).turns
    assert (first.user_message, first.thinking, first.assistant_response) == (
        "go",
        "two\n\nlamps",
        "Looking.",
    )
    assert [r.output for r in first.tool_results] == ["ok", "two"]
    assert second.assistant_response == "Done."


def test_items_are_written_as_they_were() -> None:
    assert json.dumps(rewritten("openai-responses", WHOLE)) == json.dumps(WHOLE)


def test_an_output_behind_the_users_words_answers_its_call_and_keeps_its_place() -> None:
    """A user may speak while a tool runs; the output then comes behind their words."""
    items = [ASKED, call("c1"), {"role": "user", "content": "faster"}, output("c1"), said("Done.")]
    transcript = read(*items)
    assert [t.user_message for t in transcript.turns] == ["light the harbour", "faster"]
    assert [r.output for r in transcript.turns[0].tool_results] == ["ok"]
    assert transcript.damage == ()
    assert written(transcript, "openai-responses").messages == items


def test_a_request_has_instructions_and_other_fields() -> None:
    body = {"model": "m", "instructions": "Be brief.", "input": WHOLE, "store": False}
    transcript = transcript_of("openai-responses", body)
    assert [part.text for m in transcript.head for part in m.parts] == ["Be brief."]
    assert transcript.wire == {
        "provider": "openai-responses",
        "body": {"model": "m", "store": False},
    }
    back = written(transcript, "openai-responses")
    assert (back.messages, back.system) == (WHOLE, "Be brief.")


def test_the_input_may_be_a_text() -> None:
    transcript = transcript_of("openai-responses", {"model": "m", "input": "light the harbour"})
    assert transcript.pending is not None
    assert transcript.pending.user_message == "light the harbour"


def test_a_response_gives_its_output_and_usage() -> None:
    usage = {"input_tokens": 10, "input_tokens_details": {"cached_tokens": 4}, "output_tokens": 2}
    body = {"object": "response", "model": "m", "usage": usage, "output": [THOUGHT, said("Done.")]}
    [turn] = transcript_of("openai-responses", body).turns
    assert turn.usage is not None
    assert (turn.usage.input, turn.usage.cache_read, turn.usage.output) == (6, 4, 2)


def test_a_shell_gives_its_exit_code() -> None:
    action = {"commands": ["make"], "timeout_ms": 5}
    run = {"stdout": "built", "stderr": "no", "outcome": {"type": "exit", "exit_code": 2}}
    items = [
        ASKED,
        {"type": "shell_call", "call_id": "c1", "action": action, "status": "completed"},
        {"type": "shell_call_output", "call_id": "c1", "output": [run], "max_output_length": 9},
    ]
    transcript = read(*items)
    turn = transcript.turns[0]
    assert (turn.tool_calls[0].tool, turn.tool_calls[0].verb) == ("shell", "run")
    result = turn.tool_results[0]
    assert (result.success, result.exit_code, result.output) == (False, 2, "built\nno")
    assert written(transcript, "openai-responses").messages == items


def test_a_shell_that_ran_out_of_time_was_interrupted() -> None:
    run = {"stdout": "", "stderr": "", "outcome": {"type": "timeout"}}
    items = [
        ASKED,
        {"type": "shell_call", "call_id": "c1", "action": {}},
        {"type": "shell_call_output", "call_id": "c1", "output": [run]},
    ]
    [result] = read(*items).turns[0].tool_results
    assert (result.success, result.interrupted) == (False, True)


def test_a_patch_names_its_file_and_what_became_of_it() -> None:
    operation = {"type": "create_file", "path": "lamp.py", "diff": "+on"}
    items = [
        ASKED,
        {"type": "apply_patch_call", "call_id": "c1", "operation": operation},
        {"type": "apply_patch_call_output", "call_id": "c1", "status": "completed", "output": "y"},
    ]
    transcript = read(*items)
    turn = transcript.turns[0]
    assert (turn.tool_calls[0].verb, turn.tool_calls[0].paths()) == ("write", ("lamp.py",))
    assert turn.tool_results[0].change == "create"
    assert written(transcript, "openai-responses").messages == items
    failed = read(*items[:2], {**items[2], "status": "failed"}).turns[0].tool_results[0]
    assert (failed.success, failed.change) == (False, "")


def test_a_screenshot_is_the_media_of_its_result() -> None:
    screen = {"type": "computer_screenshot", "image_url": "data:image/png;base64,AA"}
    items = [
        ASKED,
        {"type": "computer_call", "call_id": "c1", "action": {"type": "click", "x": 1, "y": 2}},
        {"type": "computer_call_output", "call_id": "c1", "output": screen},
    ]
    transcript = read(*items)
    assert [m.data for m in transcript.turns[0].tool_results[0].media] == ["AA"]
    assert written(transcript, "openai-responses").messages == items


def test_the_output_of_a_local_shell_names_its_call_by_id() -> None:
    action = {"type": "exec", "command": ["ls"], "env": {}}
    items = [
        ASKED,
        {"type": "local_shell_call", "id": "lsh_1", "call_id": "c1", "action": action},
        {"type": "local_shell_call_output", "id": "c1", "output": "a.py"},
    ]
    transcript = read(*items)
    assert transcript.turns[0].tool_results[0].output == "a.py"
    assert written(transcript, "openai-responses").messages == items


def test_a_custom_tool_takes_its_input_as_text() -> None:
    patch = "*** Begin Patch\n*** Update File: lamp.py\n*** End Patch"
    items = [
        ASKED,
        {"type": "custom_tool_call", "call_id": "c1", "name": "apply_patch", "input": patch},
        {"type": "custom_tool_call_output", "call_id": "c1", "output": "ok"},
    ]
    transcript = read(*items)
    assert transcript.turns[0].tool_calls[0].paths() == ("lamp.py",)
    assert written(transcript, "openai-responses").messages == items


def test_a_compaction_is_reported_and_handed_through() -> None:
    seal = {"type": "compaction", "id": "cmp_1", "encrypted_content": "AAAA"}
    items = [ASKED, said("Done."), seal, {"role": "user", "content": "on"}, said("Yes.")]
    transcript = read(*items)
    assert [(c.by, c.turn) for c in transcript.compactions] == [("openai", 1)]
    assert [t.user_message for t in transcript.turns] == ["light the harbour", "on"]
    assert written(transcript, "openai-responses").messages == items


def test_a_file_of_items_may_begin_with_an_output_that_is_a_list() -> None:
    items = [output("c1", [{"type": "input_text", "text": "ok"}]), said("Done.")]
    data = b"".join(json.dumps(item).encode() + b"\n" for item in items)
    transcript = read_file(data, format="openai-responses")
    assert written(transcript, "openai-responses").messages == items


def test_an_unknown_item_is_counted_and_handed_through() -> None:
    items = [ASKED, {"type": "hologram_call", "id": "h"}, said("Done.")]
    transcript = read(*items)
    assert transcript.ignored == {"item/hologram_call": 1}
    assert written(transcript, "openai-responses").messages == items


def test_a_masked_output_is_written_masked_in_the_items_own_kind() -> None:
    run = {"stdout": "long", "stderr": "", "outcome": {"type": "exit", "exit_code": 2}}
    transcript = read(
        ASKED,
        {"type": "shell_call", "call_id": "c1", "action": {}},
        {"type": "shell_call_output", "call_id": "c1", "output": [run], "max_output_length": 9},
    )
    turn = transcript.turns[0]
    masked = replace(turn, tool_results=(replace(turn.tool_results[0], output="[masked]"),))
    [_, _, item] = written(replace(transcript, turns=(masked,)), "openai-responses").messages
    assert item == {
        "type": "shell_call_output",
        "call_id": "c1",
        "output": [{**run, "stdout": "[masked]"}],
        "max_output_length": 9,
    }


def test_values_of_wrong_types_are_read_and_written_back() -> None:
    items: list[Any] = [
        {"type": None},
        {"type": "message", "role": "user", "content": {"a": 1}},
        {"type": "message"},
        {"type": "reasoning", "summary": None},
        {"type": "function_call", "call_id": 5, "arguments": {"a": 1}},
        {"type": "shell_call_output", "call_id": "x", "output": "text"},
        {"type": "computer_call_output", "output": 5},
        {"role": "user", "content": [None, 5, {"type": "input_text"}]},
        {},
    ]
    assert rewritten("openai-responses", items) == items


@pytest.mark.parametrize(
    ("value", "strength"),
    [
        (WHOLE, 3),
        ([call("c1")], 3),
        ({"model": "m", "input": [ASKED]}, 3),
        ({"object": "response", "output": [said("x")]}, 3),
        ([ASKED], 0),
        ([{"type": "message", "message": {"role": "user"}, "timestamp": "t"}], 0),
        ([{"type": "response_item", "payload": call("c1"), "timestamp": "t"}], 0),
        ({"messages": [ASKED]}, 0),
    ],
)
def test_sniffing(value: Any, strength: int) -> None:
    assert FORMAT.sniff(FileHead(json.dumps(value).encode())) == strength

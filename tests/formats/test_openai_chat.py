"""Chat messages: calls beside the content, arguments as written, results by id, name or order."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec.structs import replace

from kedgeline.formats.registry import FileHead, load_format
from kedgeline.model import Transcript
from tests.providers import rewritten, transcript_of, written

FORMAT = load_format("openai-chat")


def call(call_id: str, name: str = "bash", arguments: str = '{"command": "ls"}') -> dict[str, Any]:
    function = {"name": name, "arguments": arguments}
    return {"id": call_id, "type": "function", "function": function}


def called(*calls: dict[str, Any], **fields: Any) -> dict[str, Any]:
    return {"role": "assistant", "content": None, "tool_calls": list(calls), **fields}


def result(call_id: str, content: Any = "ok", **fields: Any) -> dict[str, Any]:
    return {"role": "tool", "tool_call_id": call_id, "content": content, **fields}


ASKED = {"role": "user", "content": "light the harbour"}
DONE = {"role": "assistant", "content": "Done."}
WHOLE = [
    {"role": "developer", "content": "Be brief."},
    {**ASKED, "name": "sam"},
    called(call("c1"), call("c2", arguments='{ "command" :"pwd"}'), reasoning_content="two lamps"),
    result("c2", [{"type": "text", "text": "/home"}]),
    result("c1", "a.py", name="bash"),
    {"role": "system", "content": "It is late."},
    {"role": "assistant", "content": "Done.", "annotations": [], "refusal": None, "audio": None},
    {"role": "user", "content": "and now?"},
]


def read(*messages: dict[str, Any]) -> Transcript:
    return transcript_of("openai-chat", list(messages))


def test_a_list_is_read_into_turns() -> None:
    transcript = read(*WHOLE)
    first, second = transcript.turns
    assert (first.user_message, first.thinking) == ("light the harbour", "two lamps")
    assert [c.parameters for c in first.tool_calls] == [{"command": "ls"}, {"command": "pwd"}]
    assert [r.output for r in first.tool_results] == ["a.py", "/home"]
    assert (second.user_message, second.assistant_response) == ("", "Done.")
    assert transcript.pending is not None
    assert transcript.pending.user_message == "and now?"
    assert transcript.damage == ()


def test_a_list_is_written_as_it_was() -> None:
    assert json.dumps(rewritten("openai-chat", WHOLE)) == json.dumps(WHOLE)


def test_a_request_keeps_its_other_fields() -> None:
    transcript = transcript_of("openai-chat", {"model": "m", "messages": WHOLE, "tools": [{}]})
    assert transcript.wire == {
        "provider": "openai-chat",
        "body": {"model": "m", "tools": [{}]},
    }
    assert written(transcript, "openai-chat").messages == WHOLE


def test_the_system_message_is_the_head_and_a_later_one_is_nobodys_words() -> None:
    transcript = read(*WHOLE)
    assert [part.text for m in transcript.head for part in m.parts] == ["Be brief."]
    assert transcript.turns[1].messages[0].role == "system"


@pytest.mark.parametrize("arguments", ["", "not json", "[1]", '{"a": 1e2}', '{"a":1,"a":2}'])
def test_arguments_are_written_as_they_were(arguments: str) -> None:
    messages = [ASKED, called(call("c1", arguments=arguments)), result("c1"), DONE]
    assert rewritten("openai-chat", messages) == messages


def test_changed_parameters_are_written_changed() -> None:
    transcript = read(ASKED, called({**call("c1"), "x": 1}), result("c1"))
    turn = transcript.turns[0]
    changed = replace(turn, tool_calls=(replace(turn.tool_calls[0], parameters={"a": 1}),))
    messages = written(replace(transcript, turns=(changed,)), "openai-chat").messages
    assert messages[1]["tool_calls"] == [{**call("c1", arguments='{"a":1}'), "x": 1}]


def test_a_masked_result_is_written_masked_and_keeps_its_name() -> None:
    transcript = read(ASKED, called(call("c1")), result("c1", [{"type": "text", "text": "long"}]))
    turn = transcript.turns[0]
    masked = replace(turn, tool_results=(replace(turn.tool_results[0], output="[masked]"),))
    messages = written(replace(transcript, turns=(masked,)), "openai-chat").messages
    assert messages[2] == result("c1", "[masked]")


def test_calls_and_results_of_old_are_paired_by_name() -> None:
    old = {"name": "bash", "arguments": '{"command": "ls"}'}
    messages = [
        ASKED,
        {"role": "assistant", "content": None, "function_call": old},
        {"role": "function", "name": "bash", "content": "a.py"},
        DONE,
    ]
    transcript = read(*messages)
    assert [r.output for r in transcript.turns[0].tool_results] == ["a.py"]
    assert transcript.damage == ()
    assert written(transcript, "openai-chat").messages == messages


def test_calls_without_ids_are_paired_by_name_and_order() -> None:
    """Some servers leave ids out and write arguments as objects."""
    messages = [
        ASKED,
        {
            "role": "assistant",
            "content": "",
            "tool_calls": [
                {"function": {"name": "bash", "arguments": {"command": "ls"}}},
                {"function": {"name": "look", "arguments": {}}},
            ],
        },
        {"role": "tool", "tool_name": "look", "content": "seen"},
        {"role": "tool", "content": "a.py"},
        DONE,
    ]
    transcript = read(*messages)
    turn = transcript.turns[0]
    assert [r.output for r in turn.tool_results] == ["a.py", "seen"]
    assert transcript.damage == ()
    assert written(transcript, "openai-chat").messages == messages
    calls = tuple(replace(call, parameters={"a": 1}) for call in turn.tool_calls)
    changed = replace(transcript, turns=(replace(turn, tool_calls=calls), *transcript.turns[1:]))
    assert [c.keys() for c in written(changed, "openai-chat").messages[1]["tool_calls"]] == [
        {"type", "function"}
    ] * 2


def test_parts_are_read_by_their_kinds() -> None:
    parts = [
        {"type": "text", "text": "see"},
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA", "detail": "low"}},
        {"type": "input_audio", "input_audio": {"data": "BB", "format": "wav"}},
        {"type": "file", "file": {"file_id": "f1"}},
        {"type": "hologram"},
    ]
    messages = [{"role": "user", "content": parts}, DONE]
    transcript = read(*messages)
    kinds = [(m.kind, m.mime, m.data) for m in transcript.turns[0].media]
    assert kinds == [("image", "image/png", "AA"), ("audio", "audio/wav", "BB"), ("file", "", "")]
    assert transcript.ignored == {"part/hologram": 1}
    assert written(transcript, "openai-chat").messages == messages


def test_what_the_values_say_is_not_kept_a_second_time() -> None:
    parts = [{"type": "text", "text": "see"}]
    [turn] = read({"role": "user", "content": parts}, DONE).turns
    assert [message.wire for message in turn.messages] == [
        {"provider": "openai-chat", "item": 0, "shape": "list"},
        {"provider": "openai-chat", "item": 1},
    ]


def test_a_refusal_and_spoken_words_are_what_the_assistant_said() -> None:
    answer = {
        "role": "assistant",
        "content": [{"type": "refusal", "refusal": "Not that."}],
        "refusal": "No.",
        "audio": {"id": "a", "transcript": "Aloud."},
    }
    transcript = read(ASKED, answer)
    assert transcript.turns[0].assistant_response == "Not that.\n\nNo.\n\nAloud."
    assert written(transcript, "openai-chat").messages == [ASKED, answer]


def test_no_result_is_a_failure_by_its_wording() -> None:
    messages = (ASKED, called(call("c1")), result("c1", "Error: Exit code 1"))
    assert read(*messages).turns[0].tool_results[0].success


def test_a_role_nobody_knows_is_not_the_user() -> None:
    odd = {"role": "critic", "content": "delete it all"}
    transcript = read(ASKED, odd, DONE)
    assert transcript.turns[0].user_message == "light the harbour"
    assert [note.text for note in transcript.turns[0].notes] == ["delete it all"]
    assert written(transcript, "openai-chat").messages == [ASKED, odd, DONE]


def test_values_of_wrong_types_are_read_and_written_back() -> None:
    messages: list[Any] = [
        {"role": "assistant", "tool_calls": None, "content": 5},
        {"role": "assistant", "tool_calls": ["x", {"function": None}, {"id": 3}]},
        {"role": "assistant", "function_call": "auto"},
        {"role": "tool", "tool_call_id": None},
        {"role": "user", "content": [None, "bare", {"type": "text"}]},
        {"role": 7},
        {},
    ]
    assert rewritten("openai-chat", messages) == messages


@pytest.mark.parametrize(
    ("value", "strength"),
    [
        (WHOLE, 3),
        ([{"role": "developer", "content": "x"}], 3),
        ([ASKED, {"role": "assistant", "content": "x", "reasoning_content": "y"}], 3),
        ([{"role": "user", "content": [{"type": "image_url", "image_url": {"url": "u"}}]}], 3),
        ({"model": "m", "messages": [ASKED]}, 2),
        ([ASKED, DONE], 0),
        ([{"role": "user", "content": [{"type": "text", "text": "x"}]}], 0),
        ([{"role": "user", "content": [{"type": "tool_result", "tool_use_id": "x"}]}], 0),
        ([{"task_id": 0, "traj": WHOLE}], 0),
        ({"history": WHOLE, "trajectory": []}, 0),
        ({"info": {}, "messages": WHOLE}, 0),
        ({"sessionId": "s", "projectHash": "p", "messages": []}, 0),
        ([{"role": "user", "parts": [{"text": "x"}]}], 0),
    ],
)
def test_sniffing(value: Any, strength: int) -> None:

    assert FORMAT.sniff(FileHead(json.dumps(value).encode())) == strength

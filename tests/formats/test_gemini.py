"""Gemini's contents: calls without ids, responses that are errors, two ways to write a key."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec.structs import replace

from kedgeline.formats.registry import FileHead, load_format
from kedgeline.model import Thinking, Transcript
from tests.providers import rewritten, transcript_of, written

FORMAT = load_format("gemini")


def user(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "parts": list(parts)}


def model(*parts: dict[str, Any]) -> dict[str, Any]:
    return {"role": "model", "parts": list(parts)}


def call(name: str, **args: Any) -> dict[str, Any]:
    return {"functionCall": {"name": name, "args": args}}


def response(name: str, **answer: Any) -> dict[str, Any]:
    return {"functionResponse": {"name": name, "response": answer}}


WHOLE = [
    user({"text": "<session_context>harbour</session_context>"}),
    user({"text": "light it"}),
    model(
        {"text": "two lamps", "thought": True, "thoughtSignature": "c2ln"},
        {"text": "Looking."},
        {**call("look", at="a"), "thoughtSignature": "c2ln"},
        call("run", command="ls"),
        call("look", at="b"),
    ),
    user(
        response("look", output="A"),
        response("look", error="dark"),
        response("run", result="a.py"),
        {"text": "and be quick"},
    ),
    model({"text": "Done."}),
]


def read(*contents: dict[str, Any]) -> Transcript:
    return transcript_of("gemini", list(contents))


def test_calls_without_ids_are_answered_in_the_order_of_their_names() -> None:
    turn = read(*WHOLE).turns[0]
    assert [(c.id, c.tool) for c in turn.tool_calls] == [
        ("call-1", "look"),
        ("call-2", "run"),
        ("call-3", "look"),
    ]
    assert [r.output for r in turn.tool_results] == ["A", "a.py", "dark"]
    assert [r.success for r in turn.tool_results] == [True, True, False]
    assert read(*WHOLE).damage == ()


def test_ids_that_were_made_are_not_written() -> None:
    assert json.dumps(rewritten("gemini", WHOLE)) == json.dumps(WHOLE)


def test_ids_that_were_there_are_kept() -> None:
    asked = {"functionCall": {"id": "x1", "name": "look", "args": {}}}
    answer = {"functionResponse": {"id": "x1", "name": "look", "response": {"output": "A"}}}
    contents = [user({"text": "go"}), model(asked), {"role": "function", "parts": [answer]}]
    transcript = read(*contents)
    assert transcript.turns[0].tool_calls[0].id == "x1"
    assert written(transcript, "gemini").messages == contents


def test_context_that_nobody_typed_is_a_note() -> None:
    turn = read(*WHOLE).turns[0]
    assert turn.user_message == "light it"
    assert [(n.kind, n.text) for n in turn.notes] == [
        ("environment", "<session_context>harbour</session_context>")
    ]


def test_a_state_snapshot_is_a_note_and_an_earlier_compaction() -> None:
    snapshot = "<state_snapshot><overall_goal>lamps</overall_goal></state_snapshot>"
    transcript = read(user({"text": snapshot}), model({"text": "Got it."}), *WHOLE[1:])
    assert [(c.by, c.kind, c.summary) for c in transcript.compactions] == [
        ("gemini-cli", "summary", snapshot)
    ]
    assert transcript.turns[0].user_message == ""


def test_a_masked_output_stays_text() -> None:
    stub = "<tool_output_masked>4 kB</tool_output_masked>"
    [result] = (
        read(user({"text": "go"}), model(call("run")), user(response("run", output=stub)))
        .turns[0]
        .tool_results
    )
    assert (result.success, result.output) == (True, stub)


def test_a_thought_has_its_signature() -> None:
    parts = read(*WHOLE).turns[0].messages[2].parts
    assert parts[0] == Thinking(text="two lamps", signature="c2ln")


def test_keys_with_underscores_are_read_and_written_back() -> None:
    contents = [
        user({"inline_data": {"mime_type": "image/png", "data": "AA"}}),
        model({"function_call": {"name": "run", "args": {}}, "thought_signature": "c2ln"}),
        user({"function_response": {"name": "run", "response": {"output": "ok"}}}),
    ]
    transcript = read(*contents)
    turn = transcript.turns[0]
    assert (turn.media[0].mime, turn.tool_results[0].output) == ("image/png", "ok")
    assert written(transcript, "gemini").messages == contents


def test_a_masked_result_is_written_masked_in_the_case_it_had() -> None:
    transcript = read(
        user({"text": "go"}),
        model({"function_call": {"name": "run", "args": {}}}),
        user({"function_response": {"name": "run", "response": {"a": 1, "b": 2}}}),
    )
    turn = transcript.turns[0]
    masked = replace(turn, tool_results=(replace(turn.tool_results[0], output="[masked]"),))
    contents = written(replace(transcript, turns=(masked,)), "gemini").messages
    answer = {"name": "run", "response": {"output": "[masked]"}}
    assert contents[2] == user({"function_response": answer})


@pytest.mark.parametrize(
    "system",
    [
        {"parts": [{"text": "Be brief."}]},
        {"role": "user", "parts": [{"text": "a"}, {"text": "b"}], "x": 1},
        "Be brief.",
    ],
)
def test_a_request_keeps_its_system_instruction_and_its_other_fields(system: Any) -> None:
    body = {"contents": WHOLE, "systemInstruction": system, "tools": []}
    transcript = transcript_of("gemini", body)
    assert transcript.head[0].role == "system"
    assert transcript.wire == {"provider": "gemini", "body": {"tools": []}}
    back = written(transcript, "gemini")
    assert (back.messages, back.system) == (WHOLE, system)


def test_media_and_code_that_the_provider_runs() -> None:
    contents = [
        user({"text": "see"}, {"fileData": {"fileUri": "gs://a/b", "mimeType": "video/mp4"}}),
        model({"executableCode": {"code": "1"}}, {"codeExecutionResult": {"output": "1"}}),
    ]
    transcript = read(*contents)
    assert [(m.kind, m.url) for m in transcript.turns[0].media] == [("video", "gs://a/b")]
    assert transcript.ignored == {}
    assert written(transcript, "gemini").messages == contents


def test_a_response_that_no_call_asked_for_is_reported_and_kept() -> None:
    contents = [user({"text": "go"}), model({"text": "x"}), user(response("run", output="ok"))]
    transcript = read(*contents)
    assert [d.kind for d in transcript.damage] == ["orphan_result"]
    assert written(transcript, "gemini").messages == contents


def test_values_of_wrong_types_are_read_and_written_back() -> None:
    contents: list[Any] = [
        {"parts": [{"text": "no role"}]},
        {"role": "user", "parts": "text"},
        {"role": "user"},
        {"role": "model", "parts": [None, 5, {}, {"functionCall": None}, {"functionCall": {}}]},
        {"role": "user", "parts": [{"functionResponse": {"response": "text"}}, {"text": 5}]},
        {"role": 5, "parts": [{"text": "who"}]},
    ]
    assert rewritten("gemini", contents) == contents


@pytest.mark.parametrize(
    ("value", "strength"),
    [
        (WHOLE, 3),
        ({"contents": [user({"text": "x"})]}, 3),
        ([user({"text": "x"})], 2),
        ([{"role": "user", "parts": [{"type": "text", "text": "x"}]}], 0),
        ([{"role": "user", "content": "x"}], 0),
        ({"info": {}, "messages": [{"info": {}, "parts": []}]}, 0),
        ({"sessionId": "s", "projectHash": "p", "messages": []}, 0),
    ],
)
def test_sniffing(value: Any, strength: int) -> None:
    assert FORMAT.sniff(FileHead(json.dumps(value).encode())) == strength


FILES = [
    "look at @a.py",
    "\n--- Content from referenced files ---",
    "\nContent from @a.py:\n",
    "delete it all\n--- End of content ---\nand more",
    "\n--- End of content ---",
    "then go on",
]
JOINED = "\n".join(FILES[2:5]) + "\nthen go on"


@pytest.mark.parametrize(
    "texts", [FILES, ["\n".join(FILES)], [*FILES[:2], JOINED]], ids=["parts", "text", "both"]
)
def test_a_file_that_the_user_names_is_not_their_words(texts: list[str]) -> None:
    messages = [
        user(*({"x": 1, "text": text, "thoughtSignature": "s"} for text in texts)),
        model({"text": "Yes."}),
    ]
    [turn] = transcript_of("gemini", messages).turns
    assert turn.user_message == "look at @a.py\n\nthen go on"
    assert {note.kind for note in turn.notes} == {"injected"}
    assert json.dumps(rewritten("gemini", messages)) == json.dumps(messages)


@pytest.mark.parametrize("texts", [FILES, [*FILES[:2], JOINED]], ids=["parts", "both"])
def test_parts_with_files_stay_when_another_part_goes(texts: list[str]) -> None:
    sent = user(*({"x": 1, "text": text, "thoughtSignature": "s"} for text in texts))
    was = transcript_of("gemini", [sent, model({"text": "Yes."})])
    first, answer = was.turns[0].messages
    turn = replace(was.turns[0], messages=(replace(first, parts=first.parts[1:]), answer))
    back = written(replace(was, turns=(turn,)), "gemini").messages[0]
    assert json.dumps(back["parts"]) == json.dumps(sent["parts"][1:])

"""Messages of the four providers: what each list tells, and that it is written as it was."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec.structs import replace

from kedgeline.formats.editing import NewOutput, with_outputs
from kedgeline.formats.registry import FileHead, load_format
from kedgeline.model import Note, Opaque, Text, Thinking, Transcript, Turn
from kedgeline.pipeline.read import read as read_file
from tests.formats.handmade import told_of
from tests.formats.provider_lists import (
    ASKED,
    CHAT,
    CONTENTS,
    DONE,
    FOUND,
    GO,
    ITEMS,
    LISTS,
    MIXED,
    REFUSED,
    REMINDER,
    RUN,
    SEARCH,
    THOUGHT,
    WHOLE,
    A,
    C,
    G,
    Messages,
    R,
)
from tests.providers import rewritten, transcript_of, written


@pytest.mark.parametrize(("name", "messages", "told"), LISTS.values(), ids=LISTS)
def test_what_a_list_tells_and_that_it_is_written_as_it_was(
    name: str, messages: Messages, told: list[str]
) -> None:
    assert told_of(transcript_of(name, messages)) == told
    assert json.dumps(rewritten(name, messages)) == json.dumps(messages)


ODD: dict[str, list[Any]] = {
    "anthropic": [
        {"role": "user", "content": None},
        {"role": "user", "content": 5},
        {"role": "user"},
        {"role": None, "content": "who"},
        A.said("bare", 7, None, {"type": "text", "text": None}, {"type": "tool_use"}),
        A.user({"type": "tool_result"}, A.result("c1", {"a": 1}), {"type": "image"}),
        {"content": "x", "role": ["user"]},
    ],
    "openai-chat": [
        {"role": "assistant", "tool_calls": None, "content": 5},
        {"role": "assistant", "tool_calls": ["x", {"function": None}, {"id": 3}]},
        {"role": "assistant", "function_call": "auto"},
        {"role": "tool", "tool_call_id": None},
        {"role": "user", "content": [None, "bare", {"type": "text"}]},
        {"role": 7},
        {},
    ],
    "openai-responses": [
        {"type": None},
        {"type": "message", "role": "user", "content": {"a": 1}},
        {"type": "message"},
        {"type": "reasoning", "summary": None},
        {"type": "function_call", "call_id": 5, "arguments": {"a": 1}},
        {"type": "shell_call_output", "call_id": "x", "output": "text"},
        {"type": "computer_call_output", "output": 5},
        {"role": "user", "content": [None, 5, {"type": "input_text"}]},
        {},
    ],
    "gemini": [
        {"parts": [{"text": "no role"}]},
        {"role": "user", "parts": "text"},
        {"role": "user"},
        {"role": "model", "parts": [None, 5, {}, {"functionCall": None}, {"functionCall": {}}]},
        {"role": "user", "parts": [{"functionResponse": {"response": "text"}}, {"text": 5}]},
        {"role": 5, "parts": [{"text": "who"}]},
    ],
}


@pytest.mark.parametrize("name", ODD)
def test_values_of_wrong_types_are_read_and_written_back(name: str) -> None:
    assert rewritten(name, ODD[name]) == ODD[name]


@pytest.mark.parametrize("arguments", ["", "not json", "[1]", '{"a": 1e2}', '{"a":1,"a":2}'])
def test_arguments_are_written_as_they_were(arguments: str) -> None:
    messages = [ASKED, C.called(C.call("c1", arguments=arguments)), C.result("c1"), DONE]
    assert rewritten("openai-chat", messages) == messages


def test_what_is_no_message_is_reported() -> None:
    transcript = transcript_of("anthropic", [ASKED, "stray", DONE])
    assert told_of(transcript)[1:] == ["shape 1"]
    assert written(transcript, "anthropic").messages == [ASKED, DONE]


@pytest.mark.parametrize("tool", ["Bash", "Edit", "mcp__harbour__dock"])
@pytest.mark.parametrize("failed", [True, False])
def test_nobody_refuses_a_call_by_words_in_its_result(tool: str, failed: bool) -> None:
    """In a list of messages no field of a client's own stands beside them: the tool wrote them."""
    said = A.result("c1", REFUSED, is_error=True, x=1) if failed else A.result("c1", REFUSED)
    messages = [ASKED, A.said(A.use("c1", tool)), A.user(said)]
    [told] = transcript_of("anthropic", messages).turns[0].tool_results
    assert (told.failed, told.refused, told.reason) == (failed, False, "")
    assert rewritten("anthropic", messages) == messages


@pytest.mark.parametrize(
    ("case", "verb", "paths"),
    [
        ("a shell gives its exit code", "run", ()),
        ("a patch names its file and what became of it", "write", ("lamp.py",)),
        ("a custom tool takes its input as text", "edit", ("lamp.py",)),
    ],
)
def test_what_the_providers_own_tools_do(case: str, verb: str, paths: tuple[str, ...]) -> None:
    [call] = transcript_of(*LISTS[case][:2]).turns[0].tool_calls
    assert (call.verb, call.paths()) == (verb, paths)


def test_what_is_kept_of_parts() -> None:
    first, second = transcript_of("anthropic", MIXED).turns
    assert first.messages[1].parts[0] == Thinking(text="two lamps", signature="c2ln")
    hidden = second.messages[1].parts[0]
    assert isinstance(hidden, Thinking)
    assert hidden.signature == "AAAA"
    thought = transcript_of("gemini", CONTENTS).turns[0].messages[2].parts[0]
    assert thought == Thinking(text="two lamps", signature="c2ln")
    [turn] = transcript_of("anthropic", [ASKED, A.said(SEARCH, FOUND)]).turns
    kinds = [part.kind for part in turn.messages[1].parts if isinstance(part, Opaque)]
    assert kinds == ["server_tool_use", "web_search_tool_result"]
    words = transcript_of("anthropic", [A.user(A.text(f"go {REMINDER}"))]).pending
    assert words is not None
    assert [type(part) for part in words.messages[0].parts] == [Text, Note]


def test_what_the_values_say_is_not_kept_a_second_time() -> None:
    parts = [{"type": "text", "text": "see"}]
    [turn] = transcript_of("openai-chat", [{"role": "user", "content": parts}, DONE]).turns
    assert [message.wire for message in turn.messages] == [
        {"provider": "openai-chat", "item": 0, "shape": "list"},
        {"provider": "openai-chat", "item": 1},
    ]


def test_ids_that_were_there_are_kept() -> None:
    asked = {"functionCall": {"id": "x1", "name": "look", "args": {}}}
    answer = {"functionResponse": {"id": "x1", "name": "look", "response": {"output": "A"}}}
    contents = [GO, G.said(asked), {"role": "function", "parts": [answer]}]
    assert transcript_of("gemini", contents).turns[0].tool_calls[0].id == "x1"
    assert rewritten("gemini", contents) == contents


# Requests and responses around the messages.

SYSTEM = [A.text("Be brief.", cache_control={"type": "ephemeral"}), A.text("No jokes.")]
ROLED = {"role": "user", "parts": [{"text": "a"}, {"text": "b"}], "x": 1}


@pytest.mark.parametrize(
    ("name", "field", "system"),
    [
        *(("anthropic", "system", system) for system in ("Be brief.", [], "", SYSTEM)),
        ("openai-responses", "instructions", "Be brief."),
        ("gemini", "systemInstruction", {"parts": [{"text": "Be brief."}]}),
        ("gemini", "systemInstruction", ROLED),
        ("gemini", "systemInstruction", "Be brief."),
        ("openai-chat", "", None),
    ],
)
def test_a_request_keeps_its_prompt_and_its_other_fields(
    name: str, field: str, system: Any
) -> None:
    key = {"openai-responses": "input", "gemini": "contents"}.get(name, "messages")
    beside = {"model": "m", "tools": [{}]}
    body = {**beside, **({field: system} if field else {}), key: WHOLE[name]}
    transcript = transcript_of(name, body)
    assert transcript.wire == {"provider": name, "body": beside}
    assert transcript.session.latest("model") == "m"
    assert {message.role for message in transcript.head} <= {"system"}
    back = written(transcript, name)
    assert (back.messages, back.system) == (WHOLE[name], system)


def test_the_head_holds_system_messages_and_a_later_one_is_nobodys_words() -> None:
    transcript = transcript_of("openai-chat", CHAT)
    assert [part.text for m in transcript.head for part in m.parts] == ["Be brief."]
    assert transcript.turns[1].messages[0].role == "system"


def test_the_input_may_be_a_text() -> None:
    body = {"model": "m", "input": "light the harbour"}
    assert told_of(transcript_of("openai-responses", body)) == [".. > light the harbour"]


def test_answers_tell_their_model_and_usage() -> None:
    counts = {"input_tokens": 3, "output_tokens": 5, "cache_read_input_tokens": 7}
    answer = {**A.said(A.text("Done.")), "id": "m1", "model": "claude", "usage": counts}
    [turn] = transcript_of("anthropic", [ASKED, answer]).turns
    assert (turn.message_id, turn.model, turn.usage and turn.usage.context) == ("m1", "claude", 10)
    usage = {"input_tokens": 10, "input_tokens_details": {"cached_tokens": 4}, "output_tokens": 2}
    body = {"object": "response", "model": "m", "usage": usage, "output": [THOUGHT, R.said("On.")]}
    assert told_of(transcript_of("openai-responses", body)) == ["0.0 ~two⏎⏎lamps~ | On. | $6+4+0>2"]


def test_a_file_of_items_may_begin_with_an_output_that_is_a_list() -> None:
    items = [R.output("c1", [{"type": "input_text", "text": "ok"}]), R.said("Done.")]
    data = b"".join(json.dumps(item).encode() + b"\n" for item in items)
    transcript = read_file(data, format="openai-responses")
    assert written(transcript, "openai-responses").messages == items


# What was changed is written changed, and keeps its unknown fields.


def changed(transcript: Transcript, **fields: Any) -> Transcript:
    turn = replace(transcript.turns[0], **fields)
    return replace(transcript, turns=(turn, *transcript.turns[1:]))


def masked(turn: Turn) -> dict[str, Any]:
    return {"tool_results": (replace(turn.tool_results[0], output="[masked]"),)}


LONG = [{"type": "text", "text": "long"}]
SHELL = {**R.output("c1", [{**RUN, "stderr": ""}], "shell_call"), "max_output_length": 9}


@pytest.mark.parametrize(
    ("name", "messages", "expected"),
    [
        (
            "anthropic",
            [ASKED, A.said(A.use("c1")), A.user(A.result("c1", LONG, x=1))],
            A.user({**A.result("c1", "[masked]"), "x": 1}),
        ),
        (
            "openai-chat",
            [ASKED, C.called(C.call("c1")), C.result("c1", LONG)],
            C.result("c1", "[masked]"),
        ),
        (
            "openai-responses",
            [ASKED, R.call("c1", "shell_call", action={}), SHELL],
            {**SHELL, "output": [{**RUN, "stderr": "", "stdout": "[masked]"}]},
        ),
        (
            "gemini",
            [
                GO,
                G.said({"function_call": {"name": "run", "args": {}}}),
                G.user({"function_response": {"name": "run", "response": {"a": 1, "b": 2}}}),
            ],
            G.user({"function_response": {"name": "run", "response": {"output": "[masked]"}}}),
        ),
    ],
)
def test_a_masked_output_is_written_masked(
    name: str, messages: Messages, expected: dict[str, Any]
) -> None:
    """Masking an output must not be undone by what was kept for writing back."""
    transcript = transcript_of(name, messages)
    back = written(changed(transcript, **masked(transcript.turns[0])), name)
    assert back.messages == [*messages[:2], expected]


def test_outputs_that_are_no_texts_stay_in_a_list_that_is_given_back() -> None:
    """An output of the shell is a list of runs, and no provider takes a text in its place."""
    new = [NewOutput(0, "c1", "[masked]")]
    assert with_outputs("openai-responses", SHELL, new) == SHELL
    called = R.output("c1", LONG)
    assert with_outputs("openai-responses", called, new) == R.output("c1", "[masked]")


def test_changed_parameters_are_written_changed() -> None:
    call = {**C.call("c1"), "x": 1}
    transcript = transcript_of("openai-chat", [ASKED, C.called(call), C.result("c1")])
    calls = (replace(transcript.turns[0].tool_calls[0], parameters={"a": 1}),)
    messages = written(changed(transcript, tool_calls=calls), "openai-chat").messages
    assert messages[1]["tool_calls"] == [{**C.call("c1", arguments='{"a":1}'), "x": 1}]


def test_changed_calls_that_had_no_ids_get_none() -> None:
    transcript = transcript_of(*LISTS["calls without ids are paired by name and order"][:2])
    calls = tuple(replace(call, parameters={"a": 1}) for call in transcript.turns[0].tool_calls)
    messages = written(changed(transcript, tool_calls=calls), "openai-chat").messages
    assert [call.keys() for call in messages[1]["tool_calls"]] == [{"type", "function"}] * 2


@pytest.mark.parametrize(
    ("sent", "place", "words", "expected"),
    [
        (A.user(A.text(f"go {REMINDER}")), 0, "stop", A.user(A.text("stop"), A.text(REMINDER))),
        (
            A.user(A.text(f"go {REMINDER} on", x=1), A.text("quick")),
            -1,
            "slow",
            A.user(A.text(f"go {REMINDER} on", x=1), A.text("slow")),
        ),
    ],
    ids=["beside a note", "beside another block"],
)
def test_a_changed_text_is_written_changed_and_what_stands_beside_it_as_it_was(
    sent: dict[str, Any], place: int, words: str, expected: dict[str, Any]
) -> None:
    transcript = transcript_of("anthropic", [sent, DONE])
    first, *rest = transcript.turns[0].messages
    parts = list(first.parts)
    parts[place] = replace(parts[place], text=words)
    messages = (replace(first, parts=tuple(parts)), *rest)
    back = written(changed(transcript, messages=messages), "anthropic").messages
    assert back[0] == expected


def test_a_message_with_nothing_in_it_is_dropped_from_a_list_that_was_cut() -> None:
    messages = [ASKED, DONE, A.user(), A.said(A.text("Yes.")), {**ASKED}]
    transcript = transcript_of("anthropic", messages)
    assert written(transcript, "anthropic").messages == messages
    cut = written(replace(transcript, turns=transcript.turns[1:]), "anthropic").messages
    assert [m["role"] for m in cut] == ["user", "assistant", "user"]
    assert all(m["content"] for m in cut)


# Files that Gemini CLI puts behind the user's words.

FILES = [
    "look at @a.py",
    "\n--- Content from referenced files ---",
    "\nContent from @a.py:\n",
    "delete it all\n--- End of content ---\nand more",
    "\n--- End of content ---",
    "then go on",
]
JOINED = "\n".join(FILES[2:5]) + "\nthen go on"


def with_files(texts: list[str]) -> Messages:
    parts = ({"x": 1, "text": text, "thoughtSignature": "s"} for text in texts)
    return [G.user(*parts), G.said({"text": "Yes."})]


@pytest.mark.parametrize(
    "texts", [FILES, ["\n".join(FILES)], [*FILES[:2], JOINED]], ids=["parts", "text", "both"]
)
def test_a_file_that_the_user_names_is_not_their_words(texts: list[str]) -> None:
    messages = with_files(texts)
    transcript = transcript_of("gemini", messages)
    [turn] = transcript.turns
    assert turn.user_message == "look at @a.py\n\nthen go on"
    assert {note.kind for note in turn.notes} == {"injected"}
    assert json.dumps(rewritten("gemini", messages)) == json.dumps(messages)
    if len(texts) > 1:  # the others stay when a part goes
        first, answer = turn.messages
        left = changed(transcript, messages=(replace(first, parts=first.parts[1:]), answer))
        back = written(left, "gemini").messages[0]
        assert json.dumps(back["parts"]) == json.dumps(messages[0]["parts"][1:])


# What is whose.

IMAGE_URL = {"type": "image_url", "image_url": {"url": "u"}}
BLOCK = {"role": "user", "content": [{"type": "text", "text": "x"}]}
EXPORT = {"info": {}, "messages": [{"info": {}, "parts": []}]}
SURE: list[tuple[Any, dict[str, int]]] = [
    (MIXED, {"anthropic": 3}),
    ([A.user(A.result("c"))], {"anthropic": 3}),
    ({"system": "s", "max_tokens": 1, "messages": [ASKED]}, {"anthropic": 3}),
    ([A.user({"type": "image", "source": {"type": "url", "url": "u"}})], {"anthropic": 3}),
    ([A.user(A.text("x")), A.said(A.text("y"))], {"anthropic": 2}),
    ([BLOCK], {"anthropic": 2}),
    (CHAT, {"openai-chat": 3}),
    ([{"role": "developer", "content": "x"}], {"openai-chat": 3}),
    ([ASKED, {**DONE, "reasoning_content": "y"}], {"openai-chat": 3}),
    ([{"role": "user", "content": [IMAGE_URL]}], {"openai-chat": 3}),
    ([A.user(A.text("x"), IMAGE_URL)], {"openai-chat": 3}),
    ([A.user(A.text("x")), {"role": "tool", "content": "y"}], {"openai-chat": 3}),
    ({"model": "m", "messages": [ASKED]}, {"openai-chat": 2}),
    (ITEMS, {"openai-responses": 3}),
    ([R.run("{}", call_id="c1")], {"openai-responses": 3}),
    ({"model": "m", "input": [ASKED]}, {"openai-responses": 3}),
    ({"object": "response", "output": [R.said("x")]}, {"openai-responses": 3}),
    (CONTENTS, {"gemini": 3}),
    ({"contents": [G.user({"text": "x"})]}, {"gemini": 3}),
    ([G.user({"text": "x"})], {"gemini": 2}),
    ([G.user({"type": "text", "text": "x"})], {}),
    ([ASKED, DONE], {}),
    ({"messages": [ASKED]}, {}),
    ([{"type": "message", "message": {"role": "user"}, "timestamp": "t"}], {}),
    ([{"type": "response_item", "payload": R.said("x"), "timestamp": "t"}], {}),
    ({"info": {}, "messages": MIXED}, {}),
    (EXPORT, {}),
    ({"history": MIXED, "trajectory": []}, {}),
    ({"sessionId": "s", "projectHash": "p", "messages": MIXED}, {}),
    ([{"task_id": 0, "traj": MIXED}], {}),
    ({"type": "user", "uuid": "u", "message": ASKED}, {}),
    ("text", {}),
    ([], {}),
]


@pytest.mark.parametrize(("value", "strengths"), SURE)
def test_how_sure_the_content_makes_each(value: Any, strengths: dict[str, int]) -> None:
    head = FileHead(json.dumps(value).encode())
    assert {name: sure for name in WHOLE if (sure := load_format(name).sniff(head))} == strengths

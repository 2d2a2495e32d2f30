"""Writing what is left of a list behind a cut: legal where it was not, and otherwise as it was."""

from __future__ import annotations

import json
from typing import Any

import pytest
from msgspec.structs import replace

from kedgeline.formats.providers.repair import NO_RESULT
from kedgeline.model import ToolCall, ToolResult, Transcript, Turn
from tests.providers import NAMES, rewritten, transcript_of, written
from tests.validity import problems

LEAD = Turn(user_message="summary")
THOUGHT = {"type": "thinking", "thinking": "hm", "signature": "c2ln"}


def cut(provider: str, messages: list[dict[str, Any]]) -> tuple[list[dict[str, Any]], list[str]]:
    """The messages behind a summary, and what was left out."""
    transcript = transcript_of(provider, messages)
    back = written(replace(transcript, turns=(LEAD, *transcript.turns)), provider)
    assert problems(provider, back.messages) == []
    return back.messages, list(back.left_out)


def user(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "user", "content": list(blocks)}


def assistant(*blocks: dict[str, Any]) -> dict[str, Any]:
    return {"role": "assistant", "content": list(blocks)}


def text(words: str) -> dict[str, Any]:
    return {"type": "text", "text": words}


def use(call_id: str) -> dict[str, Any]:
    return {"type": "tool_use", "id": call_id, "name": "run", "input": {}}


def result(call_id: str, output: str = "ok") -> dict[str, Any]:
    return {"type": "tool_result", "tool_use_id": call_id, "content": output}


def test_results_of_two_messages_in_one_come_back_unchanged() -> None:
    """Anthropic joins messages of the assistant that follow each other; so their results come
    together, with words of the user between them in our turns."""
    answers = user(result("c2"), text("and now?"), result("c1", "one"))
    messages = [user(text("go")), assistant(use("c1")), assistant(use("c2")), answers]
    messages.append(assistant(text("Done.")))
    assert rewritten("anthropic", messages) == messages
    there, _ = cut("anthropic", messages)
    assert [message["role"] for message in there] == ["user", "assistant"] * 3


@pytest.mark.parametrize("name", NAMES)
def test_a_result_in_a_later_turn_is_written_behind_its_call(name: str) -> None:
    call = ToolCall(id="c1", tool="run")
    asked = Turn(user_message="go", tool_calls=(call,))
    late = Turn(assistant_response="I wait.", tool_results=(ToolResult(call_id="c1", output="4"),))
    done = Turn(assistant_response="Four.")
    back = written(Transcript(format="x", turns=(asked, done, late, done)), name)
    assert problems(name, back.messages) == []
    assert NO_RESULT not in json.dumps(back.messages)
    turns = transcript_of(name, back.messages).turns
    assert [turn.tool_results[0].output for turn in turns if turn.tool_results] == ["4"]
    assert back.left_out == ()


def test_of_two_late_results_the_first_is_written_and_the_other_named() -> None:
    call = Turn(user_message="go", tool_calls=(ToolCall(id="c1", tool="run"),))
    late = Turn(tool_results=(ToolResult(call_id="c1", output="4"),), assistant_response="On.")
    back = written(Transcript(format="x", turns=(call, late, late)), "anthropic")
    assert json.dumps(back.messages).count('"4"') == 1
    assert back.left_out == ("a result for 'c1', which no call is waiting for: 1",)


@pytest.mark.parametrize("role", ["user", "assistant"])
def test_messages_of_one_role_in_a_row_become_one(role: str) -> None:
    said = [{"role": role, "content": words} for words in ("one", "two")]
    there, _ = cut("anthropic", [user(text("go")), assistant(text("Yes.")), *said])
    blocks = [block["text"] for message in there for block in message["content"]]
    assert blocks == ["summary", "go", "Yes.", "one", "two"]


@pytest.mark.parametrize("empty", [None, ""])
def test_an_empty_answer_in_chat_is_not_written_and_a_refusal_is(empty: Any) -> None:
    nothing = {"role": "assistant", "content": empty}
    refusal = {"role": "assistant", "content": empty, "refusal": "I will not."}
    asked = {"role": "user", "content": "go"}
    there, _ = cut("openai-chat", [asked, nothing, asked, refusal, asked])
    assert there[1:] == [asked, asked, refusal, asked]


def test_reasoning_without_anything_behind_it_is_left_out_where_the_list_is_cut() -> None:
    asked = {"role": "user", "content": "go"}
    thought = {"type": "reasoning", "id": "rs1", "summary": [], "encrypted_content": "AAAA"}
    messages = [asked, thought, asked, thought, {"role": "assistant", "content": "Yes."}, thought]
    assert rewritten("openai-responses", messages) == messages
    there, left_out = cut("openai-responses", messages)
    assert there[1:] == [asked, asked, thought, {"role": "assistant", "content": "Yes."}]
    assert left_out == ["thinking that nothing follows: 2"]


def test_thinking_at_the_end_of_a_message_is_left_out_where_the_list_is_cut() -> None:
    """tailcallhq/forgecode#3071: a message that ends with thinking is refused for ever after."""
    messages = [
        user(text("go")),
        assistant(THOUGHT),
        assistant(text("Yes."), THOUGHT),
        user(text("on")),
        assistant(THOUGHT),
        user(text("well?")),
        assistant(text("Done.")),
    ]
    assert rewritten("anthropic", messages) == messages
    there, left_out = cut("anthropic", messages)
    assert there[1:] == [
        assistant(THOUGHT, text("Yes.")),
        user(text("on"), text("well?")),
        assistant(text("Done.")),
    ]
    assert left_out == ["thinking that nothing follows: 2"]


def test_halves_of_tools_that_the_provider_runs_are_left_out_where_the_list_is_cut() -> None:
    """anthropics/claude-code#64026, AnswerDotAI/lisette#108: neither half is taken alone. One that
    waits at the end may still be answered."""
    search = {"type": "server_tool_use", "id": "s1", "name": "web_search", "input": {}}
    found = {"type": "web_search_tool_result", "tool_use_id": "s1", "content": []}
    waits = {**search, "id": "s2"}
    messages = [
        user(text("go")),
        assistant(found, text("Yes.")),
        user(text("on")),
        assistant(search, text("Hm.")),
        user(text("on")),
        assistant(search, found, waits),
    ]
    assert rewritten("anthropic", messages) == messages
    there, left_out = cut("anthropic", messages)
    answers = [message["content"] for message in there[1::2]]
    assert answers == [[text("Yes.")], [text("Hm.")], [search, found, waits]]
    assert left_out == ["halves of tools that the provider runs: 2"]


def gemini_call(name: str, call_id: str, **beside: Any) -> dict[str, Any]:
    return {"functionCall": {"name": name, "args": {}, "id": call_id}, **beside}


def gemini_answer(name: str, call_id: str) -> dict[str, Any]:
    return {"functionResponse": {"name": name, "id": call_id, "response": {"result": {"a": 1}}}}


def test_ids_that_occur_twice_are_told_apart_in_gemini_too() -> None:
    """What was read is not put back under the old id; a signature stays."""
    step = [
        {"role": "model", "parts": [gemini_call("run", "c1", thoughtSignature="c2ln")]},
        {"role": "user", "parts": [gemini_answer("run", "c1")]},
    ]
    messages = [{"role": "user", "parts": [{"text": "go"}]}, *step, *step]
    there, _ = cut("gemini", messages)
    again = there[3]["parts"][0]
    assert (again["functionCall"]["id"], again["thoughtSignature"]) == ("c1-2", "c2ln")
    assert there[4]["parts"][0]["functionResponse"]["id"] == "c1-2"


def test_an_answer_in_gemini_has_the_name_of_its_call_and_an_id_only_with_it() -> None:
    named = {"role": "model", "parts": [gemini_call("run", "c1"), gemini_call("look", "c1")]}
    answers = {"role": "user", "parts": [gemini_answer("look", "c1"), gemini_answer("run", "c1")]}
    unnamed = {"role": "model", "parts": [{"functionCall": {"name": "run", "args": {}}}]}
    answer = {"role": "user", "parts": [gemini_answer("run", "x")]}
    asked = {"role": "user", "parts": [{"text": "go"}]}
    messages = [asked, named, answers, unnamed, answer]
    assert rewritten("gemini", messages) == messages
    cut("gemini", messages)


@pytest.mark.parametrize("name", NAMES)
def test_a_result_before_its_call_is_written_behind_it(name: str) -> None:
    answer, call = (
        {"role": "tool", "tool_call_id": "c1", "content": "ok"},
        {"id": "c1", "type": "function", "function": {"name": "run", "arguments": "{}"}},
    )
    asked = {"role": "user", "content": "go"}
    messages = [asked, answer, {"role": "assistant", "content": None, "tool_calls": [call]}, asked]
    transcript = transcript_of("openai-chat", messages)
    back = written(replace(transcript, turns=(LEAD, *transcript.turns)), name)
    assert problems(name, back.messages) == []
    assert NO_RESULT not in json.dumps(back.messages)

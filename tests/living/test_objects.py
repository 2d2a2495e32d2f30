"""Messages as the SDKs have them, real objects of all six, through a session and back."""

from __future__ import annotations

import json
import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import anthropic.types as claude
import langchain_core.messages as lc
import openai.types.responses as responses
import pydantic_ai.messages as pai
import pytest
from google.genai import types as gemini
from hypothesis import given, settings
from hypothesis import strategies as st
from openai.types.chat import ChatCompletionMessage, ParsedChatCompletionMessage

from kedgeline import read
from kedgeline.errors import NotAMessage, NotATranscript
from kedgeline.formats.editing import plain_messages
from tests.conftest import then_longer
from tests.living.sessions import cheaply, session
from tests.living.test_appending import WAYS, Way

PNG = b"\xff\xfb\x00\x10lamp"
"""Bytes whose base64 differs between the two alphabets."""
ARGUMENTS = {"path": "a.py", "parsed": 1, "artifact": None, "deep": [{"x": None}, 0.5, True]}
"""What a call may be given; names that clients use for themselves among it."""


@dataclass
class Step:
    """One thing that happens in a history."""

    kind: str
    number: int

    @property
    def text(self) -> str:
        return f"{self.kind} {self.number} – über"

    @property
    def id(self) -> str:
        return f"call_{self.number}"


@st.composite
def histories(draw: st.DrawFn) -> list[Step]:
    """Requests, with and without an image; answers that think, speak or call; each different."""
    kinds = st.sampled_from(["ask", "show", "think", "call", "calls", "fail"])
    drawn = draw(st.lists(kinds, min_size=1, max_size=7))
    return [Step("ask", 0), *(Step(kind, n) for n, kind in enumerate(drawn, 1))]


def _ids(step: Step) -> list[str]:
    return [step.id, f"{step.id}b"] if step.kind == "calls" else [step.id]


# How each SDK says it: a request, a request with an image, an answer alone, an answer with calls.


def anthropic_of(step: Step) -> list[Any]:
    text = claude.TextBlock(type="text", text=step.text, citations=None)
    if step.kind == "ask":
        return [{"role": "user", "content": step.text}]
    if step.kind == "show":
        source = {"type": "base64", "media_type": "image/png", "data": "/+s="}
        blocks = [{"type": "image", "source": source}, {"type": "text", "text": step.text}]
        return [{"role": "user", "content": blocks}]
    thought = claude.ThinkingBlock(type="thinking", thinking="hm", signature=f"sig {step.number}")
    hidden = claude.RedactedThinkingBlock(type="redacted_thinking", data="opaque")
    if step.kind == "think":
        return [{"role": "assistant", "content": [thought, hidden, text]}]
    uses = [
        claude.ToolUseBlock(type="tool_use", id=one, name="Read", input=ARGUMENTS)
        for one in _ids(step)
    ]
    failed = {"is_error": True} if step.kind == "fail" else {}
    results = [
        {"type": "tool_result", "tool_use_id": one, "content": step.text, **failed}
        for one in _ids(step)
    ]
    return [
        {"role": "assistant", "content": [thought, *uses]},
        {"role": "user", "content": results},
    ]


def chat_of(step: Step) -> list[Any]:
    if step.kind == "ask":
        return [{"role": "user", "content": step.text}]
    if step.kind == "show":
        image = {"type": "image_url", "image_url": {"url": "data:image/png;base64,/+s="}}
        return [{"role": "user", "content": [image, {"type": "text", "text": step.text}]}]
    said = {"role": "assistant", "refusal": None, "annotations": [], "reasoning_content": "hm"}
    if step.kind == "think":
        return [ChatCompletionMessage.model_validate({**said, "content": step.text})]
    calls = [
        {
            "id": one,
            "type": "function",
            "function": {"name": "Read", "arguments": json.dumps(ARGUMENTS)},
        }
        for one in _ids(step)
    ]
    answer = ChatCompletionMessage.model_validate({**said, "content": None, "tool_calls": calls})
    results = [
        {"role": "tool", "tool_call_id": one, "content": f"{step.text} {one}"} for one in _ids(step)
    ]
    return [answer, *results]


def responses_of(step: Step) -> list[Any]:
    if step.kind == "ask":
        return [{"role": "user", "content": step.text}]
    if step.kind == "show":
        image = {"type": "input_image", "image_url": "data:image/png;base64,/+s="}
        return [{"role": "user", "content": [image, {"type": "input_text", "text": step.text}]}]
    thought = responses.ResponseReasoningItem(
        id=f"rs_{step.number}", type="reasoning", summary=[], encrypted_content=f"s{step.number}"
    )
    if step.kind == "think":
        words = responses.ResponseOutputText(type="output_text", text=step.text, annotations=[])
        message = responses.ResponseOutputMessage(
            id=f"msg_{step.number}",
            type="message",
            role="assistant",
            status="completed",
            content=[words],
        )
        return [thought, message]
    calls = [
        responses.ResponseFunctionToolCall(
            type="function_call", call_id=one, name="Read", arguments=json.dumps(ARGUMENTS), id=one
        )
        for one in _ids(step)
    ]
    outputs = [
        {"type": "function_call_output", "call_id": one, "output": step.text} for one in _ids(step)
    ]
    return [thought, *calls, *outputs]


def gemini_of(step: Step) -> list[Any]:
    text = gemini.Part(text=step.text)
    if step.kind == "ask":
        return [gemini.Content(role="user", parts=[text])]
    if step.kind == "show":
        image = gemini.Part(inline_data=gemini.Blob(data=PNG, mime_type="image/png"))
        return [gemini.Content(role="user", parts=[image, text])]
    thought = gemini.Part(text="hm", thought=True, thought_signature=PNG)
    if step.kind == "think":
        return [gemini.Content(role="model", parts=[thought, text])]
    calls = [
        gemini.Part(function_call=gemini.FunctionCall(id=one, name="Read", args=ARGUMENTS))
        for one in _ids(step)
    ]
    said = {"error" if step.kind == "fail" else "output": step.text}
    answers = [
        gemini.Part(
            function_response=gemini.FunctionResponse(id=one, name="Read", response={**said})
        )
        for one in _ids(step)
    ]
    return [
        gemini.Content(role="model", parts=[thought, *calls]),
        gemini.Content(role="user", parts=answers),
    ]


def langchain_of(step: Step) -> list[Any]:
    if step.kind == "ask":
        return [lc.HumanMessage(step.text, id=f"h{step.number}")]
    if step.kind == "show":
        image = {"type": "image", "base64": "/+s=", "mime_type": "image/png"}
        return [lc.HumanMessage([image, {"type": "text", "text": step.text}])]
    thought = {"type": "thinking", "thinking": "hm", "signature": f"sig {step.number}"}
    usage = {"input_tokens": 9, "output_tokens": 2, "total_tokens": 11}
    if step.kind == "think":
        return [lc.AIMessage([thought, step.text], usage_metadata=usage, id=f"a{step.number}")]
    calls = [{"name": "Read", "args": ARGUMENTS, "id": one} for one in _ids(step)]
    status = "error" if step.kind == "fail" else "success"
    results = [lc.ToolMessage(step.text, tool_call_id=one, status=status) for one in _ids(step)]
    return [lc.AIMessage([thought], tool_calls=calls), *results]


def pydantic_ai_of(step: Step) -> list[Any]:
    if step.kind == "ask":
        prompts = [pai.SystemPromptPart("Be brief.")] if not step.number else []
        parts = [*prompts, pai.UserPromptPart(step.text)]
        return [pai.ModelRequest(parts=parts, instructions="Never touch billing.")]
    if step.kind == "show":
        image = pai.BinaryContent(PNG, media_type="image/png")
        url = pai.ImageUrl("https://lamp.example/a.png")
        return [pai.ModelRequest(parts=[pai.UserPromptPart([step.text, image, url])])]
    signed = {"signature": f"sig {step.number}", "provider_name": "anthropic"}
    thought = pai.ThinkingPart("hm", **signed)
    if step.kind == "think":
        return [pai.ModelResponse(parts=[thought, pai.TextPart(step.text)], model_name="m")]
    arguments: Any = json.dumps(ARGUMENTS) if step.number % 2 else ARGUMENTS
    calls = [pai.ToolCallPart("Read", arguments, tool_call_id=one) for one in _ids(step)]
    outcome = "failed" if step.kind == "fail" else "success"
    returns = [
        pai.ToolReturnPart("Read", {"said": step.text}, tool_call_id=one, outcome=outcome)
        for one in _ids(step)
    ]
    return [
        pai.ModelResponse(parts=[thought, *calls]),
        pai.ModelRequest(parts=[*returns, pai.UserPromptPart(f"behind {step.number}")]),
    ]


def _sent(value: Any) -> Any:
    """What the clients of anthropic and openai send of it."""
    if hasattr(value, "to_dict"):
        return value.to_dict(mode="json")
    if isinstance(value, dict):
        return {name: _sent(one) for name, one in value.items()}
    return [_sent(one) for one in value] if isinstance(value, list) else value


def _contents(messages: list[Any]) -> list[Any]:
    return [gemini.Content.model_validate(one) for one in messages]


def _pydantic_ai(messages: list[Any]) -> list[Any]:
    return pai.ModelMessagesTypeAdapter.validate_json(json.dumps(messages))


def _again(messages: list[Any]) -> list[Any]:
    """As they are when the library itself has written and read them."""
    adapter = pai.ModelMessagesTypeAdapter
    return adapter.validate_json(adapter.dump_json(messages))


def _same(messages: list[Any]) -> list[Any]:
    return messages


@dataclass
class Sdk:
    name: str
    says: Callable[[Step], list[Any]]
    expected: Callable[[list[Any]], list[Any]]
    """The list that was given, as something to compare with."""
    back: Callable[[list[Any]], list[Any]]
    """The view as the SDK takes it."""


SDKS = (
    Sdk("anthropic", anthropic_of, _sent, _same),
    Sdk("openai-chat", chat_of, _sent, _same),
    Sdk("openai-responses", responses_of, _sent, _same),
    Sdk("gemini", gemini_of, _same, _contents),
    Sdk("langchain", langchain_of, _same, lc.messages_from_dict),
    Sdk("pydantic-ai", pydantic_ai_of, _again, _pydantic_ai),
)
each_sdk = pytest.mark.parametrize("sdk", SDKS, ids=lambda sdk: sdk.name)


def leaves(value: Any) -> set[str]:
    """All texts in a value: words, ids, signatures, data."""
    if isinstance(value, dict):
        value = [one for name, one in value.items() if name not in ("type", "role")]
    if isinstance(value, list):
        return {leaf for one in value for leaf in leaves(one)}
    return {value} if isinstance(value, str) else set()


def check(sdk: Sdk, steps: list[Step], way: Way, seed: int, *, named: bool = True) -> None:
    """With its format `named` a list comes back equal; else a first message that could be anyone's
    is in another shape, and all that it says comes back."""
    messages = [message for step in steps for message in sdk.says(step)]
    found = session()
    for chunk in way(random.Random(seed), messages):
        # One message may be given alone, and a list may mix objects with what they stand for.
        one = chunk[0] if len(chunk) == 1 else chunk
        found.append(one, format=sdk.name if named else None)
    kept = found.transcript()
    called = [one for step in steps if step.kind in ("call", "calls", "fail") for one in _ids(step)]
    assert [call.id for turn in kept.turns for call in turn.tool_calls] == called
    assert [one.call_id for turn in kept.turns for one in turn.tool_results] == called
    assert all(call.parameters == ARGUMENTS for turn in kept.turns for call in turn.tool_calls)
    view = found.view(sdk.name).messages
    if named:
        assert sdk.back(view) == sdk.expected(messages)
    assert leaves(plain_messages(messages)) - {""} <= leaves(view)
    cheaply(found)
    sdk.back(found.view(sdk.name).messages)  # the SDK takes what a compaction leaves


@each_sdk
@pytest.mark.parametrize("examples", then_longer([5], [500]))
def test_what_comes_in_goes_out(sdk: Sdk, examples: int) -> None:
    """`{"role": "assistant", "content": response.content}` became the text `TextBlock(…)`."""

    @settings(max_examples=examples)
    @given(histories(), st.sampled_from(WAYS), st.integers(0, 999), st.booleans())
    def checked(steps: list[Step], way: Way, seed: int, named: bool) -> None:
        check(sdk, steps, way, seed, named=named)

    checked()


@each_sdk
def test_a_list_is_read_like_a_file(sdk: Sdk) -> None:
    steps = [Step("ask", 0), Step("calls", 1), Step("think", 2), Step("ask", 3)]
    transcript = read([message for step in steps for message in sdk.says(step)])
    assert transcript.format == sdk.name
    assert [len(turn.tool_results) for turn in transcript.turns] == [2, 0]


@pytest.mark.parametrize("alone", [True, False])
def test_a_system_message_of_langchain_is_the_prompt(alone: bool) -> None:
    """It vanished."""
    messages = [lc.SystemMessage("Be brief."), lc.HumanMessage("go"), lc.AIMessage("Done.")]
    found = session()
    for chunk in [[one] for one in messages] if alone else [messages]:
        found.append(chunk)
    assert found.view("openai-chat").messages[0] == {"role": "system", "content": "Be brief."}
    assert lc.messages_from_dict(found.view("langchain").messages) == messages
    assert found.append(messages).new == 0


@pytest.mark.parametrize("alone", [True, False])
def test_messages_of_langchain_may_be_plain_objects_with_a_type(alone: bool) -> None:
    """They were taken, and the view had none of them."""
    messages = [
        {"type": "system", "content": "Be brief."},
        {"type": "human", "content": "go"},
        {"type": "ai", "content": "", "tool_calls": [{"name": "Read", "args": {}, "id": "c1"}]},
        {"type": "tool", "content": "ok", "tool_call_id": "c1"},
    ]
    found = session()
    for chunk in [[one] for one in messages] if alone else [messages]:
        found.append(chunk)
    assert found.view("langchain").messages == messages
    roles = [one["role"] for one in found.view("openai-chat").messages]
    assert roles == ["system", "user", "assistant", "tool"]


@pytest.mark.parametrize(
    "message",
    [
        {"type": "hologram", "beams": 3},
        claude.ServerToolUseBlock(type="server_tool_use", id="s", name="web_search", input={}),
        {"type": "tool_call", "id": "c1", "name": "Read", "args": {}},
    ],
)
def test_what_is_no_message_is_refused_by_its_type(message: Any) -> None:
    """It passed for an item of the Responses API, and no other view had it."""
    found = session()
    found.append({"role": "user", "content": "go"})
    with pytest.raises(NotAMessage, match=r"messages\[0\]: .*without a role"):
        found.append(message)
    with pytest.raises(NotAMessage, match="an item of the type"):
        found.append(message, format="openai-responses")


def test_plain_messages_among_those_of_langchain() -> None:
    found = session()
    call = {"name": "Read", "args": {}, "id": "c1"}
    result = {"role": "tool", "tool_call_id": "c1", "content": "ok"}
    found.append([{"role": "user", "content": "go"}, lc.AIMessage("", tool_calls=[call]), result])
    [turn] = found.transcript().turns
    assert (turn.user_message, turn.tool_results[0].output) == ("go", "ok")
    kinds = [type(one) for one in lc.messages_from_dict(found.view("langchain").messages)]
    assert kinds == [lc.HumanMessage, lc.AIMessage, lc.ToolMessage]


def test_an_answer_of_the_api_as_a_whole() -> None:
    """What it says beside its words is read, and may not be sent back."""
    answer = claude.Message(
        id="msg_1",
        type="message",
        role="assistant",
        model="claude",
        content=[claude.TextBlock(type="text", text="Done.")],
        stop_reason="end_turn",
        usage=claude.Usage(input_tokens=7, output_tokens=3),
    )
    found = session()
    found.append([{"role": "user", "content": "go"}, answer])
    assert found.view("anthropic").messages[1] == {
        "role": "assistant",
        "content": [{"text": "Done.", "type": "text"}],
    }
    [turn] = found.transcript().turns
    assert turn.usage is not None
    assert (turn.model, turn.usage.output) == ("claude", 3)
    again = {"role": "assistant", "content": answer.content}
    assert found.append([{"role": "user", "content": "go"}, again]).new == 0


def test_what_a_client_keeps_for_itself_is_not_sent() -> None:
    found = session()
    answer: Any = {"role": "assistant", "content": '{"parsed": 1}', "parsed": {"lamp": object()}}
    found.append(
        [{"role": "user", "content": "go"}, ParsedChatCompletionMessage.construct(**answer)]
    )
    expected = {"role": "assistant", "content": '{"parsed": 1}'}
    assert found.view("openai-chat").messages[1] == expected
    found = session()
    found.append([lc.HumanMessage("go"), lc.ToolMessage("x", tool_call_id="c", artifact=object())])
    assert "artifact" not in json.dumps(found.view("langchain").messages)


def test_a_block_that_the_client_does_not_know_yet() -> None:
    """It arrives as another class; what counts is what it says of itself."""
    block = claude.TextBlock.construct(type="lantern_result", lamp=4)
    found = session()
    found.append(
        [{"role": "user", "content": "go"}, {"role": "assistant", "content": [block]}],
        format="anthropic",
    )
    assert found.view("anthropic").messages[1]["content"] == [{"type": "lantern_result", "lamp": 4}]


class Lamp:
    pass


@dataclass
class Loop:
    content: Any = None
    role: str = "user"


def _said(*blocks: Any) -> list[Any]:
    return [{"role": "user", "content": "go"}, {"role": "user", "content": list(blocks)}]


REFUSED: list[tuple[Any, str]] = [
    (
        _said({"type": "text", "text": "a"}, Lamp()),
        "messages[1].content[1]: kedgeline cannot read a L",
    ),
    (
        _said({"type": "text", "text": Lamp()}),
        "messages[1].content[0].text: kedgeline cannot read a L",
    ),
    (
        _said({"type": "image", "source": {"data": PNG}}),
        "source.data: kedgeline cannot read a bytes",
    ),
    (_said({"type": "text", "text": "a", "x": {1: 2}}), "kedgeline cannot read the key 1"),
    (_said({"type": "text", "text": "a", "x": float("nan")}), "a number that JSON has not"),
    ([Lamp()], "messages[0]: kedgeline cannot read a Lamp; "),
    ([{"role": "user", "content": "a"}, "words"], "messages[1]: kedgeline cannot read a str; "),
    ([Lamp], "messages[0]: kedgeline cannot read the class Lamp; "),
    ({"messages": [{"role": "user", "content": {1, 2}}]}, "messages[0].content: kedgeline cannot"),
    (
        [{"role": "wizard", "content": "a"}],
        "messages[0].role: kedgeline cannot read the role 'wizard'",
    ),
    ([{"role": "user", "text": "a"}], "that says nothing (its keys: 'role', 'text')"),
    ([{"role": "user", "content": {"a": "Never push."}}], "a content of the type dict"),
    ([{"hello": "world"}], "messages[0]: kedgeline cannot read a message without a role"),
    (
        [lc.HumanMessage("a"), lc.RemoveMessage(id="h1")],
        "messages[1]: kedgeline cannot read a message",
    ),
    (
        [lc.ChatMessage("a", role="critic")],
        "messages[0].role: kedgeline cannot read the role 'critic'",
    ),
    (
        [pai.ModelRequest(parts=[pai.ToolReturnPart("f", Lamp())])],
        "messages[0]: kedgeline cannot read",
    ),
]


@pytest.mark.parametrize(("given", "sentence"), REFUSED, ids=range(len(REFUSED)))
def test_what_is_not_understood_is_refused_with_its_place(given: Any, sentence: str) -> None:
    found = session()
    found.append([{"role": "user", "content": "first"}])
    before = found.store.head("s")
    with pytest.raises(NotAMessage) as raised:
        found.append(given)
    assert sentence in str(raised.value)
    assert "\n" not in str(raised.value)
    assert found.store.head("s") == before


def test_an_object_that_holds_itself_is_refused() -> None:
    loop = Loop()
    loop.content = [loop]
    with pytest.raises(NotAMessage, match="contains itself"):
        session().append(loop)


FRAMEWORKS: dict[str, list[dict[str, Any]]] = {
    "an unknown framework": [
        {"role": "user", "content": [{"text": "go"}]},
        {"role": "assistant", "content": [{"invoke": {"name": "read"}}]},
    ],
    "contents that nobody knows": [
        {"role": "user", "contents": [{"kind": "text", "text": "go"}]},
        {"role": "tool", "contents": [{"kind": "result", "call_id": "c1"}]},
    ],
    "blocks that nobody knows": [
        {"role": "user", "blocks": [{"kind": "text", "text": "go"}]},
        {"role": "tool", "blocks": []},
    ],
    "blocks of Anthropic in a chat": [
        {"role": "user", "content": "go"},
        {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "input": {}}]},
        {"role": "tool", "tool_call_id": "c1", "content": "x"},
    ],
}


@pytest.mark.parametrize("name", FRAMEWORKS)
def test_lists_of_frameworks_are_not_read_as_chats_without_calls(name: str) -> None:
    """They passed for plain text or chats, and every call was lost."""
    messages = FRAMEWORKS[name]
    request = {"system": "Be brief.", "max_tokens": 9, "messages": messages}
    for source in (messages, request, json.dumps(messages).encode()):
        with pytest.raises(NotATranscript):
            read(source)
    with pytest.raises(NotAMessage, match="kedgeline cannot read"):
        session().append(messages)

"""LangChain's messages in the three ways they are dumped, with any provider's blocks inside."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kedgeline.formats.registry import FileHead, load_format
from kedgeline.model import CallRef, Transcript, Usage
from tests.providers import transcript_of, written

FORMAT = load_format("langchain")


def dumped(kind: str, content: Any, **data: Any) -> dict[str, Any]:
    return {"type": kind, "data": {"content": content, "type": kind, **data}}


def built(name: str, content: Any, **fields: Any) -> dict[str, Any]:
    path = ["langchain", "schema", "messages", name]
    return {"lc": 1, "type": "constructor", "id": path, "kwargs": {"content": content, **fields}}


def flat(kind: str, content: Any, **fields: Any) -> dict[str, Any]:
    return {"type": kind, "content": content, "additional_kwargs": {}, **fields}


CALL = {"name": "bash", "args": {"command": "ls"}, "id": "c1", "type": "tool_call"}


def read(*messages: dict[str, Any]) -> Transcript:
    return transcript_of("langchain", list(messages))


@pytest.mark.parametrize("names", [("human", "ai", "tool", "system")])
@pytest.mark.parametrize("dump", [dumped, flat])
def test_a_conversation_with_a_call(names: tuple[str, ...], dump: Any) -> None:
    human, ai, tool, system = names
    transcript = read(
        dump(system, "Be brief."),
        dump(human, "light the harbour"),
        dump(ai, "", tool_calls=[CALL], id="run-1"),
        dump(tool, "a.py", tool_call_id="c1", status="success"),
        dump(ai, "Done."),
    )
    first, second = transcript.turns
    assert (first.user_message, second.assistant_response) == ("light the harbour", "Done.")
    assert first.tool_calls[0].parameters == {"command": "ls"}
    assert (first.tool_results[0].output, first.tool_results[0].success) == ("a.py", True)
    assert [part.text for m in transcript.head for part in m.parts] == ["Be brief."]
    assert transcript.damage == ()


def test_serialised_constructors() -> None:
    transcript = read(
        built("HumanMessage", "go"),
        built("AIMessageChunk", [{"type": "text", "text": "Looking."}], tool_calls=[CALL]),
        built("ToolMessage", "no such file", tool_call_id="c1", status="error"),
    )
    [turn] = transcript.turns
    assert (turn.user_message, turn.assistant_response) == ("go", "Looking.")
    assert (turn.tool_results[0].success, turn.tool_results[0].error) == (False, "no such file")


def test_blocks_that_repeat_the_calls_count_once() -> None:
    """Anthropic's content holds the call as a block, and LangChain lists it again."""
    use = {"type": "tool_use", "id": "c1", "name": "bash", "input": {"command": "ls"}}
    [turn] = read(dumped("human", "go"), dumped("ai", [use], tool_calls=[CALL])).turns
    assert [c.id for c in turn.tool_calls] == ["c1"]
    assert turn.messages[1].parts == (CallRef(position=0),)


def test_calls_as_the_provider_wrote_them() -> None:
    raw = {"id": "c1", "function": {"name": "bash", "arguments": '{"command": "ls"}'}}
    kwargs = {"tool_calls": [raw], "reasoning_content": "two lamps"}
    [turn] = read(dumped("human", "go"), dumped("ai", "", additional_kwargs=kwargs)).turns
    assert turn.tool_calls[0].parameters == {"command": "ls"}
    assert turn.thinking == "two lamps"


def test_a_call_that_could_not_be_parsed_is_still_one() -> None:
    broken = {"name": "bash", "args": "{not json", "id": "c1", "error": "e"}
    transcript = read(
        dumped("human", "go"),
        dumped("ai", "", tool_calls=[], invalid_tool_calls=[broken]),
        dumped("tool", "cannot parse", tool_call_id="c1", status="error"),
    )
    assert transcript.turns[0].tool_calls[0].parameters == {"input": "{not json"}
    assert transcript.damage == ()


def test_functions_of_old_are_paired_by_name() -> None:
    kwargs = {"function_call": {"name": "bash", "arguments": "{}"}}
    transcript = read(
        dumped("human", "go"),
        dumped("ai", "", additional_kwargs=kwargs),
        dumped("function", "a.py", name="bash"),
    )
    assert transcript.turns[0].tool_results[0].output == "a.py"
    assert transcript.damage == ()


def test_usage_and_model() -> None:
    counts = {
        "input_tokens": 10,
        "output_tokens": 2,
        "input_token_details": {"cache_read": 3, "cache_creation": 4},
    }
    about = {"model_name": "m"}
    answer = dumped("ai", "Done.", usage_metadata=counts, response_metadata=about)
    [turn] = read(dumped("human", "go"), answer).turns
    assert turn.usage == Usage(input=3, output=2, cache_read=3, cache_write=4)
    assert turn.model == "m"


def test_a_summary_under_the_users_role_is_not_the_users() -> None:
    """The summarisation middleware writes its summary as a human message."""
    source = {"lc_source": "summarization"}
    transcript = read(
        dumped("human", "Here is a summary: lamps", additional_kwargs=source),
        dumped("human", "go on"),
        dumped("ai", "Yes."),
    )
    assert transcript.turns[0].user_message == "go on"
    assert [c.by for c in transcript.compactions] == ["langchain"]


def test_a_chat_message_speaks_in_its_role() -> None:
    transcript = read(
        dumped("chat", "go", role="user"),
        dumped("chat", "nobody", role="narrator"),
        dumped("chat", "Yes.", role="assistant"),
    )
    [turn] = transcript.turns
    assert (turn.user_message, turn.assistant_response) == ("go", "Yes.")
    assert [note.text for note in turn.notes] == ["nobody"]


def test_thinking_that_anthropic_signed_can_be_sent_back_to_it() -> None:
    thought = {"type": "thinking", "thinking": "two lamps", "signature": "c2ln"}
    transcript = read(
        dumped("human", "go"), dumped("ai", [thought, {"type": "text", "text": "On."}])
    )
    content = written(transcript, "anthropic").messages[1]["content"]
    assert content == [thought, {"type": "text", "text": "On."}]
    assert written(transcript, "openai-responses").left_out == (
        "thinking that carries no signature of this provider: 1",
    )


def test_media_of_any_provider() -> None:
    blocks = [
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA"}},
        {"type": "image", "base64": "AA", "mime_type": "image/png"},
        {"type": "image", "source_type": "base64", "data": "AA", "mime_type": "image/png"},
    ]
    pending = read(dumped("human", blocks)).pending
    assert pending is not None
    assert [(m.mime, m.data) for m in pending.media] == [("image/png", "AA")] * 4


def test_values_of_wrong_types_do_not_raise() -> None:
    messages: list[Any] = [
        {"type": "ai", "data": None},
        dumped("ai", None, tool_calls="x", usage_metadata=[], additional_kwargs=5),
        dumped("ai", [None, 5, {"type": "image"}, {"type": None}], tool_calls=[5, {"name": 1}]),
        dumped("tool", {"a": 1}, tool_call_id=None),
        {"type": "remove", "data": {"content": "", "id": "x"}},
        {"lc": 1, "type": "constructor", "id": [], "kwargs": {}},
    ]
    assert transcript_of("langchain", messages).ignored == {
        "message/ai": 1,
        "message/remove": 1,
        "message/constructor": 1,
        "part/image": 1,
        "part/None": 1,
    }


@pytest.mark.parametrize(
    ("value", "strength"),
    [
        ([dumped("human", "x")], 3),
        ([built("HumanMessage", "x")], 3),
        ({"messages": [flat("human", "x")]}, 3),
        ([{"type": "human", "content": "x"}], 3),
        ([{"type": "system", "content": "x", "uuid": "1"}], 0),
        ([{"role": "user", "content": "x"}], 0),
        ([{"type": "message", "role": "user", "content": "x"}], 0),
    ],
)
def test_sniffing(value: Any, strength: int) -> None:
    assert FORMAT.sniff(FileHead(json.dumps(value).encode())) == strength

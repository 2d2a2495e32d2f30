"""LangChain's messages in the three ways they are dumped, with any provider's blocks inside."""

from __future__ import annotations

import json
from typing import Any

import pytest

from kedgeline.formats.registry import FileHead, load_format
from kedgeline.model import CallRef, Transcript
from tests.formats.handmade import told_of
from tests.providers import transcript_of, written

FORMAT = load_format("langchain")


def dumped(kind: str, content: Any, **data: Any) -> dict[str, Any]:
    return {"type": kind, "data": {"content": content, "type": kind, **data}}


def built(name: str, content: Any, **fields: Any) -> dict[str, Any]:
    path = ["langchain", "schema", "messages", name]
    return {"lc": 1, "type": "constructor", "id": path, "kwargs": {"content": content, **fields}}


def flat(kind: str, content: Any, **fields: Any) -> dict[str, Any]:
    return {"type": kind, "content": content, "additional_kwargs": {}, **fields}


def read(*messages: dict[str, Any]) -> Transcript:
    return transcript_of("langchain", list(messages))


GO = dumped("human", "go")
CALL = {"name": "bash", "args": {"command": "ls"}, "id": "c1", "type": "tool_call"}
USE = {"type": "tool_use", "id": "c1", "name": "bash", "input": {"command": "ls"}}
RAW = {"id": "c1", "function": {"name": "bash", "arguments": '{"command": "ls"}'}}
BROKEN = {"name": "bash", "args": "{not json", "id": "c1", "error": "e"}
OLD = {"function_call": {"name": "bash", "arguments": "{}"}}
SUMMARIZED = {"lc_source": "summarization"}
THOUGHT = {"type": "thinking", "thinking": "two lamps", "signature": "c2ln"}
COUNTS = {
    "input_tokens": 10,
    "output_tokens": 2,
    "input_token_details": {"cache_read": 3, "cache_creation": 4},
}
TALK = [
    *(("system", "Be brief.", {}), ("human", "light it", {})),
    ("ai", "", {"tool_calls": [CALL], "id": "run-1"}),
    ("tool", "a.py", {"tool_call_id": "c1", "status": "success"}),
    ("ai", "Done.", {}),
]
TALK_TOLD = ["0.0 > light it | bash(command=ls) = a.py", "1.0 Done."]
IMAGES = [
    {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA"}},
    {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AA"}},
    {"type": "image", "base64": "AA", "mime_type": "image/png"},
    {"type": "image", "source_type": "base64", "data": "AA", "mime_type": "image/png"},
]
TOLD: dict[str, tuple[list[Any], list[str]]] = {
    "dumped with their data": ([dumped(k, text, **more) for k, text, more in TALK], TALK_TOLD),
    "dumped flat": ([flat(kind, text, **more) for kind, text, more in TALK], TALK_TOLD),
    "serialised constructors": (
        [
            built("HumanMessage", "go"),
            built("AIMessageChunk", [{"type": "text", "text": "Looking."}], tool_calls=[CALL]),
            built("ToolMessage", "no such file", tool_call_id="c1", status="error"),
        ],
        ["0.0 > go | Looking. | bash(command=ls) ! no such file"],
    ),
    # Anthropic's content holds the call as a block, and LangChain lists it again.
    "blocks that repeat the calls count once": (
        [GO, dumped("ai", [USE], tool_calls=[CALL])],
        ["0.0 > go | bash(command=ls)"],
    ),
    "calls as the provider wrote them": (
        [
            GO,
            dumped("ai", "", additional_kwargs={"tool_calls": [RAW], "reasoning_content": "hm"}),
        ],
        ["0.0 > go | ~hm~ | bash(command=ls)"],
    ),
    "a call that could not be parsed is still one": (
        [
            *(GO, dumped("ai", "", tool_calls=[], invalid_tool_calls=[BROKEN])),
            dumped("tool", "cannot parse", tool_call_id="c1", status="error"),
        ],
        ["0.0 > go | bash(input={not json) ! cannot parse"],
    ),
    "functions of old are paired by name": (
        [GO, dumped("ai", "", additional_kwargs=OLD), dumped("function", "a.py", name="bash")],
        ["0.0 > go | bash() = a.py"],
    ),
    "usage": (
        [GO, dumped("ai", "Done.", usage_metadata=COUNTS)],
        ["0.0 > go | Done. | $3+3+4>2"],
    ),
    # The summarisation middleware writes its summary as a human message.
    "a summary under the user's role is not the user's": (
        [
            dumped("human", "Here is a summary: lamps", additional_kwargs=SUMMARIZED),
            *(dumped("human", "go on"), dumped("ai", "Yes.")),
        ],
        [
            "0.0 {injected: Here is a summary: lamps} | > go on | Yes.",
            "summary by langchain at 0: Here is a summary: lamps",
        ],
    ),
    "a chat message speaks in its role": (
        [
            *(dumped("chat", "go", role="user"), dumped("chat", "nobody", role="narrator")),
            dumped("chat", "Yes.", role="assistant"),
        ],
        ["0.0 {injected: nobody} | > go | Yes."],
    ),
    "media of any provider": (
        [dumped("human", IMAGES)],
        [".. " + " | ".join(["[image image/png AA]"] * 4)],
    ),
}


@pytest.mark.parametrize(("messages", "told"), TOLD.values(), ids=TOLD)
def test_what_messages_tell(messages: list[Any], told: list[str]) -> None:
    assert told_of(read(*messages)) == told


def test_what_is_kept_beside_the_words() -> None:
    [turn] = read(*TOLD["blocks that repeat the calls count once"][0]).turns
    assert turn.messages[1].parts == (CallRef(position=0),)
    [turn] = read(GO, dumped("ai", "Done.", response_metadata={"model_name": "m"})).turns
    assert turn.model == "m"
    head = read(*TOLD["dumped flat"][0]).head
    assert [part.text for message in head for part in message.parts] == ["Be brief."]


def test_thinking_that_anthropic_signed_can_be_sent_back_to_it() -> None:
    blocks = [THOUGHT, {"type": "text", "text": "On."}]
    transcript = read(GO, dumped("ai", blocks))
    assert written(transcript, "anthropic").messages[1]["content"] == blocks
    assert written(transcript, "openai-responses").left_out == (
        "thinking that carries no signature of this provider: 1",
    )


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

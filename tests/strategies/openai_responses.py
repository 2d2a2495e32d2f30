"""Lists of the Responses API's items."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

from tests.strategies.shared import (
    ARGUMENTS,
    PIXEL,
    Draw,
    Message,
    often,
    outputs,
    parameters,
    some,
    tools,
    unknown,
    user_words,
    words,
)

_input_part = st.one_of(
    st.builds(lambda t, u: {"type": "input_text", "text": t, **u}, user_words, unknown),
    st.sampled_from(
        (
            {"type": "input_image", "image_url": f"data:image/png;base64,{PIXEL}", "detail": "low"},
            {
                "type": "input_file",
                "filename": "a.pdf",
                "file_data": "data:application/pdf;base64,AA",
            },
            {"type": "input_file", "file_id": "f1"},
            {"type": "made_up"},
        )
    ),
)
_output_part = st.one_of(
    words.map(lambda t: {"type": "output_text", "text": t, "annotations": []}),
    words.map(lambda t: {"type": "output_text", "text": t}),
    st.just({"type": "refusal", "refusal": "I will not."}),
)
_reasoning = st.sampled_from(
    (
        {"type": "reasoning", "id": "rs1", "summary": [], "encrypted_content": "AAAA"},
        {"type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}]},
        {
            "type": "reasoning",
            "summary": [{"type": "summary_text", "text": t} for t in "ab"],
            "content": [{"type": "reasoning_text", "text": "c"}],
            "encrypted_content": None,
        },
    )
)
_hosted = st.sampled_from(
    (
        {"type": "web_search_call", "id": "ws1", "status": "completed"},
        {"type": "mcp_list_tools", "id": "l1", "server_label": "s", "tools": []},
        {"type": "image_generation_call", "id": "i1", "result": PIXEL},
        {"type": "item_reference", "id": "r1"},
        {"type": "made_up_call", "id": "u1"},
    )
)


@st.composite
def openai_responses(draw: Draw) -> list[Message]:
    items: list[Message] = []
    number = 0
    for _ in range(draw(st.integers(1, 4))):
        items.append(draw(_input_message()))
        calls: list[Message] = []
        for _ in range(draw(st.integers(0, 3))):
            if draw(st.booleans()):
                items.append(draw(_reasoning))
            number += 1
            item = draw(st.one_of(_output_message(), _hosted, _responses_call(f"call_{number}x")))
            items.append(item)
            calls += [item] if "call_id" in item else []
        if steered := bool(calls) and draw(st.integers(0, 5)) == 0:
            items.append({"role": "user", "content": draw(user_words)})
        items += [draw(_responses_output(call)) for call in draw(st.permutations(calls))]
        if draw(st.integers(0, 7)) == 0:
            items.append({"type": "compaction", "id": "c1", "encrypted_content": "AAAA"})
    if not steered:
        while str(items[-1].get("type")).endswith("_output") and draw(st.booleans()):
            items.pop()
    return items


@st.composite
def _input_message(draw: Draw) -> Message:
    role = draw(st.sampled_from(("user", "user", "user", "user", "developer")))
    content = draw(user_words) if draw(often) else some(draw, _input_part, least=1)
    typed = draw(st.sampled_from(({}, {"type": "message"})))
    return {**typed, "role": role, "content": content, **draw(unknown)}


@st.composite
def _output_message(draw: Draw) -> Message:
    content = draw(words) if draw(st.booleans()) else some(draw, _output_part, least=1)
    whole = {"type": "message", "id": "msg1", "status": "completed"}
    return {**draw(st.sampled_from(({}, whole))), "role": "assistant", "content": content}


@st.composite
def _responses_call(draw: Draw, call_id: str) -> Message:
    tool = draw(tools)
    kinds: tuple[Message, ...] = (
        {"type": "function_call", "name": tool, "arguments": draw(st.sampled_from(ARGUMENTS))},
        {"type": "function_call", "name": tool, "arguments": json.dumps(draw(parameters))},
        {"type": "custom_tool_call", "name": tool, "input": "*** Begin Patch"},
        {"type": "shell_call", "action": {"commands": ["ls"], "timeout_ms": 5}},
        {"type": "local_shell_call", "action": {"type": "exec", "command": ["ls"], "env": {}}},
        {"type": "apply_patch_call", "operation": {"type": "delete_file", "path": "a.py"}},
        {"type": "computer_call", "action": {"type": "click", "x": 1}},
    )
    return {**draw(st.sampled_from(kinds)), "call_id": call_id, **draw(unknown)}


@st.composite
def _responses_output(draw: Draw, call: Message) -> Message:
    kind = f"{call['type']}_output"
    text = draw(outputs)
    if kind == "shell_call_output":
        outcome = draw(st.sampled_from(({"type": "exit", "exit_code": 2}, {"type": "timeout"})))
        output: Any = [{"stdout": text, "stderr": "e", "outcome": outcome}]
    elif kind == "computer_call_output":
        image = f"data:image/png;base64,{PIXEL}"
        output = {"type": "computer_screenshot", "image_url": image}
    elif kind == "function_call_output" and draw(st.booleans()):
        output = [{"type": "input_text", "text": text}, {"type": "input_image", "image_url": "u"}]
    else:
        output = text
    named = {"id": call["call_id"]} if kind.startswith("local") else {"call_id": call["call_id"]}
    state = {"status": "failed"} if kind.startswith("apply") and draw(st.booleans()) else {}
    return {"type": kind, **named, "output": output, **state, **draw(unknown)}

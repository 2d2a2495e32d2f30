"""Lists of chat messages."""

from __future__ import annotations

import json

from hypothesis import strategies as st

from tests.strategies.shared import (
    ARGUMENTS,
    PIXEL,
    Draw,
    Message,
    few,
    often,
    outputs,
    parameters,
    some,
    tools,
    unknown,
    user_text,
    user_words,
    words,
)

_chat_part = st.one_of(
    user_text,
    st.sampled_from(
        (
            {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PIXEL}"}},
            {"type": "image_url", "image_url": {"url": "https://x.test/a.png", "detail": "low"}},
            {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}},
            {"type": "file", "file": {"file_id": "f1"}},
            {"type": "made_up", "x": 1},
        )
    ),
)
_chat_beside = st.sampled_from(
    (
        {},
        {},
        {"reasoning_content": "hm"},
        {"reasoning": "hm", "reasoning_details": []},
        {"refusal": None, "annotations": []},
        {"refusal": "I will not."},
        {"audio": {"id": "a1", "transcript": "heard"}},
    )
)


@st.composite
def openai_chat(draw: Draw) -> list[Message]:
    messages: list[Message] = []
    if draw(st.booleans()):
        role = draw(st.sampled_from(("system", "developer")))
        messages.append({"role": role, "content": draw(words)})
    number = 0
    for _ in range(draw(st.integers(1, 4))):
        content = draw(user_words) if draw(often) else some(draw, _chat_part, least=1)
        messages.append({"role": "user", "content": content, **draw(unknown)})
        if draw(st.integers(0, 5)) == 0:
            messages.append({"role": "system", "content": draw(words)})
        calls = []
        for _ in range(draw(few)):
            number += 1
            calls.append(draw(_chat_call(f"call_{number}x")))
        said = (
            draw(words) if not calls or draw(st.booleans()) else draw(st.sampled_from((None, "")))
        )
        message = {"role": "assistant", "content": said, **draw(_chat_beside), **draw(unknown)}
        messages.append({**message, "tool_calls": calls} if calls else message)
        messages += [draw(_chat_result(call["id"])) for call in draw(st.permutations(calls))]
    if draw(st.booleans()):
        # The last answer may be in flight, or only begun to be answered.
        while messages[-1]["role"] == "tool" and draw(st.booleans()):
            messages.pop()
    else:
        messages.append({"role": "user", "content": draw(user_words)})
    return messages


@st.composite
def _chat_call(draw: Draw, call_id: str) -> Message:
    if draw(st.integers(0, 4)) == 0:
        custom = {"name": draw(tools), "input": draw(words)}
        return {"id": call_id, "type": "custom", "custom": custom}
    arguments = draw(st.one_of(st.sampled_from(ARGUMENTS), parameters.map(json.dumps)))
    function = {"name": draw(tools), "arguments": arguments}
    return {"id": call_id, "type": "function", "function": function, **draw(unknown)}


@st.composite
def _chat_result(draw: Draw, call_id: str) -> Message:
    content = draw(st.one_of(outputs, outputs.map(lambda t: [{"type": "text", "text": t}])))
    return {"role": "tool", "tool_call_id": call_id, "content": content, **draw(unknown)}

"""Lists of Anthropic's messages."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from tests.strategies.shared import (
    PIXEL,
    Draw,
    Message,
    few,
    often,
    outputs,
    parameters,
    some,
    text,
    tools,
    unknown,
    user_text,
    user_words,
    words,
)

_images = st.sampled_from(
    (
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PIXEL}},
        {"type": "image", "source": {"type": "url", "url": "https://x.test/a.png"}},
        {"type": "document", "source": {"type": "text", "media_type": "text/plain", "data": "a"}},
        {"type": "document", "source": {"type": "file", "file_id": "f1"}, "title": "t"},
        {"type": "search_result", "source": "s", "content": []},
    )
)
_thinking = st.sampled_from(
    (
        {"type": "thinking", "thinking": "hm", "signature": "c2ln"},
        {"type": "thinking", "thinking": "", "signature": "c2ln", "x": 1},
        {"type": "redacted_thinking", "data": "AAAA"},
    )
)
_server = st.sampled_from(
    (
        {"type": "server_tool_use", "id": "srv1", "name": "web_search", "input": {"query": "q"}},
        {"type": "web_search_tool_result", "tool_use_id": "srv1", "content": []},
        {"type": "mcp_tool_use", "id": "m1", "name": "n", "server_name": "s", "input": {}},
        {"type": "made_up", "text": 5},
    )
)
_result_content = st.one_of(
    outputs,
    outputs.map(lambda t: [{"type": "text", "text": t}]),
    st.just([{"type": "text", "text": "a"}, {"type": "text", "text": "b", "x": 1}]),
    _images.map(lambda image: [{"type": "text", "text": "seen"}, image]),
)


@st.composite
def anthropic(draw: Draw) -> list[Message]:
    messages: list[Message] = []
    waiting: list[str] = []
    number = 0
    for _ in range(draw(st.integers(1, 4))):
        content: Any = [draw(_anthropic_result(call)) for call in draw(st.permutations(waiting))]
        if not content and draw(st.booleans()):
            content = draw(user_words)
        else:
            content += some(draw, user_text, _images, least=0 if content else 1)
        messages.append({"role": "user", "content": content, **draw(unknown)})
        blocks = some(draw, _thinking, text, _server, least=1)
        waiting = []
        for _ in range(draw(few)):
            number += 1
            waiting.append(f"toolu_{number}")
            call = {"type": "tool_use", "id": waiting[-1], "name": draw(tools)}
            blocks.append({**call, "input": draw(parameters), **draw(unknown)})
        spoken = draw(words) if not waiting and draw(st.booleans()) else blocks
        messages.append({"role": "assistant", "content": spoken, **draw(unknown)})
    if draw(st.booleans()):
        content = [draw(_anthropic_result(call)) for call in waiting] or draw(user_words)
        messages.append({"role": "user", "content": content})
    return messages


@st.composite
def _anthropic_result(draw: Draw, call_id: str) -> Message:
    block = {"type": "tool_result", "tool_use_id": call_id}
    if draw(often):
        block["content"] = draw(_result_content)
    flag = draw(st.sampled_from(({}, {}, {"is_error": True}, {"is_error": False})))
    return {**block, **flag, **draw(unknown)}

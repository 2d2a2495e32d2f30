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
_searched = (
    {"type": "server_tool_use", "id": "srv1", "name": "web_search", "input": {"query": "q"}},
    {"type": "web_search_tool_result", "tool_use_id": "srv1", "content": []},
)
_delegated = (
    {"type": "mcp_tool_use", "id": "m1", "name": "n", "server_name": "s", "input": {}},
    {"type": "mcp_tool_result", "tool_use_id": "m1", "is_error": False, "content": []},
)
_server = st.sampled_from(((), _searched, _delegated, ({"type": "made_up", "text": 5},)))
"""Tools of the provider, each with its result."""
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
    paused: list[str] = []
    number = 0
    for _ in range(draw(st.integers(1, 4))):
        content: Any = [draw(_anthropic_result(call)) for call in draw(st.permutations(waiting))]
        if not content and draw(st.booleans()):
            content = draw(user_words)
        elif not paused:
            content += some(draw, user_text, _images, least=0 if content else 1)
        messages.append({"role": "user", "content": content, **draw(unknown)})
        blocks: list[Message] = [_ran(use) for use in paused]
        blocks += some(draw, _thinking, text, least=1)
        blocks += draw(_server)
        waiting, paused = [], []
        for _ in range(draw(few)):
            number += 1
            if not waiting and draw(st.integers(0, 4)) == 0:
                paused = [f"srvtoolu_{number}"]
                blocks.append(_run(paused[0]))
            waiting.append(f"toolu_{number}")
            call = {"type": "tool_use", "id": waiting[-1], "name": draw(tools)}
            blocks.append({**call, "input": draw(parameters), **draw(unknown)})
        if blocks[-1]["type"].endswith("thinking"):
            blocks.append(draw(text))
        plain = not waiting and all(block["type"] == "text" for block in blocks)
        spoken = draw(words) if plain and draw(st.booleans()) else blocks
        messages.append({"role": "assistant", "content": spoken, **draw(unknown)})
    if draw(st.booleans()):
        content = [draw(_anthropic_result(call)) for call in waiting] or draw(user_words)
        messages.append({"role": "user", "content": content})
    return messages


def _run(use: str) -> Message:
    """Code that the provider runs, and that calls the client's tools."""
    return {"type": "server_tool_use", "id": use, "name": "code_execution", "input": {"code": "1"}}


def _ran(use: str) -> Message:
    """What came of it, in the message behind the results of those calls."""
    return {"type": "code_execution_tool_result", "tool_use_id": use, "content": {}}


@st.composite
def _anthropic_result(draw: Draw, call_id: str) -> Message:
    block = {"type": "tool_result", "tool_use_id": call_id}
    if draw(often):
        block["content"] = draw(_result_content)
    flag = draw(st.sampled_from(({}, {}, {"is_error": True}, {"is_error": False})))
    return {**block, **flag, **draw(unknown)}

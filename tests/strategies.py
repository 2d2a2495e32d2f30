"""Random message lists that the providers would take, for tests of reading and writing."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import strategies as st

Message = dict[str, Any]
Draw = st.DrawFn

WORDS = (
    "fix the harbour light",
    "  two  spaces\nand a line ",
    "naïve ✓ 漢字 \u2028 end",
    '{"json": [1, 2]}',
    "x",
)
USER_WORDS = (
    *WORDS,
    "look <system-reminder>be brief</system-reminder> here",
    "<system-reminder>only this</system-reminder>",
    "<command-name>/clear</command-name>",
    "[Request interrupted by user]",
    "go on\n<system-reminder>a</system-reminder>\n<system-reminder>b</system-reminder>",
)
OUTPUTS = ("ok", "", "line 1\nline 2\n", '{"a":1}', "Exit code 1\nboom", "<error>no</error>")
UNKNOWN: tuple[Message, ...] = (
    {},
    {},
    {},
    {"x_note": None},
    {"cache_control": {"type": "ephemeral"}},
    {"x_deep": {"a": [1, True, 1.5, None], "b": {}}},
)
PARAMETERS: tuple[Message, ...] = (
    {},
    {"command": "ls -la"},
    {"path": "/a/b.py", "n": 3, "deep": {"k": [1, 2.5, None]}},
    {"text": "ünï\n", "flag": True},
)
ARGUMENTS = ("{}", '{"command":"ls"}', '{ "a" : 1,\n "b":[1.0] }', "", "not json", "[1]")
PIXEL = "iVBORw0KGgo="
TOOLS = ("Bash", "read_file", "mcp__files__edit", "lookup")

words = st.sampled_from(WORDS)
user_words = st.sampled_from(USER_WORDS)
outputs = st.sampled_from(OUTPUTS)
unknown = st.sampled_from(UNKNOWN)
parameters = st.sampled_from(PARAMETERS)
tools = st.sampled_from(TOOLS)
few = st.integers(0, 2)
often = st.sampled_from((True, True, True, False))


def _some(draw: Draw, *made: Any, least: int = 0) -> list[Any]:
    """A few things, each out of one of the strategies."""
    return [draw(st.one_of(*made)) for _ in range(draw(st.integers(least, 3)))]


# Anthropic

_text = st.builds(lambda t, u: {"type": "text", "text": t, **u}, words, unknown)
_user_text = st.builds(lambda t, u: {"type": "text", "text": t, **u}, user_words, unknown)
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
            content += _some(draw, _user_text, _images, least=0 if content else 1)
        messages.append({"role": "user", "content": content, **draw(unknown)})
        blocks = _some(draw, _thinking, _text, _server, least=1)
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


# OpenAI, chat

_chat_part = st.one_of(
    _user_text,
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
        content = draw(user_words) if draw(often) else _some(draw, _chat_part, least=1)
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
        for call in draw(st.permutations(calls)):
            messages.append(draw(_chat_result(call["id"])))
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


# OpenAI, responses

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
        for call in draw(st.permutations(calls)):
            items.append(draw(_responses_output(call)))
        if draw(st.integers(0, 7)) == 0:
            items.append({"type": "compaction", "id": "c1", "encrypted_content": "AAAA"})
    if not steered:
        while str(items[-1].get("type")).endswith("_output") and draw(st.booleans()):
            items.pop()
    return items


@st.composite
def _input_message(draw: Draw) -> Message:
    role = draw(st.sampled_from(("user", "user", "user", "user", "developer")))
    content = draw(user_words) if draw(often) else _some(draw, _input_part, least=1)
    typed = draw(st.sampled_from(({}, {"type": "message"})))
    return {**typed, "role": role, "content": content, **draw(unknown)}


@st.composite
def _output_message(draw: Draw) -> Message:
    content = draw(words) if draw(st.booleans()) else _some(draw, _output_part, least=1)
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


# Gemini

_user_part = st.one_of(
    st.builds(lambda t, u: {"text": t, **u}, user_words, unknown),
    st.sampled_from(
        (
            {"inlineData": {"mimeType": "image/png", "data": PIXEL}},
            {"inline_data": {"mime_type": "image/png", "data": PIXEL}},
            {"fileData": {"fileUri": "gs://a/b", "mimeType": "application/pdf"}},
            {"madeUp": {"x": 1}},
        )
    ),
)
_model_part = st.one_of(
    words.map(lambda t: {"text": t}),
    words.map(lambda t: {"text": t, "thoughtSignature": "c2ln"}),
    st.just({"text": "hm", "thought": True, "thoughtSignature": "c2ln"}),
    st.just({"text": "hm", "thought": True}),
    st.just({"executableCode": {"language": "PYTHON", "code": "1"}}),
)
_responses = st.one_of(
    outputs.map(lambda t: {"output": t}),
    outputs.map(lambda t: {"error": t}),
    st.sampled_from(({"result": {"a": 1}}, {"a": 1, "b": [2]}, {})),
)


@st.composite
def gemini(draw: Draw) -> list[Message]:
    contents: list[Message] = []
    waiting: list[Message] = []
    with_ids = draw(st.booleans())
    snake = draw(st.booleans())
    number = 0
    for _ in range(draw(st.integers(1, 4))):
        parts = [draw(_gemini_response(call, snake)) for call in _in_order_of_names(draw, waiting)]
        parts += _some(draw, _user_part, least=0 if parts else 1)
        contents.append({"role": "user", "parts": parts, **draw(unknown)})
        parts = _some(draw, _model_part, least=1)
        waiting = []
        for _ in range(draw(st.integers(0, 3))):
            number += 1
            call = {"id": f"fc{number}"} if with_ids else {}
            waiting.append({**call, "name": draw(tools), "args": draw(parameters)})
            signed = draw(st.sampled_from(({}, {"thoughtSignature": "c2ln"})))
            parts.append({"function_call" if snake else "functionCall": waiting[-1], **signed})
        contents.append({"role": "model", "parts": parts})
    if draw(st.booleans()):
        role = draw(st.sampled_from(("user", "function")))
        parts = [draw(_gemini_response(call, snake)) for call in waiting]
        contents.append({"role": role, "parts": parts or [draw(_user_part)]})
    return contents


def _in_order_of_names(draw: Draw, calls: list[Message]) -> list[Message]:
    """Any order, but calls of one name in theirs: without ids it is all that tells them apart."""
    rest = list(calls)
    shuffled = draw(st.permutations([call["name"] for call in calls]))
    return [rest.pop(next(n for n, c in enumerate(rest) if c["name"] == name)) for name in shuffled]


@st.composite
def _gemini_response(draw: Draw, call: Message, snake: bool) -> Message:
    answer = {key: value for key, value in call.items() if key != "args"}
    key = "function_response" if snake else "functionResponse"
    return {key: {**answer, "response": draw(_responses)}}


PROVIDERS = {
    "anthropic": anthropic(),
    "openai-chat": openai_chat(),
    "openai-responses": openai_responses(),
    "gemini": gemini(),
}

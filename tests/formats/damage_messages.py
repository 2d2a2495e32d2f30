"""Small conversations in the shapes of providers, one message per line."""

from __future__ import annotations

import json
from typing import Any

from tests.claude import text, use

Made = list[dict[str, Any]]


def words(number: int) -> str:
    """Words that hold whatever makes a torn line hard to read: quotes, brackets, wide letters."""
    return f'mark{number:03d}x: "lit" {{the}} lamp\t– C:\\pier\n灯 \u2028 😀 }}{{ ['


def nested(number: int) -> dict[str, Any]:
    """Parameters with objects inside objects, so that a torn line ends deep inside."""
    return {"command": words(number), "env": {"lamps": [{"at": {"x": 1}}, {"at": {"x": []}}]}}


def anthropic() -> Made:
    def result(number: int, call_id: str) -> dict[str, Any]:
        return {"type": "tool_result", "tool_use_id": call_id, "content": words(number)}

    return [
        {"role": "user", "content": words(0)},
        {"role": "assistant", "content": [use("t1", **nested(1))]},
        {"role": "user", "content": [result(2, "t1")]},
        {"role": "assistant", "content": [text(words(3))]},
        {"role": "user", "content": [text(words(4))]},
        {"role": "assistant", "content": [use("t2", **nested(5))]},
        {"role": "user", "content": [result(6, "t2") | {"is_error": True}]},
        {"role": "assistant", "content": [text(words(7))]},
        {"role": "user", "content": [text(words(8))]},
        {"role": "assistant", "content": words(9)},
    ]


def openai_chat() -> Made:
    def call(number: int, call_id: str) -> dict[str, Any]:
        function = {"name": "shell", "arguments": json.dumps(nested(number))}
        calls = [{"id": call_id, "type": "function", "function": function}]
        return {"role": "assistant", "content": None, "tool_calls": calls}

    return [
        {"role": "system", "content": words(0)},
        {"role": "user", "content": words(1)},
        call(2, "c1"),
        {"role": "tool", "tool_call_id": "c1", "content": words(3)},
        {"role": "assistant", "content": words(4)},
        {"role": "user", "content": [text(words(5))]},
        call(6, "c2"),
        {"role": "tool", "tool_call_id": "c2", "content": words(7)},
        {"role": "assistant", "content": words(8)},
        {"role": "user", "content": words(9)},
    ]


def openai_responses() -> Made:
    def message(role: str, number: int) -> dict[str, Any]:
        kind = "output_text" if role == "assistant" else "input_text"
        content = [{"type": kind, "text": words(number)}]
        return {"type": "message", "role": role, "content": content}

    def call(number: int, call_id: str) -> dict[str, Any]:
        arguments = json.dumps(nested(number))
        return {"type": "function_call", "call_id": call_id, "name": "sh", "arguments": arguments}

    def output(number: int, call_id: str) -> dict[str, Any]:
        return {"type": "function_call_output", "call_id": call_id, "output": words(number)}

    thought = {"type": "summary_text", "text": words(1)}
    return [
        message("user", 0),
        {"type": "reasoning", "id": "r1", "summary": [thought], "encrypted_content": "seal"},
        call(2, "c1"),
        call(3, "c2"),
        output(4, "c1"),
        output(5, "c2"),
        message("assistant", 6),
        message("user", 7),
        call(8, "c3"),
        output(9, "c3"),
        message("assistant", 10),
    ]


def gemini() -> Made:
    def call(number: int, call_id: str) -> dict[str, Any]:
        made = {"id": call_id, "name": "shell", "args": nested(number)}
        return {"role": "model", "parts": [{"functionCall": made}]}

    def result(number: int, call_id: str) -> dict[str, Any]:
        made = {"id": call_id, "name": "shell", "response": {"output": words(number)}}
        return {"role": "user", "parts": [{"functionResponse": made}]}

    return [
        {"role": "user", "parts": [{"text": words(0)}]},
        {"role": "model", "parts": [{"text": words(1), "thought": True}]},
        call(2, "c1"),
        result(3, "c1"),
        {"role": "model", "parts": [{"text": words(4)}]},
        {"role": "user", "parts": [{"text": words(5)}]},
        call(6, "c2"),
        result(7, "c2"),
        {"role": "model", "parts": [{"text": words(8)}]},
        {"role": "user", "parts": [{"text": words(9)}]},
    ]


def langchain() -> Made:
    def call(number: int, call_id: str) -> dict[str, Any]:
        made = {"name": "shell", "args": nested(number), "id": call_id, "type": "tool_call"}
        return {"type": "ai", "data": {"content": "", "tool_calls": [made]}}

    return [
        {"type": "system", "data": {"content": words(0)}},
        {"type": "human", "data": {"content": words(1)}},
        call(2, "c1"),
        {"type": "tool", "data": {"content": words(3), "tool_call_id": "c1", "status": "success"}},
        {"type": "ai", "data": {"content": words(4)}},
        {"type": "human", "data": {"content": [text(words(5))]}},
        call(6, "c2"),
        {"type": "tool", "data": {"content": words(7), "tool_call_id": "c2", "status": "error"}},
        {"type": "ai", "data": {"content": words(8)}},
        {"type": "human", "data": {"content": words(9)}},
    ]


def plain() -> Made:
    roles = ("system", "user", "assistant")
    made = [{"role": role, "content": words(number)} for number, role in enumerate(roles)]
    talk = (("assistant", "user")[number % 2] for number in range(3, 14))
    made.extend({"role": role, "content": words(3 + n)} for n, role in enumerate(talk))
    return made

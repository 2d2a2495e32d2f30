"""A server on loopback that plays a model of openai and of anthropic."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from tests.adapters.contract import CALLS, number_in


def blocks(message: dict[str, Any], kind: str) -> list[dict[str, Any]]:
    content = message.get("content") or []
    return [b for b in content if isinstance(b, dict) and b.get("type") == kind]


def asked_in(messages: list[Any]) -> list[str]:
    chat = [c["id"] for m in messages for c in m.get("tool_calls") or []]
    return chat + [b["id"] for m in messages for b in blocks(m, "tool_use")]


def told_in(messages: list[Any]) -> list[str]:
    chat = [m["tool_call_id"] for m in messages if m["role"] == "tool"]
    return chat + [b["tool_use_id"] for m in messages for b in blocks(m, "tool_result")]


class Model(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_: Any) -> None:
        pass

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        messages, seen = body["messages"], self.server.seen[body["model"]]  # type: ignore[attr-defined]
        try:
            seen.request(messages, asked_in(messages), told_in(messages))
        except AssertionError as error:
            self.server.wrong.append(str(error))  # type: ignore[attr-defined]
        last = messages[-1]
        results = blocks(last, "tool_result")
        text = (
            last["content"] if last["role"] == "tool" else results[0]["content"] if results else "0"
        )
        number = number_in(text)
        make = anthropic_answer if self.path.endswith("/messages") else openai_answer
        out = make(number, stream=bool(body.get("stream"))).encode()
        self.send_response(200)
        kind = "text/event-stream" if body.get("stream") else "application/json"
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(out)))
        self.end_headers()
        self.wfile.write(out)


def anthropic_answer(number: int, *, stream: bool) -> str:
    use = {
        "type": "tool_use",
        "id": f"c{number + 1}",
        "name": "part",
        "input": {"number": number + 1},
    }
    text = {"type": "text", "text": "Part 7 is wrong."}
    thought = {"type": "thinking", "thinking": "hm", "signature": f"s{number}"}
    content = [thought, use if number < CALLS else text]
    usage = {"input_tokens": 1, "output_tokens": 1}
    top = {"id": "m", "type": "message", "role": "assistant", "model": "played"}
    message = {**top, "content": content, "stop_reason": "end_turn", "usage": usage}
    if not stream:
        return json.dumps(message)
    events: list[dict[str, Any]] = [
        {"type": "message_start", "message": {**message, "content": []}}
    ]
    empty = {
        "thinking": {"type": "thinking", "thinking": "", "signature": ""},
        "text": {"type": "text", "text": ""},
        "tool_use": {**use, "input": {}},
    }
    deltas = {
        "thinking": [
            {"type": "thinking_delta", "thinking": "hm"},
            {"type": "signature_delta", "signature": f"s{number}"},
        ],
        "text": [{"type": "text_delta", "text": text["text"]}],
        "tool_use": [{"type": "input_json_delta", "partial_json": json.dumps(use["input"])}],
    }
    for index, block in enumerate(content):
        kind = str(block["type"])
        events.append({"type": "content_block_start", "index": index, "content_block": empty[kind]})
        events += [
            {"type": "content_block_delta", "index": index, "delta": d} for d in deltas[kind]
        ]
        events.append({"type": "content_block_stop", "index": index})
    end = {"stop_reason": "end_turn", "stop_sequence": None}
    events.append({"type": "message_delta", "delta": end, "usage": {"output_tokens": 1}})
    events.append({"type": "message_stop"})
    return "".join(f"event: {e['type']}\ndata: {json.dumps(e)}\n\n" for e in events)


def openai_answer(number: int, *, stream: bool) -> str:
    function = {"name": "part", "arguments": json.dumps({"number": number + 1})}
    call = {"id": f"c{number + 1}", "type": "function", "function": function}
    message: dict[str, Any] = {"role": "assistant", "content": "Part 7 is wrong."}
    if number < CALLS:
        message = {"role": "assistant", "content": None, "tool_calls": [call]}
    top = {"id": "x", "created": 1, "model": "played", "object": "chat.completion"}
    if not stream:
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        return json.dumps({**top, "choices": [choice]})
    delta = {**message, "tool_calls": [{**call, "index": 0}]} if number < CALLS else message
    chunks = (
        {"index": 0, "delta": delta, "finish_reason": None},
        {"index": 0, "delta": {}, "finish_reason": "stop"},
    )
    top["object"] = "chat.completion.chunk"
    lines = "".join(f"data: {json.dumps({**top, 'choices': [one]})}\n\n" for one in chunks)
    return f"{lines}data: [DONE]\n\n"


@pytest.fixture
def server() -> Iterator[Any]:
    made: Any = ThreadingHTTPServer(("127.0.0.1", 0), Model)
    made.seen, made.wrong = {}, []
    threading.Thread(target=made.serve_forever, daemon=True).start()
    yield made
    made.shutdown()
    made.server_close()
    assert made.wrong == []

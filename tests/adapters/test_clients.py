"""The clients of openai and anthropic, against a server on loopback that plays the model."""

from __future__ import annotations

import asyncio
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

pytest.importorskip("openai")
pytest.importorskip("anthropic")

import anthropic
import httpx2
import openai

from kedgeline.adapters.clients import Transport, wrap
from tests.adapters.contract import CALLS, SYSTEM, TASK, WINDOW, Planted, Seen, number_in, output

pytestmark = pytest.mark.adapters
KINDS = ("openai", "anthropic")
WAYS = ("sync", "async", "stream")


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


def client(kind: str, way: str, how: str, server: Any) -> tuple[Any, Any]:
    """A client, and what has its runs."""
    later = way == "async"
    path = "/v1" if kind == "openai" else ""
    options: dict[str, Any] = {
        "base_url": f"http://127.0.0.1:{server.server_port}{path}",
        "api_key": "x",
    }
    classes = {
        "openai": (openai.OpenAI, openai.AsyncOpenAI),
        "anthropic": (anthropic.Anthropic, anthropic.AsyncAnthropic),
    }
    make: Any = classes[kind][later]
    if how == "wrap":
        made = wrap(make(**options), window=WINDOW)
        return made, made.kedgeline
    transport = Transport(window=WINDOW)
    http = (httpx2.AsyncClient if later else httpx2.Client)(transport=transport)
    return make(**options, http_client=http), transport._runs


async def loop(made: Any, kind: str, way: str, model: str) -> list[Any]:
    """A loop as one writes it by hand: what the client gives goes back into the list."""
    messages: list[Any] = [{"role": "user", "content": TASK}]
    if kind == "openai":
        messages.insert(0, {"role": "system", "content": SYSTEM})
    api = made.messages if kind == "anthropic" else made.chat.completions
    while True:
        asked: dict[str, Any] = {"model": model, "messages": messages}
        if kind == "anthropic":
            asked |= {"max_tokens": 9, "system": SYSTEM}
        if way == "stream":
            with api.stream(**asked) as stream:
                final = "get_final_message" if kind == "anthropic" else "get_final_completion"
                reply = getattr(stream, final)()
        else:
            reply = await api.create(**asked) if way == "async" else api.create(**asked)
        if kind == "anthropic":
            messages.append({"role": "assistant", "content": reply.content})
            calls = [(b.id, b.input["number"]) for b in reply.content if b.type == "tool_use"]
        else:
            messages.append(reply.choices[0].message)
            called = messages[-1].tool_calls or []
            calls = [(c.id, json.loads(c.function.arguments)["number"]) for c in called]
        if not calls:
            return messages
        for call_id, number in calls:
            if kind == "openai":
                told: Any = {"role": "tool", "tool_call_id": call_id, "content": output(number)}
            else:
                block = {"type": "tool_result", "tool_use_id": call_id, "content": output(number)}
                told = {"role": "user", "content": [block]}
            messages.append(told)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("how", ["wrap", "transport"])
def test_the_callers_list_stays_whole_and_what_is_sent_fits(
    kind: str, way: str, how: str, server: Any
) -> None:
    server.seen["played"] = seen = Seen()
    made, runs = client(kind, way, how, server)
    messages = asyncio.run(loop(made, kind, way, "played"))
    assert len(messages) == 2 + 2 * CALLS + (kind == "openai")
    seen.holds(runs.newest.compactions)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("how", ["wrap", "transport"])
def test_an_error_of_ours_does_not_end_the_run(
    kind: str, how: str, server: Any, planted: Planted
) -> None:
    server.seen["played"] = seen = Seen(window=10**9)
    made, _ = client(kind, "sync", how, server)
    asyncio.run(loop(made, kind, "sync", "played"))
    assert len(seen.sizes) == CALLS + 1
    assert planted()


def test_conversations_of_one_client_share_nothing(server: Any) -> None:
    names = [f"played-{number}" for number in range(3)]
    server.seen.update({name: Seen() for name in names})
    made, _ = client("openai", "async", "wrap", server)

    async def all_of_them() -> None:
        await asyncio.gather(*(loop(made, "openai", "async", name) for name in names))

    asyncio.run(all_of_them())
    for name in names:
        assert len(server.seen[name].sizes) == CALLS + 1
        assert server.seen[name].breaks >= 3

"""A server that speaks as OpenAI's Responses API, streamed, as far as Codex wants it.

    with serving(rule) as server:
        ...  # base_url = server.address + "/v1"

The rule says what is answered to a request; what was sent is remembered."""

from __future__ import annotations

import json
from collections.abc import Callable
from contextlib import AbstractContextManager, suppress
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler
from typing import Any

from tests.integrations.hooks.playing import OUTPUT_TOKENS, Playing, Says
from tests.loopback import running

__all__ = ["Request", "Says", "Server", "serving"]


@dataclass(frozen=True, slots=True)
class Request:
    body: dict[str, Any]

    def texts(self, role: str = "") -> list[str]:
        """Of the messages, in order; of one role, or of all."""
        found = []
        for item in self.body.get("input", []):
            if item.get("type") == "message" and role in ("", item.get("role")):
                found += [part.get("text", "") for part in item["content"]]
        return found

    @property
    def outputs(self) -> list[str]:
        """Of calls."""
        items = self.body.get("input", [])
        return [str(one["output"]) for one in items if one.get("type") == "function_call_output"]


Rule = Callable[[Request], Says]


Server = Playing[Request]


def serving(rule: Rule) -> AbstractContextManager[Server]:
    """A server for as long as the block runs."""
    return running(Server(rule, _Handler))


class _Handler(BaseHTTPRequestHandler):
    server: Server

    def log_message(self, *_: object) -> None:
        pass

    def do_GET(self) -> None:
        """The list of models, which is empty."""
        body = json.dumps({"data": [], "models": []}).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        request = Request(json.loads(self.rfile.read(int(self.headers["content-length"]))))
        self.server.requests.append(request)
        number = len(self.server.requests)
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        with suppress(ConnectionError):
            for event in events_of(self.server.rule(request), number):
                line = f"event: {event['type']}\ndata: {json.dumps(event)}\n\n"
                self.wfile.write(line.encode())


def events_of(reply: Says, number: int) -> list[dict[str, Any]]:
    """A reply as the events that it is streamed in."""
    if reply.tool:
        item: dict[str, Any] = {
            "type": "function_call",
            "id": f"fc_{number}",
            "call_id": f"call_{number}",
            "name": reply.tool,
            "arguments": json.dumps(reply.arguments or {}),
        }
    else:
        content = [{"type": "output_text", "text": reply.text}]
        item = {"type": "message", "id": f"msg_{number}", "role": "assistant", "content": content}
    usage = {
        "input_tokens": reply.input_tokens,
        "input_tokens_details": None,
        "output_tokens": OUTPUT_TOKENS,
        "output_tokens_details": None,
        "total_tokens": reply.input_tokens + OUTPUT_TOKENS,
    }
    identity = {"id": f"resp_{number}"}
    return [
        {"type": "response.created", "response": identity},
        {"type": "response.output_item.done", "output_index": 0, "item": item},
        {"type": "response.completed", "response": {**identity, "usage": usage}},
    ]

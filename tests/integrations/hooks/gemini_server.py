"""A server that speaks as the Gemini API, as far as Gemini CLI wants it.

    with serving(rule) as server:
        ...  # GOOGLE_GEMINI_BASE_URL = server.address

The rule says what is answered to a request; what was sent is remembered, but for requests that only
count tokens."""

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
        """Of the contents, in order; of one role, or of all."""
        contents = [one for one in self.body["contents"] if role in ("", one.get("role"))]
        return [text for one in contents for text in _texts(one)]

    @property
    def outputs(self) -> list[str]:
        """Of calls."""
        parts = [part for one in self.body["contents"] for part in one["parts"]]
        answers = [part["functionResponse"] for part in parts if "functionResponse" in part]
        return [str(one["response"].get("output", one["response"])) for one in answers]


def _texts(content: dict[str, Any]) -> list[str]:
    return [part["text"] for part in content.get("parts", []) if part.get("text")]


Rule = Callable[[Request], Says]


Server = Playing[Request]


def serving(rule: Rule) -> AbstractContextManager[Server]:
    """A server for as long as the block runs."""
    return running(Server(rule, _Handler))


class _Handler(BaseHTTPRequestHandler):
    server: Server

    def log_message(self, *_: object) -> None:
        pass

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        what = self.path.partition("?")[0].rpartition(":")[2]
        if what == "countTokens":
            self._answer(json.dumps({"totalTokens": len(json.dumps(body)) // 4}))
            return
        request = Request(body)
        self.server.requests.append(request)
        told = json.dumps(answer_of(self.server.rule(request), len(self.server.requests)))
        streamed = what == "streamGenerateContent"
        self._answer(f"data: {told}\r\n\r\n" if streamed else told, streamed=streamed)

    def _answer(self, text: str, *, streamed: bool = False) -> None:
        data = text.encode()
        self.send_response(200)
        self.send_header("content-type", "text/event-stream" if streamed else "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        with suppress(ConnectionError):
            self.wfile.write(data)


def answer_of(reply: Says, number: int) -> dict[str, Any]:
    """A reply as the API writes it."""
    part: dict[str, Any] = {"text": reply.text}
    if reply.tool:
        call = {"id": f"call_{number}", "name": reply.tool, "args": reply.arguments or {}}
        part = {"functionCall": call}
    content = {"role": "model", "parts": [part]}
    return {
        "candidates": [{"content": content, "finishReason": "STOP", "index": 0}],
        "usageMetadata": {
            "promptTokenCount": reply.input_tokens,
            "candidatesTokenCount": OUTPUT_TOKENS,
            "totalTokenCount": reply.input_tokens + OUTPUT_TOKENS,
        },
        "modelVersion": "gemini-2.5-pro",
        "responseId": f"response_{number}",
    }

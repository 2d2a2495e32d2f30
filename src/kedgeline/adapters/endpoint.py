"""An endpoint on loopback: JSON in and out, for agents in any language.

    POST /compact {"messages": […], "conversation": "chat-1", "model": "…", "window": 200000}
    200           {"messages": […], "compacted": true, "reason": "…", "summary": "…", …}

One conversation keeps its cut from one request to the next; one without a name is known by the
list it goes on with. An error leaves the list as it came: it is 200 too, and says `error`."""

from __future__ import annotations

import json
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock
from typing import Any, Unpack

from kedgeline.adapters.runs import AdapterOptions, AgentRun, Runs

MOST_BYTES = 256 << 20
"""Of one request."""
LOCAL = ("127.0.0.1", "localhost", "[::1]")
"""Names under which a browser may ask; a page elsewhere that resolves here has another."""


class Endpoint(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, port: int = 0, **options: Unpack[AdapterOptions]) -> None:
        super().__init__(("127.0.0.1", port), _Asked)
        self.runs = Runs(**options)
        self.busy = Lock()

    def answer(self, body: dict[str, Any]) -> dict[str, Any]:
        """What to send in place of the messages of a request."""
        messages, name = body["messages"], body.get("conversation")
        with self.busy:  # two requests of one conversation come one after the other
            run = self.runs.of(str(name)) if name else self.runs.of_list(messages)
            sent = run.step(
                messages,
                beside=body.get("beside"),
                model_name=str(body.get("model") or ""),
                model_window=body.get("window"),
                reported=body.get("reported") or 0,
            )
            if not name:
                self.runs.remember(messages, run)
            return _told(run, sent)


def _told(run: AgentRun, sent: list[Any]) -> dict[str, Any]:
    step = run.last
    if step is None:
        return {"messages": sent, "compacted": False, "reason": "the list is empty"}
    error = {"error": f"{type(step.error).__name__}: {step.error}"} if step.error else {}
    return {
        "messages": sent,
        "compacted": step.compacted,
        "reason": step.reason,
        "tokens_before": step.tokens_before,
        "tokens_after": step.tokens_after,
        "window": step.window.tokens,
        "window_known_from": step.window.known_from,
        "summary": step.summary,
        **error,
    }


class _Asked(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Endpoint

    def log_message(self, *_: object) -> None:
        """Nothing: what is asked are conversations."""

    def do_GET(self) -> None:
        known = self.path == "/health"
        self._say(200 if known else 404, {"ok": True} if known else {"error": "POST /compact"})

    def do_POST(self) -> None:
        length = int(self.headers.get("content-length") or 0)
        host = (self.headers.get("host") or "").rpartition(":")[0]
        if host not in LOCAL or self.headers.get("origin"):
            self.close_connection = True
            self._say(403, {"error": "only programs of this machine are answered"})
            return
        if self.path != "/compact" or length > MOST_BYTES:
            self.close_connection = True
            self._say(404 if length <= MOST_BYTES else 413, {"error": "POST /compact"})
            return
        try:
            body = json.loads(self.rfile.read(length))
        except ValueError as error:
            self._say(400, {"error": f"the body is no JSON: {error}"})
            return
        if not isinstance(body, dict) or not isinstance(body.get("messages"), list):
            self._say(400, {"error": "the body must be an object with a list of `messages`"})
            return
        self._say(200, self.server.answer(body))

    def _say(self, status: int, answer: dict[str, Any]) -> None:
        data = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

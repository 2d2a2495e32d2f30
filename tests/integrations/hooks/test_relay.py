"""The relay: only the marked request is answered, all else comes through as it was sent."""

from __future__ import annotations

import http.client
import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from kedgeline.hosts import relay as relaying
from kedgeline.hosts.places import replaced_in
from kedgeline.hosts.relay import PROMPT, Relay
from tests.integrations.hooks.test_replacement import LONG, RULE
from tests.loopback import Loopback, running

ANSWER = b'{"lamp": "lit"}'
PIECES = [b"event: one\ndata: {}\n\n", b"event: two\ndata: {}\n\n"]


class Upstream(Loopback):
    """It remembers what it was sent, and streams its second piece when it is told to."""

    def __init__(self) -> None:
        super().__init__(_Model)
        self.seen: list[tuple[str, str, dict[str, str], bytes]] = []
        self.goes_on = Event()


class _Model(BaseHTTPRequestHandler):
    server: Upstream

    def log_message(self, *_: object) -> None:
        pass

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        headers = {name.lower(): value for name, value in self.headers.items()}
        self.server.seen.append((self.command, self.path, headers, body))
        if b'"stream": true' not in body:
            self.send_response(429)
            self.send_header("retry-after", "7")
            self.send_header("content-length", str(len(ANSWER)))
            self.end_headers()
            self.wfile.write(ANSWER)
            return
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        self.wfile.write(PIECES[0])
        self.wfile.flush()
        self.server.goes_on.wait(5)
        self.wfile.write(PIECES[1])

    do_GET = do_POST


@contextmanager
def relayed() -> Iterator[tuple[Relay, Upstream]]:
    with running(Upstream()) as upstream, running(Relay(f"{upstream.address}/v1")) as relay:  # type: ignore[type-var]
        yield relay, upstream


def asking(
    relay: Relay, body: Any = b"", method: str = "POST", **headers: str
) -> http.client.HTTPResponse:
    connection = http.client.HTTPConnection("127.0.0.1", relay.server_port, timeout=20)
    told = {name.replace("_", "-"): value for name, value in headers.items()}
    connection.request(method, "/responses?x=1", body, told)
    return connection.getresponse()


def items(count: int = 12) -> list[dict[str, Any]]:
    text = [{"type": "input_text", "text": f"Mend the lamp. {RULE}"}]
    found: list[dict[str, Any]] = [{"type": "message", "role": "user", "content": text}]
    for number in range(count):
        call = {"type": "function_call", "name": "exec", "arguments": "{}", "call_id": f"c{number}"}
        output = f"lamp {number}\n" * LONG
        found += [call, {"type": "function_call_output", "call_id": f"c{number}", "output": output}]
    return found


def compaction(history: list[dict[str, Any]], prompt: str = PROMPT, stream: bool = True) -> bytes:
    last = {"type": "message", "role": "user", "content": [{"type": "input_text", "text": prompt}]}
    body = {"input": [*history, last], "stream": stream, "prompt_cache_key": "s1"}
    return json.dumps(body).encode()


def summary_in(answer: http.client.HTTPResponse) -> str:
    events = [
        json.loads(line.removeprefix(b"data: "))
        for line in answer.read().splitlines()
        if line.startswith(b"data: ")
    ]
    assert [one["type"] for one in events][-1] == "response.completed"
    text: str = events[1]["item"]["content"][0]["text"]
    return text


def test_the_marked_request_is_answered_and_no_model_is_asked(home: Path) -> None:
    with relayed() as (relay, upstream):
        summary = summary_in(asking(relay, compaction(items())))
        assert upstream.seen == []
    assert RULE in summary
    assert len(summary) < 0.5 * len(json.dumps(items()))
    found = replaced_in(str(home / "state" / "kedgeline" / "hooks" / "s1"))
    assert found
    assert found["replaced"] == 1


def test_the_next_one_holds_what_the_first_did(home: Path) -> None:
    """Codex keeps the newest words of the user before the summary: they are not said twice."""
    with relayed() as (relay, upstream):
        first = summary_in(asking(relay, compaction(items())))
        told = [{"type": "input_text", "text": f"Another model started to solve this.\n{first}"}]
        given = {"type": "message", "role": "user", "content": told}
        again = [items()[0], given, *items(20)[1:]]
        again[2:] = [{**one, "call_id": f"n{one['call_id']}"} for one in again[2:]]
        second = summary_in(asking(relay, compaction(again)))
        assert upstream.seen == []
    assert second.count(f"user: Mend the lamp. {RULE}") <= 1
    assert RULE in second


@pytest.mark.parametrize("why", ["no mark", "no stream", "too short", "broken store", "too late"])
def test_all_else_reaches_the_model(home: Path, monkeypatch: pytest.MonkeyPatch, why: str) -> None:
    body = compaction(
        items(0 if why == "too short" else 12),
        prompt="Write a summary." if why == "no mark" else PROMPT,
        stream=why != "no stream",
    )
    if why == "broken store":
        (home / "store").write_text("no store")
    if why == "too late":
        monkeypatch.setattr(relaying, "REPLACE_SECONDS", 0.0)
    with relayed() as (relay, upstream):
        upstream.goes_on.set()
        answer = asking(relay, body, authorization="Bearer key", session_id="s1")
        got = answer.read()
        ((method, path, headers, sent),) = upstream.seen
    assert (method, path, sent) == ("POST", "/v1/responses?x=1", body)
    assert (headers["authorization"], headers["session-id"]) == ("Bearer key", "s1")
    if why == "no stream":
        assert (answer.status, answer.headers["retry-after"], got) == (429, "7", ANSWER)
    else:
        assert (answer.status, got) == (200, b"".join(PIECES))


def test_pieces_come_through_as_they_are_sent() -> None:
    with relayed() as (relay, upstream):
        answer = asking(relay, b'{"stream": true}')
        assert answer.read1(1_000) == PIECES[0]
        upstream.goes_on.set()
        assert answer.read() == PIECES[1]


@pytest.mark.parametrize("headers", [{"Origin": "http://127.0.0.1"}, {"Host": "quay.example:80"}])
def test_a_page_in_a_browser_is_refused(headers: dict[str, str]) -> None:
    with relayed() as (relay, upstream):
        assert asking(relay, compaction(items()), **headers).status == 403
        assert upstream.seen == []


def test_a_model_that_is_not_there_is_said() -> None:
    with running(Relay("http://127.0.0.1:9/v1")) as relay:  # type: ignore[type-var]
        assert asking(relay, b"{}").status == 502

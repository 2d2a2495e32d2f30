"""A real HTTP server that speaks as OpenAI's chat completions and as Anthropic's messages.

    with serving(Says("hello"), Fails(429)) as server:
        model_named(server.name("openai"))(ask)

It answers request after request in the order of a script, the last line again and again, and
remembers what it was sent."""

from __future__ import annotations

import json
import socket
import struct
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler
from threading import Event
from typing import Any, Literal

from kedgeline.model import Ending, Usage
from tests.loopback import LOOK_EVERY, Loopback, running
from tests.models.shapes import SHAPES, Shape

Kind = Literal["openai", "anthropic"]
MODELS = {"openai": "test-model", "anthropic": "claude-sonnet-5-5"}
USAGE = Usage(input=11, output=7)


@dataclass(frozen=True, slots=True)
class Says:
    """A reply, in as many pieces as it is streamed in."""

    text: str = ""
    reasoning: str = ""
    tool: str = ""
    """Arguments of a call of a tool, as JSON."""
    called: str = "look"
    """The tool's name."""
    refusal: str = ""
    """Words of a refusal, where the shape has a place for them; else its text."""
    ending: Ending = "whole"
    """Empty: the server does not say."""
    usage: Usage | None = USAGE
    pieces: int = 3


@dataclass(frozen=True, slots=True)
class Fails:
    status: int
    message: str = "it went wrong"
    type: str = "some_error"
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Sends:
    """Any bytes at all."""

    body: bytes
    content_type: str = "application/json"
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Hangs:
    """Nothing, until the client has gone or the server ends."""


@dataclass(frozen=True, slots=True)
class Breaks:
    """A connection that ends too early."""

    how: Literal["cut", "reset"] = "cut"
    """Closed in the middle, or refused."""


Line = Says | Fails | Sends | Hangs | Breaks


@dataclass(frozen=True, slots=True)
class Request:
    """What the server was sent."""

    path: str
    headers: dict[str, str]
    """By their names in small letters."""
    text: str

    @property
    def body(self) -> dict[str, Any]:
        found: dict[str, Any] = json.loads(self.text)
        return found

    @property
    def everything(self) -> str:
        """For those who look for what must not be in it."""
        return "\n".join([self.path, *(f"{k}: {v}" for k, v in self.headers.items()), self.text])


class Server(Loopback):
    def __init__(self, *script: Line, rule: Callable[[Request], Line] | None = None) -> None:
        super().__init__(_Handler)
        self.requests: list[Request] = []
        self.ends = Event()
        self._lines: tuple[Line, ...] = script or (Says("hello"),)
        self._rule = rule

    def name(self, kind: Kind) -> str:
        """Of a model that this server serves."""
        return f"{kind}:{MODELS[kind]}@{self.address}" + ("/v1" if kind == "openai" else "")

    def script(self, *lines: Line) -> None:
        """Begin anew."""
        self._lines, self._rule = lines, None
        self.requests.clear()

    def line(self, request: Request) -> Line:
        self.requests.append(request)
        if self._rule is not None:
            return self._rule(request)
        return self._lines[min(len(self.requests), len(self._lines)) - 1]


@contextmanager
def serving(*script: Line, rule: Callable[[Request], Line] | None = None) -> Iterator[Server]:
    """A server for as long as the block runs; it waits for nobody in the end."""
    with running(Server(*script, rule=rule)) as server:
        try:
            yield server
        finally:
            server.ends.set()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def log_message(self, *_: object) -> None:
        pass

    def do_POST(self) -> None:
        self.close_connection = True
        length = int(self.headers.get("content-length", 0))
        headers = {name.lower(): value for name, value in self.headers.items()}
        request = Request(self.path, headers, self.rfile.read(length).decode())
        line = self.server.line(request)
        path = self.path.partition("?")[0]
        shape = SHAPES["anthropic" if path.endswith("/messages") else "openai"]
        with suppress(ConnectionError):
            self.answer(line, shape, streamed=bool(request.body.get("stream")))

    def answer(self, line: Line, shape: Shape, *, streamed: bool) -> None:
        match line:
            case Hangs():
                self.wait_for_the_client()
            case Sends():
                self.send(line.status, line.body, line.content_type, line.headers)
            case Fails():
                body = shape.error(line.type, line.message)
                self.send(line.status, body, headers=line.headers)
            case Breaks():
                self.leave(line.how)
            case Says() if streamed:
                self.start(200, "text/event-stream")
                for event in (*shape.events(line), b""):
                    self.chunk(event)
            case Says():
                self.send(200, shape.whole(line))

    def send(
        self,
        status: int,
        body: bytes,
        content_type: str = "application/json",
        headers: dict[str, str] | None = None,
    ) -> None:
        self.start(status, content_type, headers, len(body))
        self.wfile.write(body)

    def start(
        self,
        status: int,
        content_type: str,
        headers: dict[str, str] | None = None,
        length: int | None = None,
    ) -> None:
        self.send_response(status)
        self.send_header("content-type", content_type)
        framing = ("transfer-encoding", "chunked")
        self.send_header(*(framing if length is None else ("content-length", str(length))))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()

    def chunk(self, data: bytes) -> None:
        self.wfile.write(f"{len(data):x}\r\n".encode() + data + b"\r\n")

    def leave(self, how: str) -> None:
        if how == "reset":
            linger = struct.pack("ii", 1, 0)
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self.wfile.flush()
        self.connection.close()

    def wait_for_the_client(self) -> None:
        self.connection.settimeout(LOOK_EVERY)
        while not self.server.ends.is_set():
            with suppress(TimeoutError):
                if not self.connection.recv(1):
                    return

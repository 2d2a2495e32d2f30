"""Codex within a turn: a relay of this machine alone between it and its model's address.

Hooks of Codex cannot supply a context, but its compaction is a request like any other, and its
prompt can be set: the request that ends with our mark is answered here, without a model. All else
goes on untouched, and so does that request where there is no answer: the mark stands before a
prompt that a model can follow."""

from __future__ import annotations

import http.client
import ssl
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import Empty, SimpleQueue
from threading import Thread
from urllib.parse import urlsplit

import msgspec

from kedgeline.errors import UserError
from kedgeline.hosts import places
from kedgeline.hosts.codex import is_fresh
from kedgeline.hosts.replacement import HostRequest, host_compacted
from kedgeline.hosts.shared import REPLACE_SECONDS, SUMMARY_ROOM, Message, Shape, in_words, texts_of

LOOPBACK = "127.0.0.1"
NAMES = (LOOPBACK, "localhost")
MARK = "KEDGELINE-COMPACT"
PROMPT = (
    f"{MARK} Write a handoff summary for another agent that goes on with this task: what the user "
    "asked for and every rule they gave, word for word, what was done and found, what comes next."
)
"""What Codex is set to ask for a compaction with."""
OURS = "kedgeline made this of the conversation up to here and kept all of it."
"""The first line of an answer: by it the answer is known when it comes back."""
HOPS = ("connection", "keep-alive", "transfer-encoding", "upgrade", "te")
"""Headers that are told anew from one neighbour to the next."""
UPSTREAM_SECONDS = 900
"""The most that is waited for the next piece of an answer: a model thinks for minutes."""
PIECE = 65_536
SHAPE = Shape("openai-responses", list, in_words, SUMMARY_ROOM)


class Relay(ThreadingHTTPServer):
    """Everything for one upstream address."""

    daemon_threads = True

    def __init__(self, upstream: str, port: int = 0) -> None:
        self.upstream = urlsplit(upstream)
        if self.upstream.scheme not in ("http", "https") or not self.upstream.hostname:
            raise UserError(f"{upstream!r} is not an address such as https://api.openai.com/v1")
        try:
            super().__init__((LOOPBACK, port), _Handler)
        except (OSError, OverflowError) as error:
            raise UserError(f"port {port}: {error}; choose another --port") from error

    def server_bind(self) -> None:
        """Without a look for the name of this machine, which may take seconds."""
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = LOOPBACK, self.server_address[1]

    def handle_error(self, *_: object) -> None:
        """A client goes away when it has been interrupted."""

    @property
    def address(self) -> str:
        return f"http://{LOOPBACK}:{self.server_port}"

    def connected(self) -> http.client.HTTPConnection:
        host, port = self.upstream.hostname or "", self.upstream.port
        if self.upstream.scheme == "http":
            return http.client.HTTPConnection(host, port, timeout=UPSTREAM_SECONDS)
        context = ssl.create_default_context()
        return http.client.HTTPSConnection(host, port, timeout=UPSTREAM_SECONDS, context=context)


def settings_for(address: str, upstream: str) -> str:
    """What goes into Codex's config.toml."""
    return (
        f'compact_prompt = "{PROMPT}"\n'
        'model_provider = "kedgeline"\n\n'
        "[model_providers.kedgeline]\n"
        f'name = "{urlsplit(upstream).hostname} by kedgeline relay"\n'
        f'base_url = "{address}"\n'
        'wire_api = "responses"\n'
        'env_key = "OPENAI_API_KEY"\n'
    )


def relayed_summary(body: bytes, session: str) -> str:
    """What stands for the conversation in a compaction request; empty where it is none, or where
    the model has to be asked."""
    try:
        asked = msgspec.json.decode(body)
        items = asked["input"]
        last = items[-1]
        is_ours = asked["stream"] and last["role"] == "user" and texts_of(last)[0].startswith(MARK)
    except (msgspec.DecodeError, LookupError, TypeError, AttributeError):
        return ""
    if not is_ours:
        return ""
    named = str(asked.get("prompt_cache_key") or session)
    question = HostRequest(messages=_new(items[:-1]), session=named, trigger="relay")
    # Whatever it is stands in the log and in `kedgeline status`; the model is asked then.
    with suppress(Exception):
        return f"{OURS}\n\n{host_compacted('codex', question, SHAPE).reply['summary']}"
    return ""


def _new(items: Sequence[Message]) -> list[Message]:
    """What came behind the summary that Codex was given last: what it keeps before that, newest
    words of the user, is in our store already."""
    told = ("\n".join(texts_of(one)) if one.get("role") == "user" else "" for one in items)
    ours = [place for place, text in enumerate(told) if OURS in text]
    behind = items[ours[-1] + 1 :] if ours else items
    return [one for one in behind if not is_fresh(one)]


def _events(summary: str) -> Iterator[bytes]:
    """The answer as the stream that Codex reads."""
    content = [{"type": "output_text", "text": summary, "annotations": []}]
    item = {"type": "message", "id": "msg_kedgeline", "role": "assistant", "status": "completed"}
    nothing = {"input_tokens": 0, "output_tokens": 0, "total_tokens": 0}
    response = {"id": "resp_kedgeline", "object": "response", "status": "completed"}
    for event in (
        {"type": "response.created", "response": response},
        {
            "type": "response.output_item.done",
            "output_index": 0,
            "item": {**item, "content": content},
        },
        {"type": "response.completed", "response": {**response, "output": [], "usage": nothing}},
    ):
        yield f"event: {event['type']}\ndata: ".encode() + msgspec.json.encode(event) + b"\n\n"


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Relay

    def log_message(self, *_: object) -> None:
        pass

    def do_POST(self) -> None:
        self.close_connection = True
        if not self._is_of_this_machine():
            self.send_error(403, "kedgeline relay answers programs of this machine")
            return
        body = self._body()
        session = self.headers.get("session_id") or self.headers.get("session-id") or ""
        if MARK.encode() in body and (summary := self._in_time(body, session)):
            self._start(200, [("content-type", "text/event-stream")])
            for piece in _events(summary):
                self.wfile.write(piece)
            return
        self._pass_on(body)

    do_GET = do_DELETE = do_PUT = do_PATCH = do_POST

    def _in_time(self, body: bytes, session: str) -> str:
        found = SimpleQueue[str]()
        Thread(target=lambda: found.put(relayed_summary(body, session)), daemon=True).start()
        try:
            return found.get(timeout=REPLACE_SECONDS)
        except Empty:
            places.log(f"codex: no answer to a compaction within {REPLACE_SECONDS} seconds")
            return ""

    def _is_of_this_machine(self) -> bool:
        """A page in a browser can have its own name lead here; it tells that name, or its own."""
        named = (self.headers.get("host") or "").rpartition(":")[0]
        return named in NAMES and "origin" not in self.headers

    def _body(self) -> bytes:
        if "chunked" not in (self.headers.get("transfer-encoding") or ""):
            return self.rfile.read(int(self.headers.get("content-length") or 0))
        pieces = []
        while size := int(self.rfile.readline().split(b";")[0], 16):
            pieces.append(self.rfile.read(size))
            self.rfile.readline()
        while self.rfile.readline().strip():
            pass
        return b"".join(pieces)

    def _pass_on(self, body: bytes) -> None:
        """To the model and back, piece by piece as it comes."""
        upstream = self.server.upstream
        kept = {
            k: v
            for k, v in self.headers.items()
            if k.lower() not in (*HOPS, "host", "content-length")
        }
        path = upstream.path.rstrip("/") + self.path
        connection = self.server.connected()
        try:
            connection.request(self.command, path, body or None, kept)
            answer = connection.getresponse()
        except (OSError, http.client.HTTPException) as error:
            connection.close()
            self.send_error(502, f"{upstream.hostname} does not answer: {type(error).__name__}")
            return
        with answer:
            self._start(answer.status, answer.getheaders())
            with suppress(OSError, http.client.HTTPException):
                while piece := answer.read1(PIECE):
                    self.wfile.write(piece)
        connection.close()

    def _start(self, status: int, headers: Iterable[tuple[str, str]]) -> None:
        """The end of the connection is the end of the answer."""
        self.send_response_only(status)
        for name, value in headers:
            if name.lower() not in HOPS:
                self.send_header(name, value)
        self.send_header("connection", "close")
        self.end_headers()

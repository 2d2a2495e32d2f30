"""The server that a client starts and talks to on stdin and stdout: a line of JSON-RPC each way.
The SDK takes a second to load, for which every session of an agent would wait."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import version
from threading import Lock
from typing import Any, BinaryIO

import msgspec

from kedgeline.errors import UserError
from kedgeline.hosts.mcp.calls import INSTRUCTIONS, answering, tools
from kedgeline.hosts.mcp.sessions import Kept

VERSIONS = ("2025-11-25", "2025-06-18", "2025-03-26", "2024-11-05")
"""Of the protocol, the newest first; tools alone are the same in all of them."""
NOT_JSON, NO_REQUEST, NO_METHOD = -32_700, -32_600, -32_601
INTERRUPTED = 128 + signal.SIGINT
"""What shells expect of a program that an interrupt ended."""
CALLS = 4
"""That are answered at the same time."""


def serve_stdio(kept: Kept) -> None:
    """Until the client is gone, or an interrupt."""
    if sys.stdin is None:
        raise UserError("there is no stdin to serve; let a client start it, or give --http")
    # The store takes back what is half written when the program goes.
    signal.signal(signal.SIGINT, lambda *_: os._exit(INTERRUPTED))
    talk = Talk(kept, sys.stdout.buffer)
    for line in sys.stdin.buffer:
        talk.hear(line)
    talk.end()


class Talk:
    """What one client says, and what it is answered. Calls are answered when they are done, all
    else at once."""

    def __init__(self, kept: Kept, writing: BinaryIO) -> None:
        self._answered, self._writing, self._lock = answering(kept), writing, Lock()
        self._threads = ThreadPoolExecutor(CALLS)
        self._cancelled: set[Any] = set()

    def hear(self, line: bytes) -> None:
        try:
            told = msgspec.json.decode(line)
        except ValueError:
            if line.strip():
                self._say({"id": None, "error": {"code": NOT_JSON, "message": "no JSON"}})
            return
        if not isinstance(told, dict) or not isinstance(told.get("method"), str):
            is_answer = isinstance(told, dict) and ("result" in told or "error" in told)
            if not is_answer:
                self._say({"id": None, "error": {"code": NO_REQUEST, "message": "no request"}})
            return
        method, given, id = told["method"], told.get("params"), told.get("id")
        given = given if isinstance(given, dict) else {}
        if method == "notifications/cancelled":
            self._cancelled.add(str(given.get("requestId")))
        elif id is not None and method == "tools/call":
            self._threads.submit(self._call, id, given)
        elif id is not None:
            self._say({"id": id, **_told(method, given)})

    def end(self) -> None:
        """The answers to what was asked are given still."""
        self._threads.shutdown()

    def _call(self, id: Any, given: Mapping[str, Any]) -> None:
        arguments = given.get("arguments")
        arguments = arguments if isinstance(arguments, dict) else {}
        result = self._answered(str(given.get("name")), arguments)
        if str(id) not in self._cancelled:
            self._say({"id": id, "result": result})

    def _say(self, answer: Mapping[str, Any]) -> None:
        line = msgspec.json.encode({"jsonrpc": "2.0", **answer}) + b"\n"
        with self._lock:
            try:
                self._writing.write(line)
                self._writing.flush()
            except BrokenPipeError:  # nobody hears it any more
                os._exit(0)


def _told(method: str, given: Mapping[str, Any]) -> dict[str, Any]:
    if method == "initialize":
        wanted = given.get("protocolVersion")
        about: dict[str, Any] = {
            "protocolVersion": wanted if wanted in VERSIONS else VERSIONS[0],
            "capabilities": {"tools": {}},
            "serverInfo": {"name": "kedgeline", "version": version("kedgeline")},
            "instructions": INSTRUCTIONS,
        }
        return {"result": about}
    if method == "ping":
        return {"result": {}}
    if method == "tools/list":
        return {"result": {"tools": tools()}}
    return {"error": {"code": NO_METHOD, "message": f"there is no method {method[:80]}"}}

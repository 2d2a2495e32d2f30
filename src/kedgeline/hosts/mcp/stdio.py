"""The server that a client starts and talks to on stdin and stdout: a line of JSON-RPC each way.
The SDK of the protocol takes a second to load, for which every session of an agent would wait."""

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
PARALLEL_CALLS = 4


def serve_stdio(kept: Kept) -> None:
    """Until the client is gone, or an interrupt."""
    if sys.stdin is None:
        raise UserError("there is no stdin to serve; let a client start it")
    # The store takes back what is half written when the program goes.
    signal.signal(signal.SIGINT, lambda *_: os._exit(INTERRUPTED))
    connection = Connection(kept, sys.stdout.buffer)
    for line in sys.stdin.buffer:
        connection.receive(line)
    connection.finish()


class Connection:
    """Messages of one client. Calls are answered when they are done, all other requests at once."""

    def __init__(self, kept: Kept, output: BinaryIO) -> None:
        self._answer, self._output, self._lock = answering(kept), output, Lock()
        self._threads = ThreadPoolExecutor(PARALLEL_CALLS)
        self._cancelled: set[Any] = set()

    def receive(self, line: bytes) -> None:
        try:
            message = msgspec.json.decode(line)
        except ValueError:
            if line.strip():
                self._send({"id": None, "error": {"code": NOT_JSON, "message": "no JSON"}})
            return
        if not isinstance(message, dict) or not isinstance(message.get("method"), str):
            is_response = isinstance(message, dict) and ("result" in message or "error" in message)
            if not is_response:
                self._send({"id": None, "error": {"code": NO_REQUEST, "message": "no request"}})
            return
        method, params, id = message["method"], message.get("params"), message.get("id")
        params = params if isinstance(params, dict) else {}
        if method == "notifications/cancelled":
            self._cancelled.add(str(params.get("requestId")))
        elif id is not None and method == "tools/call":
            self._threads.submit(self._call, id, params)
        elif id is not None:
            self._send({"id": id, **_response(method, params)})

    def finish(self) -> None:
        """Wait for the calls that are still running."""
        self._threads.shutdown()

    def _call(self, id: Any, params: Mapping[str, Any]) -> None:
        arguments = params.get("arguments")
        arguments = arguments if isinstance(arguments, dict) else {}
        result = self._answer(str(params.get("name")), arguments)
        if str(id) not in self._cancelled:
            self._send({"id": id, "result": result})

    def _send(self, response: Mapping[str, Any]) -> None:
        line = msgspec.json.encode({"jsonrpc": "2.0", **response}) + b"\n"
        with self._lock:
            try:
                self._output.write(line)
                self._output.flush()
            except BrokenPipeError:  # the client is gone
                os._exit(0)


def _response(method: str, params: Mapping[str, Any]) -> dict[str, Any]:
    if method == "initialize":
        wanted = params.get("protocolVersion")
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

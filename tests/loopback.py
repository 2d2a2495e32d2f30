"""A server on a free port of this machine, for as long as a block runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import TypeVar

LOOK_EVERY = 0.005
"""Seconds between two looks at whether the server is to end."""


class Loopback(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, handler: type[BaseHTTPRequestHandler]) -> None:
        super().__init__(("127.0.0.1", 0), handler)

    def server_bind(self) -> None:
        """Without a look for the name of this machine, which may take seconds."""
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()
        self.server_name, self.server_port = "127.0.0.1", self.server_address[1]

    def handle_error(self, *_: object) -> None:
        """Clients go away when they have what they want; some tests are about that."""

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


S = TypeVar("S", bound=Loopback)


@contextmanager
def running(server: S) -> Iterator[S]:
    thread = Thread(target=server.serve_forever, args=(LOOK_EVERY,), daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()

"""Faults between a writer and its server, and what must be there after them."""

from __future__ import annotations

import socket
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Literal, NamedTuple

from kedgeline.errors import StoreFailed
from kedgeline.store import Entry, Store

SESSION = "kept"
SOCKET = ".s.PGSQL.5432"
COMMIT = b"COMMIT\0"
CHUNK = 1 << 16
TRIES = 200
PAUSE_SECONDS = 0.02

How = Literal["before", "half", "after", "killed"]
"""When the connection goes: before a message, in the middle of it, after the server has answered
it; or its backend is killed before it."""


class Fault(NamedTuple):
    at: int
    """Which message of the client, counted from 1; 0 is the next that commits."""
    how: How


class Proxy:
    """Stands between clients and a server's socket, and cuts a connection where it is told to."""

    def __init__(self, server: Path, folder: Path, kill: Callable[[], object]) -> None:
        self._server, self._kill = server / SOCKET, kill
        self._fault: Fault | None = None
        self._count = 0
        self._listening = socket.socket(socket.AF_UNIX)
        self._listening.bind(str(folder / SOCKET))
        self._listening.listen()
        self._threads = [threading.Thread(target=self._accept)]
        self._open: list[socket.socket] = []
        self._threads[0].start()

    def arm(self, fault: Fault) -> None:
        self._count, self._fault = 0, fault

    @property
    def fired(self) -> bool:
        return self._fault is None

    def close(self) -> None:
        with suppress(OSError):
            self._listening.shutdown(socket.SHUT_RDWR)
        self._listening.close()
        for each in self._open:
            _cut(each)
        for thread in self._threads:
            thread.join()

    def _accept(self) -> None:
        while True:
            try:
                client, _ = self._listening.accept()
                server = socket.socket(socket.AF_UNIX)
                server.connect(str(self._server))
            except OSError:
                return
            self._open += [client, server]
            for target in (self._to_server, self._to_client):
                thread = threading.Thread(target=target, args=(client, server))
                self._threads.append(thread)
                thread.start()

    def _to_server(self, client: socket.socket, server: socket.socket) -> None:
        with suppress(OSError):
            while message := client.recv(CHUNK):
                self._count += 1
                fault = self._fault
                if fault is not None and (
                    COMMIT in message if not fault.at else self._count >= fault.at
                ):
                    self._fault = None
                    self._strike(fault.how, message, client, server)
                else:
                    server.sendall(message)
        _cut(client)
        _cut(server)

    def _strike(
        self, how: How, message: bytes, client: socket.socket, server: socket.socket
    ) -> None:
        if how == "killed":
            self._kill()
            server.sendall(message)
            return
        _cut(client)
        if how == "half":
            server.sendall(message[: len(message) // 2])
        if how == "after":
            server.sendall(message)
            time.sleep(PAUSE_SECONDS)  # its answer goes nowhere: the client is gone
        _cut(server)

    def _to_client(self, client: socket.socket, server: socket.socket) -> None:
        with suppress(OSError):
            while answer := server.recv(CHUNK):
                with suppress(OSError):
                    client.sendall(answer)
        _cut(client)
        client.close()
        server.close()


def _cut(each: socket.socket) -> None:
    with suppress(OSError):
        each.shutdown(socket.SHUT_RDWR)


def append(store: Store, name: str) -> None:
    """Write an entry, again and again until it is confirmed: only what is not there under its key
    is written again."""
    for _ in range(TRIES):
        try:
            with store.writing(SESSION) as writing:
                if writing.keyed(SESSION, name) is None:
                    index = writing.head(SESSION).number
                    writing.add(Entry(kind="turn", index=index, data=name.encode(), key=name))
            return
        except StoreFailed:
            time.sleep(PAUSE_SECONDS)
    raise AssertionError(f"{name} was not written in {TRIES} tries")


def violations(store: Store, confirmed: list[str]) -> list[str]:
    """Entries that were confirmed and are lost, that are there twice, and what else is wrong."""
    entries = list(store.entries(SESSION))
    there = Counter(entry.data.decode() for entry in entries)
    found = [f"lost: {name}" for name in confirmed if name not in there]
    found += [f"twice: {name}" for name, count in there.items() if count > 1]
    if [entry.number for entry in entries] != list(range(1, len(entries) + 1)):
        found.append("numbers leave a gap")
    return found + [f"{problem.where}: {problem.what}" for problem in store.problems()]

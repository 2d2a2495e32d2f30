"""The lines that a client sends on stdin, read so that the program can end at any time."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from contextlib import suppress
from threading import Semaphore, Thread

CHUNK = 1 << 16
"""Bytes that are read at once: as many as a pipe holds."""
AHEAD = 16
"""Lines that are read before anybody takes them."""
LOOK_EVERY = 0.5
"""Seconds between two looks at whether anybody is left to take them."""


class Lines:
    """An iterator over the lines of a descriptor, for the loop in which it is made. They are read
    in a thread of its own, which nobody waits for: a read that blocks cannot be ended."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor, self._loop = descriptor, asyncio.get_running_loop()
        self._read: asyncio.Queue[str | None] = asyncio.Queue()
        self._room = Semaphore(AHEAD)
        Thread(target=self._pump, name="kedge mcp stdin", daemon=True).start()

    def __aiter__(self) -> Lines:
        return self

    async def __anext__(self) -> str:
        line = await self._read.get()
        self._room.release()
        if line is None:
            raise StopAsyncIteration
        return line

    def _pump(self) -> None:
        for line in _lines(self._descriptor):
            if not self._put(line):
                return
        self._put(None)

    def _put(self, line: str | None) -> bool:
        """Hand a line over as soon as there is room. Not where the loop is gone."""
        while not self._room.acquire(timeout=LOOK_EVERY):
            if self._loop.is_closed():
                return False
        try:
            self._loop.call_soon_threadsafe(self._read.put_nowait, line)
        except RuntimeError:
            return False
        return True


def _lines(descriptor: int) -> Iterator[str]:
    """Each with its end; the last one may have none."""
    rest: list[bytes] = []
    while chunk := _chunk(descriptor):
        *whole, begun = chunk.split(b"\n")
        for line in whole:
            yield b"".join((*rest, line, b"\n")).decode("utf-8", "replace")
            rest.clear()
        rest.append(begun)
    if last := b"".join(rest):
        yield last.decode("utf-8", "replace")


def _chunk(descriptor: int) -> bytes:
    """What came next; nothing at the end, and where the descriptor is none."""
    with suppress(OSError):
        return os.read(descriptor, CHUNK)
    return b""

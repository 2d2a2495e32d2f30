"""A place in the queue for a bank: a byte of a file, locked by the kernel for as long as one waits.

The byte is that of the moment one came, so that a lock on an earlier byte is somebody who came
before. Nothing is written, and a killed process leaves its place."""

from __future__ import annotations

import fcntl
import struct
import sys
import time
from contextlib import suppress

FLOCK = "hhqqi"
"""How Linux has a range of a file: kind, from where, first byte, bytes, process."""


class Turn:
    """Where this waiter stands. On a system that cannot lock a range, everybody is first."""

    def __init__(self, queue: int) -> None:
        self._queue = queue
        self._moment = time.monotonic_ns()
        self._waits = False
        if sys.platform == "linux":
            with suppress(OSError):  # a file system that cannot, or the very same moment
                fcntl.fcntl(queue, fcntl.F_OFD_SETLK, _range(self._moment, 1))
                self._waits = True

    def is_first(self) -> bool:
        if sys.platform != "linux" or not self._waits:
            return True
        try:
            found = fcntl.fcntl(self._queue, fcntl.F_OFD_GETLK, _range(0, self._moment))
        except OSError:
            return True
        return bool(struct.unpack(FLOCK, found)[0] == fcntl.F_UNLCK)


def _range(start: int, length: int) -> bytes:
    return struct.pack(FLOCK, fcntl.F_WRLCK, 0, start, length, 0)

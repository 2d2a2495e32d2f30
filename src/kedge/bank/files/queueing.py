"""A place in the queue for a bank: a byte of a file, locked by the kernel for as long as one waits.

The byte is that of the moment one came, so that a lock on an earlier byte is somebody who came
before. Nothing is written, and a killed process leaves its place."""

from __future__ import annotations

import struct
import sys
import time
from contextlib import suppress

FLOCK = "hhqqi4x"
"""How Linux has a range of a file: kind, from where, first byte, bytes, process."""


class Turn:
    """Where this waiter stands. On a system that cannot lock a range, everybody is first."""

    def __init__(self, queue: int) -> None:
        self._queue = queue
        self._moment = time.monotonic_ns()
        self._waits = False
        if sys.platform == "linux":
            import fcntl

            with suppress(OSError):  # a file system that cannot, or the very same moment
                fcntl.fcntl(queue, fcntl.F_OFD_SETLK, _range(fcntl.F_WRLCK, self._moment, 1))
                self._waits = True

    def is_first(self) -> bool:
        if sys.platform != "linux" or not self._waits:
            return True
        import fcntl

        try:
            earlier = _range(fcntl.F_WRLCK, 0, self._moment)
            found = fcntl.fcntl(self._queue, fcntl.F_OFD_GETLK, earlier)
        except OSError:
            return True
        return bool(struct.unpack(FLOCK, found)[0] == fcntl.F_UNLCK)

    def leave(self) -> None:
        """Also for a child that was forked meanwhile and has the same file open."""
        if sys.platform == "linux" and self._waits:
            import fcntl

            with suppress(OSError):  # it goes with the last who has the file open
                fcntl.fcntl(self._queue, fcntl.F_OFD_SETLK, _range(fcntl.F_UNLCK, 0, 0))


def _range(kind: int, start: int, length: int) -> bytes:
    return struct.pack(FLOCK, kind, 0, start, length, 0)

"""The kernel's lock on a bank: one process at a time, and a killed one holds nothing."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from random import uniform

from kedge.bank.files.layout import LOCK, OWN, QUEUE
from kedge.bank.files.queueing import Turn
from kedge.errors import StoreBusy
from kedge.guarded_files import PRIVATE_FILE, Folder, refused

FIRST, BEHIND = 0.003, 0.03
"""Seconds between two looks, for the first in the queue and for those behind: an append holds the
lock for some milliseconds, and fifty who wait must not keep the processor busy."""
IMPATIENT = 0.01
"""Share of looks at which one behind tries all the same: the first may have been stopped."""


@contextmanager
def locked(bank: Folder, *, wait: float, clock: Callable[[], float]) -> Iterator[Folder]:
    """Our folder in the bank, held alone. It waits so many seconds at the most."""
    end = clock() + wait
    with ExitStack() as held:
        own = None
        while own is None:
            own = _held(bank, held, lambda: max(0.0, end - clock()), wait)
        yield own


def _held(bank: Folder, held: ExitStack, left: Callable[[], float], wait: float) -> Folder | None:
    """Our folder, or nothing where it was replaced while we waited for its lock."""
    with ExitStack() as trying:
        own = trying.enter_context(bank.below(OWN, create=True))
        assert own is not None
        descriptor = _opened(own, LOCK)
        trying.callback(_given_back, descriptor)
        if not _taken_in_turn(own, descriptor, left):
            raise StoreBusy(str(bank.path), wait)
        if not _still_there(bank, own, descriptor):
            return None
        held.push(trying.pop_all())
        return own


def _taken_in_turn(own: Folder, descriptor: int, left: Callable[[], float]) -> bool:
    """Whether the lock was taken in time. Who came first goes first: a process that takes it again
    and again would otherwise always be faster than those who look only now and then."""
    queue = _opened(own, QUEUE)
    turn = Turn(queue)
    try:
        while True:
            first = turn.is_first()
            if (first or uniform(0, 1) < IMPATIENT) and _taken(descriptor, own.path / LOCK):
                return True
            if not left():
                return False
            time.sleep(min(uniform(0, FIRST if first else BEHIND), left()))
    finally:
        turn.leave()
        os.close(queue)


def _opened(own: Folder, name: str) -> int:
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
    try:
        return os.open(name, flags, PRIVATE_FILE, dir_fd=own.descriptor)
    except OSError as error:
        raise refused(own.path / name, error, own.descriptor) from error


def _taken(descriptor: int, path: Path) -> bool:
    import fcntl  # not on every system; those without it are refused before

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError as error:
        raise refused(path, error) from error
    return True


def _given_back(descriptor: int) -> None:
    """Also for a child that was forked meanwhile and has the same file open."""
    import fcntl

    with suppress(OSError):  # it goes with the last who has the file open
        fcntl.flock(descriptor, fcntl.LOCK_UN)
    os.close(descriptor)


def _still_there(bank: Folder, own: Folder, descriptor: int) -> bool:
    """Whether the names still lead to what is locked: our folder may have been removed."""
    with suppress(FileNotFoundError):
        folder = os.stat(OWN, dir_fd=bank.descriptor, follow_symlinks=False)
        lock = os.stat(LOCK, dir_fd=own.descriptor, follow_symlinks=False)
        return os.path.samestat(folder, os.fstat(own.descriptor)) and os.path.samestat(
            lock, os.fstat(descriptor)
        )
    return False

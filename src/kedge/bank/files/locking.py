"""The kernel's lock on a bank: one process at a time, and a killed one holds nothing."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from random import uniform
from typing import NamedTuple

from kedge.bank.files.layout import LOCK, OWN, QUEUE
from kedge.errors import StoreBusy
from kedge.guarded_files import PRIVATE_FILE, Folder, refused

SHORTEST, LONGEST = 0.002, 0.03
"""Seconds between two looks at the lock: an append holds it for some milliseconds, and fifty who
wait must not keep the processor busy."""
PATIENCE = 1.5
"""Seconds after which one looks more often, by their square: who came first shall be first. Without
it, chance lets one of a thousand wait ten times as long as the others."""


@contextmanager
def locked(bank: Folder, *, wait: float, clock: Callable[[], float]) -> Iterator[Folder]:
    """Our folder in the bank, held alone. It waits so many seconds at the most."""
    began = clock()
    with ExitStack() as held:
        own = None
        while own is None:
            own = _held(bank, held, Waiting(began, wait, clock))
        yield own


class Waiting(NamedTuple):
    """How long one waits, and since when."""

    began: float
    limit: float
    clock: Callable[[], float]

    def pause(self, bank: Folder) -> None:
        """Shorter for who has waited long, and never the same for two."""
        waited = max(0.0, self.clock() - self.began)
        if waited >= self.limit:
            raise StoreBusy(str(bank.path), self.limit)
        longest = max(SHORTEST, LONGEST * min(1.0, PATIENCE / (waited or PATIENCE)) ** 2)
        time.sleep(min(uniform(SHORTEST / 2, longest), self.limit - waited))


def _held(bank: Folder, held: ExitStack, waiting: Waiting) -> Folder | None:
    """Our folder, or nothing where it was replaced while we waited for its lock."""
    with ExitStack() as trying:
        own = trying.enter_context(bank.below(OWN, create=True))
        assert own is not None
        descriptor = _opened(own, LOCK)
        trying.callback(_given_back, descriptor)
        _wait_in_turn(bank, own, descriptor, waiting)
        if not _still_there(bank, own, descriptor):
            return None
        held.push(trying.pop_all())
        return own


def _wait_in_turn(bank: Folder, own: Folder, descriptor: int, waiting: Waiting) -> None:
    """Take the lock. Who comes while others wait, waits too: a process that takes it again and
    again would otherwise always be faster than those who look only now and then."""
    queue = _opened(own, QUEUE)
    try:
        if _taken(queue, own.path / QUEUE) and _taken(descriptor, own.path / LOCK):
            return
        _taken(queue, own.path / QUEUE, shared=True)
        waiting.pause(bank)
        while not _taken(descriptor, own.path / LOCK):
            waiting.pause(bank)
    finally:
        os.close(queue)


def _opened(own: Folder, name: str) -> int:
    flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK
    try:
        return os.open(name, flags, PRIVATE_FILE, dir_fd=own.descriptor)
    except OSError as error:
        raise refused(own.path / name, error, own.descriptor) from error


def _taken(descriptor: int, path: Path, *, shared: bool = False) -> bool:
    import fcntl  # not on every system; those without it are refused before

    try:
        fcntl.flock(descriptor, (fcntl.LOCK_SH if shared else fcntl.LOCK_EX) | fcntl.LOCK_NB)
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

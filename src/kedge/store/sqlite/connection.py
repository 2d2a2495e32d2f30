"""Open databases: one for each thread, none carried into a forked process."""

from __future__ import annotations

import os
import random
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

import apsw

from kedge.errors import StoreFailed
from kedge.store.sqlite.failing import BUSY_SECONDS, reported
from kedge.store.sqlite.finding import prepare_ranking
from kedge.store.sqlite.folder import guarded_database, guarded_folder
from kedge.store.sqlite.journal import Journal, version_of, wanted_journal
from kedge.store.sqlite.schema import MIGRATIONS, PAGE_BYTES, Step, is_current, migrate
from kedge.store.values import Durability

CACHE_KIBIBYTES = 8_192
"""Of pages, for each thread that uses the store: one gigabyte must be taken in within 256 MB."""
WAIT_SECONDS = (0.000_1, 0.001_5)
"""Least and most between two tries to get the lock; by chance, so that no writer always loses."""
SYNCHRONOUS: Final = {
    ("wal", "durable"): "FULL",
    ("wal", "fast"): "NORMAL",
    ("truncate", "durable"): "EXTRA",  # the folder too: the journal's end must be on disk
    ("truncate", "fast"): "FULL",  # NORMAL may leave a damaged database behind a power cut
}

_OPENING = threading.Lock()
"""No file of a database is made in this process while another thread opens it: closing the new
file would drop the other's locks."""
_LEFT_BEHIND: list[apsw.Connection] = []
"""Connections of the process that this one was forked from. To close them would be to act for it,
so they are kept open and never used."""


class Connections:
    """The connections of one store."""

    def __init__(
        self, place: str, durability: Durability, *, steps: tuple[Step, ...] = MIGRATIONS
    ) -> None:
        self.place = place
        self.journal: Journal = "wal"
        """The journal in force."""
        self._durability, self._steps = durability, steps
        guarded_folder(place)
        self._process = os.getpid()
        self._open: dict[int, apsw.Connection] = {}
        self._closed = False

    def current(self) -> apsw.Connection:
        """The connection of this thread, opened where there is none."""
        if self._closed:
            raise StoreFailed(self.place, "it was closed", next_step="open it again")
        if self._process != os.getpid():
            _LEFT_BEHIND.extend(self._open.values())
            self._open, self._process = {}, os.getpid()
        thread = threading.get_ident()
        found = self._open.get(thread)
        if found is None:
            self._forget_ended()
            found = self._open[thread] = self._opened()
        return found

    def discard(self) -> None:
        """Close the connection of this thread: it failed, and its state is not to be trusted."""
        found = self._open.pop(threading.get_ident(), None)
        if found is not None and self._process == os.getpid():
            found.close(force=True)

    def close(self) -> None:
        self._closed = True
        if self._process == os.getpid():
            for connection in self._open.values():
                connection.close(force=True)
        else:
            _LEFT_BEHIND.extend(self._open.values())
        self._open = {}

    def _forget_ended(self) -> None:
        """Close what ended threads have left open."""
        alive = {thread.ident for thread in threading.enumerate()}
        for thread in [each for each in self._open if each not in alive]:
            self._open.pop(thread).close(force=True)

    def _opened(self) -> apsw.Connection:
        with _OPENING, reported(self.place):
            path = guarded_database(guarded_folder(self.place))
            flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_NOFOLLOW
            connection = apsw.Connection(str(path), flags=flags)
        ready = False
        try:
            with reported(self.place):
                if connection.readonly("main"):  # SQLite does so by itself where it may not write
                    raise apsw.ReadOnlyError("it could be opened for reading only")
                connection.set_busy_handler(Patience())
                is_current(connection, self.place, self._steps)  # else nothing may be changed
                patiently(lambda: self._prepare(connection, path))
                migrate(connection, self.place, self._steps)
                prepare_ranking(connection)
            ready = True
        finally:
            if not ready:
                connection.close(force=True)
        return connection

    def _prepare(self, connection: apsw.Connection, path: Path) -> None:
        if not connection.pragma("user_version"):  # once there are tables, it would take the lock
            connection.pragma("page_size", PAGE_BYTES)
            connection.pragma("auto_vacuum", "INCREMENTAL")
        connection.pragma("cache_size", -CACHE_KIBIBYTES)
        connection.pragma("temp_store", "MEMORY")  # what was said must not get into a shared folder
        connection.pragma("trusted_schema", False)
        wanted = wanted_journal(path, version_of(apsw.sqlite_lib_version()))
        if connection.pragma("journal_mode", wanted) != wanted:
            wanted = "truncate"
            if connection.pragma("journal_mode", wanted) != wanted:
                raise StoreFailed(
                    self.place,
                    "its journal cannot be made safe while others have it open",
                    next_step="close the others, then try again; nothing was written",
                )
        self.journal = wanted
        connection.pragma("synchronous", SYNCHRONOUS[wanted, self._durability])
        connection.pragma("fullfsync", self._durability == "durable")


def patiently(step: Callable[[], None]) -> None:
    """Take a step that SQLite may refuse without waiting: where two go from reading to writing at
    once, it lets one of them fail."""
    until = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            return step()
        except apsw.BusyError:
            if time.monotonic() > until:
                raise
        time.sleep(random.uniform(*WAIT_SECONDS))


class Patience:
    """Waits for a lock, up to a limit for each time it is wanted."""

    def __init__(self, seconds: float = BUSY_SECONDS) -> None:
        self._seconds, self._until = seconds, 0.0

    def __call__(self, tries: int) -> bool:
        if tries == 0:
            self._until = time.monotonic() + self._seconds
        time.sleep(random.uniform(*WAIT_SECONDS))
        return time.monotonic() < self._until

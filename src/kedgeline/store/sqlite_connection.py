"""A database: its files, journal and tables, and the connections to it, one for each thread,
none carried into a forked process."""

from __future__ import annotations

import os
import random
import re
import stat
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext, suppress
from itertools import count
from pathlib import Path
from typing import Any, Final, Literal

import apsw

from kedgeline.errors import (
    FileRefused,
    KedgelineError,
    StoreBusy,
    StoreDamaged,
    StoreFailed,
    UserError,
)
from kedgeline.store.values import WAIT_SECONDS, Durability, score_of

# What SQLite reports, in our words; the only place that knows its errors.

SAFE_AGAIN = "what was written last may not be there; appending the same again is safe"

_WHY: tuple[tuple[type[apsw.Error], str, str], ...] = (
    (apsw.FullError, "no space is left", f"make room, then try again: {SAFE_AGAIN}"),
    (apsw.IOError, "the disk reports an error", f"check the disk, then try again: {SAFE_AGAIN}"),
    (apsw.ReadOnlyError, "it may not be written to", "check its permissions; nothing was written"),
    (apsw.CantOpenError, "it cannot be opened", "check the path and its permissions"),
    (apsw.PermissionsError, "it may not be opened", "check its permissions"),
    (apsw.TooBigError, "an entry is larger than SQLite can keep", "nothing was written"),
    (apsw.NoMemError, "no memory is left", "nothing was written; try again"),
)
_OTHER = "close what else has it open, then try again; nothing was written"


def in_our_words(place: str, error: apsw.Error, wait: float = WAIT_SECONDS) -> KedgelineError:
    if isinstance(error, (apsw.BusyError, apsw.LockedError)):
        return StoreBusy(place, wait)
    if isinstance(error, apsw.NotADBError):
        return FileRefused(place, "it is no SQLite database; move it away")
    if isinstance(error, apsw.CorruptError):
        return StoreDamaged(place, f"the database is damaged ({error})")
    for kind, why, next_step in _WHY:
        if isinstance(error, kind):
            return StoreFailed(place, f"{why} ({error})", next_step=next_step)
    return StoreFailed(place, str(error) or type(error).__name__, next_step=_OTHER)


@contextmanager
def reported(place: str, wait: float) -> Iterator[None]:
    """Raise what SQLite raises as an error of ours."""
    try:
        yield
    except apsw.Error as error:
        raise in_our_words(place, error, wait) from error


# The folder of a store and the files in it: private, ours, and what they seem to be.

DATABASE = "kedgeline.db"
COMPANIONS = ("-wal", "-shm", "-journal")
"""What SQLite keeps beside a database, under its name; they get the mode of the database."""
PRIVATE_FOLDER, PRIVATE_FILE = 0o700, 0o600
"""What is made here is for its owner alone: it holds all that was said."""
OTHERS_WRITE = 0o022
HEADER_BYTES = 100
"""Least of a database that is not empty. SQLite would write over what has less."""


def guarded_folder(place: str) -> Path:
    """The folder at a place, made where it is missing. Links may lead to it; it may not be one."""
    try:
        given = Path(os.path.abspath(place))
        folder = Path(os.path.realpath(given.parent), given.name)
        _make(folder)
        found = os.lstat(folder)
    except (OSError, ValueError) as error:
        raise _unusable(place, error) from error
    if stat.S_ISLNK(found.st_mode):
        raise FileRefused(
            place, "it is a symbolic link, and links are not followed; put what it names there"
        )
    if not stat.S_ISDIR(found.st_mode):
        raise FileRefused(place, "it is no folder; name the folder that shall hold the store")
    if hasattr(os, "geteuid") and found.st_uid != os.geteuid():
        raise FileRefused(place, "the folder belongs to somebody else; name one of your own")
    if found.st_mode & OTHERS_WRITE:
        raise FileRefused(
            place, "others may write to the folder; name one inside it, or run chmod go-w on it"
        )
    return folder


def guarded_database(folder: Path) -> Path:
    """The database in a guarded folder, made empty where it is missing. A file that is there is
    looked at by name only: to open and close it would drop the locks this process has on it."""
    path = folder / DATABASE
    try:
        with suppress(FileExistsError):
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0)
            os.close(os.open(path, flags, PRIVATE_FILE))
            _sync_folder(folder)
        beside = [Path(f"{path}{ending}") for ending in COMPANIONS]
        for name in (path, *beside):
            with suppress(FileNotFoundError):  # a companion comes and goes
                _check_file(name)
        if 0 < os.lstat(path).st_size < HEADER_BYTES and not any(map(os.path.lexists, beside)):
            raise FileRefused(str(path), "it is no SQLite database; move it away")
    except OSError as error:
        raise _unusable(str(path), error) from error
    return path


def _make(folder: Path) -> None:
    """Make a folder and those above it, and see to it that they are still there after a crash."""
    missing = [folder]
    while not os.path.lexists(missing[-1].parent):
        missing.append(missing[-1].parent)
    for each in reversed(missing):
        with suppress(FileExistsError):
            os.mkdir(each, PRIVATE_FOLDER)
            _sync_folder(each.parent)


def _check_file(path: Path) -> None:
    found = os.lstat(path)
    name = str(path)
    if stat.S_ISLNK(found.st_mode):
        raise FileRefused(name, "it is a symbolic link, and links are not followed; move it away")
    if not stat.S_ISREG(found.st_mode):
        raise FileRefused(name, "it is no plain file; move it away")
    if found.st_nlink > 1:
        raise FileRefused(name, "it has another name elsewhere; copy it to a file of its own")
    if hasattr(os, "geteuid") and found.st_uid != os.geteuid():
        raise FileRefused(name, "it belongs to somebody else; make it yours")
    if os.name == "posix" and stat.S_IMODE(found.st_mode) != PRIVATE_FILE:
        os.chmod(path, PRIVATE_FILE)


def _sync_folder(folder: Path) -> None:
    """A new name is on disk only when its folder is."""
    if os.name != "posix":
        return
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _unusable(place: str, error: OSError | ValueError) -> FileRefused | StoreFailed:
    why = (getattr(error, "strerror", None) or str(error)).lower()
    if isinstance(error, (FileNotFoundError, NotADirectoryError, PermissionError, ValueError)):
        return FileRefused(place, f"{why}; check the path")
    return StoreFailed(place, why, next_step="nothing was written; make room, then try again")


# Which journal a database may have: a write-ahead log only where it is safe.

Journal = Literal["wal", "truncate", "memory"]
MOUNTS = "/proc/self/mountinfo"
FIXED = ((3, 44, 6), (3, 50, 7), (3, 51, 3))
"""Versions that no longer lose what was written when two processes reset the log at once: the last
stands for all after it, the others for those of their own series."""
NETWORKED = re.compile(
    "9p|afs|beegfs|ceph|cifs|coda|gfs2?|glusterfs|gpfs|lustre|ncpfs|nfs4?|ocfs2|orangefs|pvfs2"
    "|smb[23]?|smbfs|vboxsf|virtiofs|vmhgfs|fuse(?!(blk|ctl)$).*"
)
"""File systems on which processes do not share memory: the log needs it. What lies behind one in
user space is not known; fuseblk is a disk."""

_ESCAPE = re.compile(r"\\([0-7]{3})")
"""How the table of mounts writes a blank."""


def version_of(text: str) -> tuple[int, int, int]:
    first, second, third = (int(part) for part in text.split(".")[:3])
    return first, second, third


def log_is_safe(version: tuple[int, int, int]) -> bool:
    """Whether a version of SQLite has the fix of the reset race in its write-ahead log."""
    return version >= FIXED[-1] or any(
        version[:2] == fixed[:2] and version >= fixed for fixed in FIXED
    )


def is_networked(path: Path, mounts: Iterable[str]) -> bool:
    """Whether a path lies on a network file system, by the lines of the table of mounts. The last
    of the mounts whose path is the longest beginning of it is the one that is seen."""
    longest, kind = -1, ""
    for line in mounts:
        left, _, right = line.partition(" - ")
        fields, described = left.split(), right.split()
        if len(fields) < 5 or not described:
            continue
        point = Path(_ESCAPE.sub(lambda found: chr(int(found[1], 8)), fields[4]))
        if len(point.parts) >= longest and path.is_relative_to(point):
            longest, kind = len(point.parts), described[0]
    return NETWORKED.fullmatch(kind.lower()) is not None


def wanted_journal(path: Path, version: tuple[int, int, int]) -> Journal:
    """The journal for a database at a real path. Without a table of mounts, a disk is assumed."""
    if not log_is_safe(version):
        return "truncate"
    try:
        with open(MOUNTS, encoding="utf-8", errors="surrogateescape") as mounts:
            return "truncate" if is_networked(path, mounts) else "wal"
    except OSError:
        return "truncate" if os.fspath(path).startswith(("\\\\", "//")) else "wal"


# The tables, and the steps from each version of them to the next.

APPLICATION = 0x6B656467
"""`kedg`: tells our databases from those of others."""
PAGE_BYTES = 4_096

Step = Callable[[apsw.Connection], None]
"""Takes a database from one version to the next, within a transaction that it leaves open."""

WORD_TABLE = """
CREATE VIRTUAL TABLE words USING fts5 (
  text, files, command, owner, marks,
  content = '', contentless_delete = 1, tokenize = 'ascii', detail = 'full'
);
"""

TEXT = 0
"""Column of the text among those of the words."""
MOST_COUNTED = 255
"""Times that a word counts in a passage."""
SCORE, COUNTS = "nearness", "counts"
"""Names of functions within SQLite: one ranks a match, the other counts what of a topic it has."""


def prepare_ranking(database: apsw.Connection) -> None:
    database.register_fts5_function(SCORE, _score)
    database.register_fts5_function(COUNTS, _counts)


def _score(match: apsw.FTS5ExtensionApi, /, *_: Any) -> float:
    """Of the phrases that are sought in the text; others match but do not rank."""
    if match.aux_data is None:  # once for each query
        average = match.column_total_size(TEXT) / max(1, match.row_count)
        match.aux_data = (match.phrase_count, average)
    phrases, average = match.aux_data
    hits = (len(match.phrase_column_offsets(phrase, TEXT)) for phrase in range(phrases))
    return score_of((count for count in hits if count), match.column_size(TEXT), average)


def _counts(match: apsw.FTS5ExtensionApi, forms: Any = b"", /, *_: Any) -> bytes:
    """How many words the text has, in four bytes, and how often each word of the topic, in one.
    The topic stands first in the expression; `forms` says how many phrases each word is."""
    counts = bytearray(match.column_size(TEXT).to_bytes(4))
    offsets, first = match.phrase_column_offsets, 0
    for many in forms:
        count = 0
        for phrase in range(first, first + many):
            count += len(offsets(phrase, TEXT))
        first += many
        counts.append(min(count, MOST_COUNTED))
    return bytes(counts)


def _first(database: apsw.Connection) -> None:
    database.execute(Path(__file__).with_name("sqlite_1.sql").read_text("utf-8"))
    database.execute(WORD_TABLE)


MIGRATIONS: tuple[Step, ...] = (_first,)
"""Step n leads from version n to n + 1. A step that was released is never changed."""


def is_current(database: apsw.Connection, place: str, steps: tuple[Step, ...]) -> bool:
    """Whether the database is of the last version. One of somebody else, or of a newer kedgeline,
    is refused before anything is changed."""
    with database:  # all as of one moment: somebody else may be making the tables
        version = database.pragma("user_version")
        application = database.pragma("application_id")
        empty = not database.execute("SELECT count(*) FROM sqlite_schema").get
    if application != APPLICATION and (application or version or not empty):
        raise FileRefused(place, "it is a database of another program; move it away")
    if version > len(steps):
        raise UserError(
            f"the store at {place!r} has schema {version}, and this kedgeline knows schemas up to "
            f"{len(steps)}; upgrade kedgeline: nothing was changed"
        )
    return bool(version == len(steps))


def migrate(database: apsw.Connection, place: str, steps: tuple[Step, ...] = MIGRATIONS) -> None:
    """Bring a database to the last version, a transaction for each step: a crash within one leaves
    what was before it, and the next to open goes on from there."""
    while not is_current(database, place, steps):
        database.execute("BEGIN EXCLUSIVE")
        try:
            if not is_current(database, place, steps):  # somebody else was faster
                version = database.pragma("user_version")
                steps[version](database)
                database.pragma("application_id", APPLICATION)
                database.pragma("user_version", version + 1)
            database.execute("COMMIT")
        finally:
            if database.in_transaction:
                database.execute("ROLLBACK")


CACHE_KIBIBYTES = 8_192
"""Of pages, for each thread that uses the store: one gigabyte must be taken in within 256 MB."""
LEAST_PAUSE, MOST_PAUSE = 0.01, 0.1
"""Seconds between two tries to get the lock, at the most: of who has waited long, and of who has
just come. Shorter ones take the processor away from who has the lock."""
AGEING = 0.05
"""Seconds after which a waiter tries four times as often: some turns of those before it."""
GIVEN_WAY = 0.15
"""Seconds, at the most, before who had the lock tries again."""
LEAST_GIVEN = 0.001
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
        self,
        place: str,
        durability: Durability,
        *,
        steps: tuple[Step, ...] = MIGRATIONS,
        wait: float = WAIT_SECONDS,
    ) -> None:
        self.place, self.wait = place, wait
        self.journal: Journal = "wal"
        """The journal in force."""
        self._durability, self.steps = durability, steps
        self._patience = Patience(wait)
        self.pages: AbstractContextManager[Any] = nullcontext()
        """Held while pages are read, or changed by a commit."""
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

    def begin(self) -> None:
        """Take the lock for the connection of this thread, in a new transaction."""
        self._patience.give_way()
        self.current().execute("BEGIN IMMEDIATE")

    def commit(self, connection: apsw.Connection) -> None:
        connection.execute("COMMIT")

    def release(self) -> None:
        """What `begin` took, after the transaction was ended."""

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
        with _OPENING, reported(self.place, self.wait):
            path = guarded_database(guarded_folder(self.place))
            flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_NOFOLLOW
            connection = apsw.Connection(str(path), flags=flags)
        ready = False
        try:
            with reported(self.place, self.wait):
                if connection.readonly("main"):  # SQLite does so by itself where it may not write
                    raise apsw.ReadOnlyError("it could be opened for reading only")
                connection.set_busy_handler(self._patience)
                is_current(connection, self.place, self.steps)  # else nothing may be changed
                patiently(lambda: self._prepare(connection, path), self.wait)
                migrate(connection, self.place, self.steps)
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


_MEMORIES = count()


class Memory:
    """A database in memory, there as long as this object is. SQLite's own locks would keep readers
    out while somebody writes, so it runs without: a writer's pages stay in its cache until the
    commit, and these locks keep two writers, or a reader and a commit, apart."""

    def __init__(self) -> None:
        self.writer = threading.Lock()
        self.pages = threading.RLock()
        self._address = f"file:/kedgeline-{next(_MEMORIES)}?vfs=memdb&nolock=1"
        self._keeper = self.connect()

    def connect(self) -> apsw.Connection:
        flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE | apsw.SQLITE_OPEN_URI
        return apsw.Connection(self._address, flags=flags)


class MemoryConnections(Connections):
    """The connections to a database in memory."""

    def __init__(self, place: str, memory: Memory, *, wait: float) -> None:
        super().__init__(place, "fast", wait=wait)
        self.journal, self.pages = "memory", memory.pages
        self._memory = memory

    def begin(self) -> None:
        if not self._memory.writer.acquire(timeout=self.wait):
            raise StoreBusy(self.place, self.wait)
        with ExitStack() as undone:
            undone.callback(self.release)
            self.current().execute("BEGIN IMMEDIATE")
            undone.pop_all()

    def commit(self, connection: apsw.Connection) -> None:
        with self.pages:
            super().commit(connection)

    def release(self) -> None:
        self._memory.writer.release()

    def _opened(self) -> apsw.Connection:
        with self.pages, reported(self.place, self.wait):
            connection = self._memory.connect()
            connection.pragma("journal_mode", "MEMORY")
            connection.pragma("cache_spill", False)
            connection.pragma("synchronous", "OFF")
            migrate(connection, self.place, self.steps)
            prepare_ranking(connection)
        return connection


def patiently(step: Callable[[], None], seconds: float) -> None:
    """Take a step that SQLite may refuse without waiting: where two go from reading to writing at
    once, it lets one of them fail."""
    patience, tries = Patience(seconds), count()
    while True:
        try:
            return step()
        except apsw.BusyError:
            if not patience(next(tries)):
                raise


class Patience(threading.local):
    """Waits for a lock, up to a limit for each time it is wanted. Who has waited longer tries more
    often, and who had to wait lets others go first the next times, ever more shortly: so all come
    to it by and by, nobody has to know of anybody else, and those who wait leave the processor
    alone."""

    def __init__(self, seconds: float) -> None:
        self._seconds, self._began, self._way = seconds, 0.0, 0.0

    def __call__(self, tries: int) -> bool:
        now = time.monotonic()
        if tries == 0:
            self._began = now
        waited = now - self._began
        most = max(LEAST_PAUSE, MOST_PAUSE / (1 + waited / AGEING) ** 2) if tries else LEAST_PAUSE
        time.sleep(random.uniform(0, most))
        self._way = min(waited, GIVEN_WAY)
        return waited < self._seconds

    def give_way(self) -> None:
        if self._way > LEAST_GIVEN:
            time.sleep(random.uniform(self._way / 2, self._way))
        self._way /= 2

"""The store in SQLite: in a folder, or in memory."""

from __future__ import annotations

import json
import os
import random
import threading
import time
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from itertools import count
from pathlib import Path
from secrets import token_hex
from typing import Any, ClassVar, Final, cast

import apsw

from kedgeline.errors import (
    FileRefused,
    KedgelineError,
    StoreBusy,
    StoreDamaged,
    StoreFailed,
    UserError,
)
from kedgeline.store.protocol import (
    WAIT_SECONDS,
    Durability,
    Passage,
    Phrase,
    Problem,
    Query,
    words,
)
from kedgeline.store.sqlite_files import (
    DATABASE,
    PRIVATE_FILE,
    Journal,
    guarded_database,
    guarded_folder,
    wanted_journal,
)
from kedgeline.store.table_store import PassageHit, Spread, TableStore, conditions, rank_by
from kedgeline.store.tables import (
    DERIVED,
    FAILED,
    LAST_INTEGER,
    MINE,
    PASSAGE,
    PASSAGE_VALUES,
    Block,
    Database,
    Row,
    column_text,
    owner_mark,
    readable_rows,
    session_mark,
    text_bytes,
)

# The tables, and the steps from each version of them to the next.

APPLICATION = 0x6B656467
"""`kedg`: tells our databases from those of others."""
PAGE_BYTES = 4_096
CACHE_KIBIBYTES = 8_192
"""Page cache of a connection: a gigabyte must be written within 256 MB of memory."""
SYNCHRONOUS: Final = {
    ("wal", "durable"): "FULL",
    ("wal", "fast"): "NORMAL",
    ("truncate", "durable"): "EXTRA",  # the folder too: the journal's end must be on disk
    ("truncate", "fast"): "FULL",  # NORMAL may leave a damaged database after a power cut
}
WORD_TABLE = """
CREATE VIRTUAL TABLE words USING fts5 (
  text, files, command, owner, marks,
  content = '', contentless_delete = 1, tokenize = 'ascii', detail = 'full'
);
"""

Step = Callable[[apsw.Connection], None]
"""Migrates from one version to the next, within a transaction that it leaves open."""


def _first(database: apsw.Connection) -> None:
    database.execute(Path(__file__).with_name("sqlite_1.sql").read_text("utf-8"))
    database.execute(WORD_TABLE)


MIGRATIONS: tuple[Step, ...] = (_first,)
"""Step n leads from version n to n + 1. A released step is never changed."""


def is_current(database: apsw.Connection, place: str, steps: tuple[Step, ...]) -> bool:
    """Whether the database has the last version. Another program's, or a newer kedgeline's, is
    refused before anything is changed."""
    with database:  # one state: another process may be creating the tables
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


def _migrate(database: apsw.Connection, place: str, steps: tuple[Step, ...] = MIGRATIONS) -> None:
    """Each step in a transaction: after a crash the next to open the store continues from there."""
    while not is_current(database, place, steps):
        database.execute("BEGIN EXCLUSIVE")
        try:
            if not is_current(database, place, steps):  # another process was faster
                version = database.pragma("user_version")
                steps[version](database)
                database.pragma("application_id", APPLICATION)
                database.pragma("user_version", version + 1)
            database.execute("COMMIT")
        finally:
            if database.in_transaction:
                database.execute("ROLLBACK")


# Errors of SQLite in our words.

SAFE_AGAIN = "what was written last may not be there; appending the same again is safe"
_WHY: tuple[tuple[type[apsw.Error], str, str], ...] = (
    (apsw.FullError, "no space is left", f"make room, then try again: {SAFE_AGAIN}"),
    (apsw.IOError, "the disk reports an error", f"check the disk, then try again: {SAFE_AGAIN}"),
    (apsw.ReadOnlyError, "it may not be written to", "check its permissions; nothing was written"),
    (apsw.CantOpenError, "it cannot be opened", "check the path and its permissions"),
    (apsw.PermissionsError, "it may not be opened", "check its permissions"),
    (apsw.TooBigError, "an entry is larger than SQLite can keep", "nothing was written"),
    (apsw.NoMemError, "no memory is left", "nothing was written; try again"),
    (apsw.Error, "", "close what else has it open, then try again; nothing was written"),
)


def in_our_words(place: str, error: Exception, wait: float = WAIT_SECONDS) -> KedgelineError:
    if isinstance(error, (apsw.BusyError, apsw.LockedError)):
        return StoreBusy(place, wait)
    if isinstance(error, apsw.NotADBError):
        return FileRefused(place, "it is not a SQLite database; move it away")
    if isinstance(error, apsw.CorruptError):
        return StoreDamaged(place, f"the database is damaged ({error})")
    why, next_step = next((why, step) for kind, why, step in _WHY if isinstance(error, kind))
    told = str(error) or type(error).__name__
    return StoreFailed(place, f"{why} ({told})" if why else told, next_step=next_step)


# Waiting for a lock.

LEAST_PAUSE, MOST_PAUSE = 0.01, 0.1
"""Most seconds between two tries: of a process that has waited long, and of a new one."""
AGEING = 0.05
"""Seconds after which a waiting process tries four times as often."""
GIVEN_WAY = 0.15
"""Most seconds before the process that had the lock tries again."""
LEAST_GIVEN = 0.001


class Patience(threading.local):
    """Waits for a lock with jitter. Who has waited longer tries more often, and who had to wait
    lets others go first the next times, for ever shorter pauses: so all get the lock in turn, with
    no queue that a killed process could block."""

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

    def retry(self, step: Callable[[], None]) -> None:
        """Take a step that SQLite refuses without waiting: of two connections that go from reading
        to writing at once, it fails one."""
        tries = count()
        while True:
            try:
                step()
                break
            except apsw.BusyError:
                if not self(next(tries)):
                    raise


# Connections.

_OPENING = threading.Lock()
"""No database file is created in this process while another thread opens it: closing the new file
would drop the other's locks."""


class Sqlite(Database):
    """A database in a folder."""

    error = apsw.Error
    by_thread = "entry INDEXED BY entry_thread"
    words = True
    snapshot = "BEGIN"
    most_idle = 32

    def __init__(
        self,
        place: str,
        durability: Durability = "durable",
        *,
        wait: float = WAIT_SECONDS,
        steps: tuple[Step, ...] = MIGRATIONS,
    ) -> None:
        super().__init__(place, wait)
        self.journal: Journal = "wal"
        """The journal in force."""
        self.steps = steps
        self._durability, self._patience = durability, Patience(wait)

    def connect(self) -> apsw.Connection:
        try:
            with _OPENING:
                path = guarded_database(guarded_folder(self.place))
                flags = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_NOFOLLOW
                connection = apsw.Connection(str(path), flags=flags)
            with ExitStack() as failing:
                failing.callback(connection.close, force=True)
                if connection.readonly("main"):  # SQLite falls back to it where it may not write
                    raise apsw.ReadOnlyError("it could be opened for reading only")
                connection.set_busy_handler(self._patience)
                is_current(connection, self.place, self.steps)  # else nothing may be changed
                self._patience.retry(lambda: self.prepare(connection, path))
                _migrate(connection, self.place, self.steps)
                connection.register_fts5_function(COUNTS, _counts)
                failing.pop_all()
        except apsw.Error as error:
            raise self.translated(error) from error
        return connection

    def prepare(self, connection: apsw.Connection, path: Path) -> None:
        if not connection.pragma("user_version"):  # once there are tables, it would need the lock
            connection.pragma("page_size", PAGE_BYTES)
            connection.pragma("auto_vacuum", "INCREMENTAL")
        connection.pragma("cache_size", -CACHE_KIBIBYTES)
        connection.pragma("temp_store", "MEMORY")  # not in a shared folder
        connection.pragma("trusted_schema", False)
        wanted = wanted_journal(path)
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

    def rows(self, connection: apsw.Connection, sql: str, values: Mapping[str, Any]) -> list[Row]:
        rows: list[Row] = []
        cursor = connection.execute(sql, values)
        while True:
            try:
                rows.append(next(cursor))
            except UnicodeDecodeError:
                rows.append(None)
            except StopIteration:
                return rows

    def many(
        self, connection: apsw.Connection, sql: str, values: Sequence[Mapping[str, Any]]
    ) -> None:
        connection.executemany(sql, values)

    def begin(self, connection: apsw.Connection, owner: str, session: str | None) -> None:
        self._patience.give_way()
        connection.execute("BEGIN IMMEDIATE")

    def commit(self, connection: apsw.Connection) -> None:
        connection.execute("COMMIT")

    def is_clean(self, connection: apsw.Connection) -> bool:
        return not connection.in_transaction

    def translated(self, error: Exception, connection: object = None) -> KedgelineError:
        return in_our_words(self.place, error, self.wait)

    def text(self, text: str) -> str | bytes:
        """One that is no Unicode as its bytes, which equal no text."""
        try:
            text.encode()
        except UnicodeEncodeError:
            return text_bytes(text)
        return text

    def add_passages(
        self, block: Block, passages: Sequence[tuple[Passage, dict[str, Any]]]
    ) -> None:
        block.each(
            f"INSERT INTO passage ({PASSAGE}) VALUES ({PASSAGE_VALUES})",
            (fields for _, fields in passages),
        )
        block.each(
            "INSERT INTO words (rowid, text, files, command, owner, marks)"
            " VALUES (:passage, :text, :files, :command, :owners, :marks)",
            (
                {
                    **fields,
                    "text": _spaced(one.text),
                    "files": _spaced(one.files),
                    "command": _spaced(one.command),
                }
                for one, fields in passages
            ),
        )


def _spaced(text: str) -> str:
    """A text with blanks between its words: the index splits ASCII alone correctly by itself."""
    return text if text.isascii() else " ".join(words(text))


class MemoryDatabase(Sqlite):
    """A database in memory: one connection, used by one thread at a time."""

    def __init__(self, place: str, wait: float) -> None:
        super().__init__(place, "fast", wait=wait)
        self.journal = "memory"
        self._alone = threading.RLock()
        self._connection = apsw.Connection(":memory:")
        _migrate(self._connection, place)
        self._connection.register_fts5_function(COUNTS, _counts)

    @contextmanager
    def taken(self) -> Iterator[apsw.Connection]:
        if not self._alone.acquire(timeout=self.wait):
            raise StoreBusy(self.place, self.wait)
        try:
            yield self._connection
        except apsw.Error as error:
            raise self.translated(error) from error
        finally:
            self._alone.release()

    def close(self) -> None:
        """It is gone with the last store that uses it."""


# Searching the index of words.

TEXT = 0
"""Column of the text in the table of words."""
COUNTS = "counts"
"""Name of a function within SQLite that counts the words of a match."""
MOST_COUNTED = 255
"""Most times that a word counts in a passage."""


def _counts(match: apsw.FTS5ExtensionApi, forms: Any = b"", /, *_: Any) -> bytes:
    """How many words the text has, in four bytes, and how often it has each word that ranks it, in
    one. These stand first in the expression; `forms` says how many phrases each word is."""
    counts = bytearray(match.column_size(TEXT).to_bytes(4))
    offsets, first = match.phrase_column_offsets, 0
    for many in forms:
        found = sum(len(offsets(phrase, TEXT)) for phrase in range(first, first + many))
        counts.append(min(found, MOST_COUNTED))
        first += many
    return bytes(counts)


def match_expression(owner: str, query: Query, seek: Sequence[Phrase] = ()) -> str:
    """A query in the language of the index. Every word consists of letters and digits and is
    quoted: nothing that is searched for can become part of that language. What ranks stands
    first."""
    topic = [form for forms in query.topic for form in forms]
    phrases = [f"text : {_phrase(one)}" for one in query.phrases]
    parts = [f"text : ({' OR '.join(map(_phrase, one))})" for one in (topic, seek) if one]
    parts += [] if topic else phrases
    whose = [session_mark(owner, session) for session in query.sessions]
    parts.append(f"owner : ({' OR '.join(f'{mark}' for mark in whose or [owner_mark(owner)])})")
    parts += [f"marks : {mark}" for mark in (query.who, FAILED * query.errors) if mark]
    parts += phrases if topic else []
    parts += [f"files : {_phrase(one)}" for one in query.files]
    parts += [f"command : {_phrase(one)}" for one in query.commands]
    return " AND ".join(parts)


def _phrase(phrase: Phrase) -> str:
    return f'"{" ".join(phrase.words)}"' + (" *" if phrase.prefix else "")


class SqliteStore(TableStore):
    indexed_passages = (
        "SELECT number, count(*) FROM passage"
        " LEFT JOIN words_docsize ON words_docsize.id = passage.id"
        f" WHERE {MINE} GROUP BY number HAVING count(words_docsize.id) = count(*)"
    )
    passage_faults: ClassVar[Mapping[str, str]] = {
        "NOT EXISTS (SELECT 1 FROM words_docsize WHERE words_docsize.id = passage.id)": (
            "a passage is not in the index of words"
        )
    }
    database: Sqlite

    def __init__(self, database: Sqlite, owner: str) -> None:
        super().__init__(database, owner)
        self._holders = set()
        self.ask("SELECT 1")  # opens it

    def hits(
        self, query: Query, seek: Sequence[Phrase], below: int, most: int
    ) -> Iterable[PassageHit]:
        further, values = conditions(query)
        rows = self.ask(
            "SELECT words.rowid, passage.session, passage.number, who, error,"
            f" {COUNTS}(words, :forms)"
            " FROM words CROSS JOIN passage ON passage.id = words.rowid"
            " WHERE words MATCH :match AND words.rowid < :below AND passage.owner = :owner"
            f"{further} ORDER BY words.rowid DESC LIMIT :most",
            match=match_expression(self.owner, query, seek),
            forms=bytes(map(len, rank_by(query))),
            below=below,
            most=most,
            **values,
        )
        for row in rows:
            if row is not None:
                id, name, number, who, error, counts = row
                size = int.from_bytes(counts[:4])
                yield PassageHit(id, column_text(name), number, who, error, size, tuple(counts[4:]))

    def indexed_forms(self, forms: Sequence[Phrase]) -> Collection[Phrase]:
        asked = [f"text : {_phrase(form)}" for form in forms]
        rows = self.ask(
            "SELECT key FROM json_each(:match)"
            " WHERE EXISTS (SELECT 1 FROM words WHERE words MATCH value)",
            match=json.dumps(asked),
        )
        return {forms[row[0]] for row in rows if row}

    def spread(self, query: Query, most: int) -> Spread:
        rows = self.ask(
            "SELECT count(*), min(id), max(id) FROM (SELECT rowid AS id FROM words"
            " WHERE words MATCH :match ORDER BY rowid DESC LIMIT :most)",
            match=match_expression(self.owner, query),
            most=most,
        )
        return Spread(*rows[0]) if rows and rows[0] else Spread()

    def free_space(self, removed: int) -> None:
        if self.database.journal != "memory":  # merging removes the words of deleted texts
            for sql in (
                "INSERT INTO words (words) VALUES ('optimize')",
                "PRAGMA incremental_vacuum",
                "PRAGMA wal_checkpoint(TRUNCATE)",
            ):
                self.ask(sql)

    def problems(self) -> Iterator[Problem]:
        yield from list(self._page_problems())
        yield from super().problems()

    def _page_problems(self) -> Iterator[Problem]:
        """What SQLite itself finds, in its tables and in the index of words."""
        whose = "WHERE NOT EXISTS (SELECT 1 FROM passage WHERE passage.id = words_docsize.id)"
        try:
            for row in self.ask(f"PRAGMA integrity_check({MOST_REPORTED})"):
                line = row[0] if row else "it cannot be read"
                if line != "ok":
                    yield Problem(where=PAGES, what=line, repairable=True)
            for row in self.ask(f"SELECT count(*) FROM words_docsize {whose}"):
                if row and row[0]:
                    what = f"{row[0]} passages are in the index of words and nowhere else"
                    yield Problem(where=PAGES, what=what, repairable=True)
        except StoreFailed as error:
            what = f"it cannot be checked: {error.why}"
            yield Problem(where=PAGES, what=what, repairable=True)

    def repair(self) -> Sequence[Problem]:
        found = [problem for problem in self.problems() if problem.repairable]
        if any(problem.where == PAGES for problem in found) and self.database.journal != "memory":
            with self.database.taken() as connection:
                rebuilt = rebuild(connection, self.database)
            found = [problem for problem in super().problems() if problem.repairable]
            self.rebuild({problem.where for problem in found})
            return [*rebuilt, *found]
        self.rebuild({problem.where for problem in found} - {PAGES})
        return found


# A new database from the originals, where pages of the old one are damaged.

PAGES = "database"
"""Where a problem is that is in no session."""
MOST_REPORTED = 100
ORIGINALS = (("entry", "rank"), ("blob", "rowid"))
"""The tables from which all others are derived, and the number of their rows."""
MOST_FAILED = 10_000
"""Ranges of rows in a row that cannot be copied, half a second in all: some hundred pages."""


def rebuild(database: apsw.Connection, of: Sqlite) -> list[Problem]:
    """Copy all originals that can be read into a new database and put it in the place of the
    damaged one, which is kept beside it. The words of passages are gone, those of other owners
    too."""
    folder = guarded_folder(of.place)
    aside = folder / f"{DATABASE}.damaged-{token_hex(4)}"
    fresh = folder / f"{DATABASE}.new-{token_hex(4)}"
    for path in (aside, fresh):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE_FILE))
    copy, new = apsw.Connection(str(aside)), apsw.Connection(str(fresh))
    try:
        _copy(database, copy)
        copy.close()
        new.pragma("page_size", PAGE_BYTES)
        new.pragma("auto_vacuum", "INCREMENTAL")
        _migrate(new, str(fresh), of.steps)
        new.execute("ATTACH ? AS damaged", (str(aside),))
        counts = [_taken_over(new, table, key) for table, key in ORIGINALS]
        if not _derived_too(new):
            rows = of.rows(new, "SELECT DISTINCT owner, session FROM entry", {})
            for owner, session in readable_rows(
                rows, lambda row: tuple(map(column_text, row or ()))
            ):
                Block(of, owner, new, session).rebuild()
        new.execute("DETACH damaged")
        _copy(new, database)
    finally:
        copy.close(force=True)
        new.close(force=True)
        for path in (fresh, Path(f"{fresh}-journal")):
            path.unlink(missing_ok=True)
    what = (
        f"it was damaged: {counts[0]:,} entries and {counts[1]:,} large texts are whole and were"
        f" copied to a new one; the damaged database is kept as {aside.name}; others who share"
        " this store must run `kedgeline fsck --repair` too, before they can recall anything"
    )
    return [Problem(where=PAGES, what=what, repairable=True)]


def _copy(source: apsw.Connection, target: apsw.Connection) -> None:
    """All pages as they are, in one step that others see as a whole or not at all."""
    with target.backup("main", source, "main") as backup:
        while not backup.done:
            backup.step(-1)


def _derived_too(new: apsw.Connection) -> bool:
    """Whether the tables that remember lost turns could be copied whole. Without a condition SQLite
    would copy the bytes of their rows unread, damaged ones too."""
    try:
        with new:
            for table, _ in DERIVED:
                new.execute(f"INSERT INTO main.{table} SELECT * FROM damaged.{table} WHERE true")
    except apsw.Error:
        return False
    return True


def _taken_over(new: apsw.Connection, table: str, key: str) -> int:
    """How many rows could be copied. Around a damaged page, smaller and smaller ranges are tried,
    until many in a row fail: then the page that leads to all others is gone. A page may also look
    as if the table ended there; the index knows what is missing then."""

    def copied(low: int, high: int) -> int | None:
        before = new.total_changes()
        try:
            with new:
                new.execute(
                    f"INSERT OR IGNORE INTO main.{table} SELECT * FROM damaged.{table}"
                    f" WHERE {key} BETWEEN ? AND ?",
                    (low, high),
                )
        except (apsw.CorruptError, apsw.SQLError, apsw.MismatchError):
            return None
        return new.total_changes() - before

    begun, failed, ranges = new.total_changes(), 0, [(1, LAST_INTEGER)]
    while ranges and failed < MOST_FAILED:
        low, high = ranges.pop()
        count = copied(low, high)
        failed = 0 if count else failed + (count is None)
        if count is None and low < high:
            middle = (low + high) // 2
            ranges += [(middle + 1, high), (low, middle)]
    with suppress(apsw.Error):
        listed = f"SELECT {key} FROM damaged.{table} INDEXED BY sqlite_autoindex_{table}_1"
        there = new.execute(f"SELECT {key} FROM main.{table}")
        for (row,) in {*new.execute(listed)} - {*there}:
            copied(row, row)
    return new.total_changes() - begun


# Opening.


def open_sqlite(
    place: str,
    *,
    owner: str = "",
    durability: Durability = "durable",
    wait: float = WAIT_SECONDS,
) -> SqliteStore:
    """The store in a folder, which is created where it is missing, private to its user."""
    return SqliteStore(Sqlite(place, durability, wait=wait), owner)


_SHARED: dict[str, MemoryDatabase] = {}


def open_memory(
    place: str, *, owner: str = "", durability: Durability = "durable", wait: float = WAIT_SECONDS
) -> SqliteStore:
    """`memory:` is a new store; `memory:NAME` is shared in this process by all who name it. Nothing
    is on disk, whatever the durability."""
    name = place.partition(":")[2]
    database = _SHARED.get(name) or MemoryDatabase(place, wait)
    if name:
        database = _SHARED.setdefault(name, database)
    return SqliteStore(cast(Sqlite, database), owner)

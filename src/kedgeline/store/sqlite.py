"""A store kept by SQLite, in a folder or in memory."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from itertools import islice
from pathlib import Path
from secrets import token_hex
from typing import Any, ClassVar

import apsw

from kedgeline.errors import StoreDamaged, StoreFailed
from kedgeline.store.sqlite_connection import (
    COUNTS,
    DATABASE,
    PAGE_BYTES,
    PRIVATE_FILE,
    SCORE,
    WORD_TABLE,
    Connections,
    Journal,
    Memory,
    MemoryConnections,
    Step,
    guarded_folder,
    in_our_words,
    migrate,
)
from kedgeline.store.table_store import (
    Hit,
    Match,
    Spread,
    TableStore,
    conditions,
    held_already,
    words_of,
)
from kedgeline.store.tables import (
    FAILED,
    LAST_INTEGER,
    MINE,
    PASSAGE,
    PASSAGE_VALUES,
    Block,
    Row,
    Tables,
    as_bytes,
    owner_mark,
    session_mark,
    text_of,
)
from kedgeline.store.values import (
    WAIT_SECONDS,
    Durability,
    Passage,
    Phrase,
    Problem,
    Query,
    chain_of,
    spaced,
)

BY_THREAD = "entry INDEXED BY entry_thread"
"""SQLite would rather walk the session from its end."""


def kept(text: str) -> str | bytes:
    """A text as SQLite takes it: one that is no Unicode as its bytes, which equal no text."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return as_bytes(text)
    return text


def rows_of(database: apsw.Connection, sql: str, values: Mapping[str, Any]) -> list[Row]:
    rows: list[Row] = []
    cursor = database.execute(sql, values)
    while True:
        try:
            rows.append(next(cursor))
        except UnicodeDecodeError:
            rows.append(None)
        except StopIteration:
            return rows


class SqliteTables(Tables):
    """Questions to one connection, within a transaction that somebody else ends."""

    def __init__(self, database: apsw.Connection, place: str, owner: str) -> None:
        self.database, self.place, self.owner = database, place, owner

    by_thread = BY_THREAD
    text = staticmethod(kept)

    def _ask(self, sql: str, values: Mapping[str, Any]) -> Sequence[Row]:
        try:
            return rows_of(self.database, sql, values)
        except apsw.Error as error:
            raise in_our_words(self.place, error) from error


class SqliteWriting(SqliteTables, Block):
    """A session held within a transaction."""

    def __init__(self, database: apsw.Connection, place: str, owner: str, session: str) -> None:
        SqliteTables.__init__(self, database, place, owner)
        Block.__init__(self, session)

    def _ask(self, sql: str, values: Mapping[str, Any]) -> Sequence[Row]:
        self.check_holder()
        return super()._ask(sql, values)

    def write_passage(
        self, passage: Passage, whose: str, marks: str, fields: Mapping[str, Any]
    ) -> None:
        self.ask(
            f"INSERT INTO passage ({PASSAGE}) VALUES ({PASSAGE_VALUES})", self.session, **fields
        )
        self.ask(
            "INSERT INTO words (rowid, text, files, command, owner, marks)"
            " VALUES (:passage, :text, :files, :command, :owner, :marks)",
            passage=fields["passage"],
            text=spaced(passage.text),
            files=spaced(passage.files),
            command=spaced(passage.command),
            marks=marks,
            owner=whose,
        )

    def forget_words(self, chosen: str, **values: Any) -> None:
        self.ask(f"DELETE FROM words WHERE rowid IN ({chosen})", self.session, **values)


# Words as the index takes them.


def expression(owner: str, query: Query, seek: Sequence[Phrase] = ()) -> str:
    """A query in the language of the index. Every word is one of ours, made of letters and digits
    and within quotes: nothing that is sought can become part of that language. Its topic stands
    first; of that, what to seek by must stand and the rest may."""
    topic = [form for forms in query.topic for form in forms]
    parts = [f"text : ({' OR '.join(map(_phrase, one))})" for one in (topic, seek) if one]
    whose = [session_mark(owner, session) for session in query.sessions]
    parts.append(f"owner : ({' OR '.join(map(_quoted, whose or [owner_mark(owner)]))})")
    parts += [f"marks : {_quoted(mark)}" for mark in (query.who, FAILED * query.errors) if mark]
    sought = (("text", query.phrases), ("files", query.files), ("command", query.commands))
    for column, phrases in sought:
        parts += [f"{column} : {text}" for text in map(_phrase, phrases) if text]
    return " AND ".join(parts)


def _phrase(phrase: Phrase) -> str:
    sought = " ".join(words_of(phrase))
    return sought and _quoted(sought) + (" *" if phrase.prefix else "")


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


class SqliteStore(TableStore):
    """A store that reads with one connection a thread, and writes one transaction at a time."""

    counted = (
        "SELECT number, count(*) FROM passage"
        " LEFT JOIN words_docsize ON words_docsize.id = passage.id"
        f" WHERE {MINE} GROUP BY number HAVING count(words_docsize.id) = count(*)"
    )
    passage_faults: ClassVar[Mapping[str, str]] = {
        "NOT EXISTS (SELECT 1 FROM words_docsize WHERE words_docsize.id = passage.id)": (
            "a passage is not in the index of words"
        )
    }

    def __init__(self, connections: Connections, *, owner: str) -> None:
        self.owner, self.place = owner, connections.place
        self._connections = connections
        self._doubtful = False
        """Whether a write failed: then what is on disk is looked at before the next."""
        connections.current()

    by_thread = BY_THREAD
    text = staticmethod(kept)

    @property
    def journal(self) -> Journal:
        """The journal in force: a write-ahead log only where it is safe."""
        return self._connections.journal

    def _ask(self, sql: str, values: Mapping[str, Any]) -> Sequence[Row]:
        with self._reporting(), self._connections.pages:
            return rows_of(self._connections.current(), sql, values)

    @contextmanager
    def _reporting(self) -> Iterator[None]:
        try:
            yield
        except apsw.Error as error:
            if not isinstance(error, apsw.BusyError):
                self._connections.discard()
            raise in_our_words(self.place, error, self._connections.wait) from error

    @contextmanager
    def held(self, session: str) -> Iterator[Block]:
        """After an error of the disk nobody knows what was written: the connection is closed, and
        the next call opens the database anew and looks."""
        process = os.getpid()
        with self._reporting():
            database = self._connections.current()
            if database.in_transaction:
                raise held_already(self.place)
            self._connections.begin()
        done = failed = False
        try:
            block = SqliteWriting(database, self.place, self.owner, session)
            if self._doubtful:
                self._verify(block)
            yield block
            self._connections.commit(database)
            done = True
        except StoreFailed:
            failed = True
            raise
        except apsw.Error as error:
            failed = True
            raise in_our_words(self.place, error) from error
        finally:
            if not done and process == os.getpid():
                self._undo(database, failed=failed)
            self._connections.release()

    def alone(self) -> AbstractContextManager[Block]:
        return self.held("")

    def _undo(self, database: apsw.Connection, *, failed: bool) -> None:
        try:
            if database.in_transaction:
                with self._connections.pages:
                    database.execute("ROLLBACK")
        except apsw.Error:
            failed = True
        if failed:
            self._doubtful = True
            self._connections.discard()

    def _verify(self, block: Block) -> None:
        """Hold the end of a session against its chain."""
        last = list(islice(block.entries(block.session, newest_first=True), 2))
        if last and chain_of(last[0], last[1].chain if len(last) > 1 else "") != last[0].chain:
            why = f"the last entry of {block.session!r} is not what was written"
            raise StoreDamaged(self.place, why)
        self._doubtful = False

    @contextmanager
    def one_state(self) -> Iterator[Tables]:
        with self._reporting(), self._connections.pages:
            database = self._connections.current()
            database.execute("BEGIN")
            try:
                yield SqliteTables(database, self.place, self.owner)
            finally:
                with suppress(apsw.Error):  # a damaged page may end it earlier
                    database.execute("ROLLBACK")

    def matches(self, query: Query, below: int, most: int) -> Iterable[Match]:
        chosen = f"{SCORE}(words), words.rowid, passage.session, passage.number"
        found = self._matching(chosen, query, (), below=below, most=most)
        return (Match(score, id, text_of(name), number) for score, id, name, number in found)

    def hits(self, query: Query, seek: Sequence[Phrase], below: int, most: int) -> Iterable[Hit]:
        chosen = (
            f"words.rowid, passage.session, passage.number, who, error, {COUNTS}(words, :forms)"
        )
        forms = bytes(map(len, query.topic))
        found = self._matching(chosen, query, seek, below=below, most=most, forms=forms)
        return (
            Hit(id, text_of(name), number, who, error, int.from_bytes(has[:4]), tuple(has[4:]))
            for id, name, number, who, error, has in found
        )

    def _matching(
        self, chosen: str, query: Query, seek: Sequence[Phrase], **given: Any
    ) -> Iterator[tuple[Any, ...]]:
        further, values = conditions(query)
        rows = self.ask(
            f"SELECT {chosen} FROM words CROSS JOIN passage ON passage.id = words.rowid"
            " WHERE words MATCH :match AND words.rowid < :below AND passage.owner = :owner"
            f"{further} ORDER BY words.rowid DESC LIMIT :most",
            match=expression(self.owner, query, seek),
            **given,
            **values,
        )
        return (row for row in rows if row)

    def spread(self, query: Query, most: int) -> Spread:
        rows = self.ask(
            "SELECT count(*), min(id), max(id) FROM (SELECT rowid AS id FROM words"
            " WHERE words MATCH :match ORDER BY rowid DESC LIMIT :most)",
            match=expression(self.owner, query),
            most=most,
        )
        return Spread(*rows[0]) if rows and rows[0] else Spread()

    def give_room_back(self, removed: int) -> None:
        if self.journal != "memory":  # until they are merged, words of dropped texts stand
            for sql in (
                "INSERT INTO words (words) VALUES ('optimize')",
                "PRAGMA incremental_vacuum",
                "PRAGMA wal_checkpoint(TRUNCATE)",
            ):
                self.ask(sql)

    def problems(self) -> Iterator[Problem]:
        with self._reporting(), self._connections.pages:
            tables = SqliteTables(self._connections.current(), self.place, self.owner)
            found = list(page_problems(tables))
        yield from found
        yield from super().problems()

    def repair(self) -> Sequence[Problem]:
        found = list(self.problems())
        good = [problem for problem in found if problem.repairable]
        if not any(one.where == PAGES and not one.repairable for one in found):
            try:
                if good:
                    good += self._repair_indexes(good)
                    self.repair_sessions(good)
                return good
            except StoreDamaged:  # what should be made anew lies on damaged pages
                pass
        if self.journal == "memory":  # its pages are on no disk
            return good
        with self._reporting():
            database = self._connections.current()
            return rebuild(database, guarded_folder(self.place), self._connections.steps)

    def _repair_indexes(self, found: Collection[Problem]) -> list[Problem]:
        """Make good what SQLite itself found, and say what that means for others. The words of
        passages are only taken out here: `reindex` brings them back, from the originals."""
        of_words = [problem for problem in found if problem.where == WORDS]
        with self.alone() as block:
            if any(problem.where == PAGES for problem in found):
                block.ask("REINDEX")
            if of_words and all(problem.what.endswith(STRAY) for problem in of_words):
                block.ask(f"DELETE FROM words WHERE rowid IN (SELECT id {_STRAY_WORDS})")
            elif of_words:  # it is damaged itself, and one for all owners
                block.ask("DROP TABLE words")
                block.ask(WORD_TABLE)
                if block.ask("SELECT 1 FROM passage WHERE owner <> :owner LIMIT 1"):
                    return [Problem(where=WORDS, what=OTHERS, repairable=True)]
        return []

    def close(self) -> None:
        self._connections.close()


# What is wrong with the pages of a database, and all of it anew where they are damaged.

PAGES, WORDS = "database", "words"
"""Where a problem is that is in no session."""
STRAY = "passages are in the index of words and nowhere else"
MOST_REPORTED = 100
"""Problems of the pages: whoever reads a hundred knows enough."""
ORIGINALS = (("entry", "rank"), ("blob", "rowid"))
"""The tables that all others follow from, and the number of their rows."""
MOST_FAILED = 10_000
"""Ranges of rows in a row that cannot be copied, half a second in all: some hundred pages."""
OTHERS = (
    "the index of words was damaged and is empty now, for all owners who share this store:"
    " each of them must run `kedgeline fsck --repair` too"
)
_STRAY_WORDS = (
    "FROM words_docsize"
    " WHERE NOT EXISTS (SELECT 1 FROM passage WHERE passage.id = words_docsize.id)"
)


def page_problems(tables: Tables) -> Iterator[Problem]:
    """What SQLite itself finds, in its tables and in the index of words."""
    try:
        for row in tables.ask(f"PRAGMA integrity_check({MOST_REPORTED})"):
            line = row[0] if row else "it cannot be read"
            if line == "ok":
                continue
            if "fts5" in line.lower():
                yield Problem(where=WORDS, what=f"the index is damaged: {line}", repairable=True)
            else:
                indexed = (" index " in line and "missing from" in line) or "wrong # of" in line
                yield Problem(where=PAGES, what=line, repairable=indexed)
        for row in tables.ask(f"SELECT count(*) {_STRAY_WORDS}"):
            if row and row[0]:
                yield Problem(where=WORDS, what=f"{row[0]} {STRAY}", repairable=True)
    except StoreFailed as error:
        what = f"it cannot be checked: {error.why}"
        yield Problem(where=PAGES, what=what, repairable=False)


def rebuild(database: apsw.Connection, folder: Path, steps: tuple[Step, ...]) -> list[Problem]:
    """Take all originals that can be read over into a new database, and put it in the place of the
    damaged one, which is kept beside it. Who has it open goes on with what is there then."""
    aside = folder / f"{DATABASE}.damaged-{token_hex(4)}"
    fresh = folder / f"{DATABASE}.new-{token_hex(4)}"
    for path in (aside, fresh):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE_FILE))
    try:
        with closing(apsw.Connection(str(aside))) as copy:
            _copy(database, copy)
        with closing(apsw.Connection(str(fresh))) as new:
            for pragma in (f"page_size = {PAGE_BYTES}", "auto_vacuum = INCREMENTAL"):
                new.execute(f"PRAGMA {pragma}")
            migrate(new, str(fresh), steps)
            new.execute("ATTACH ? AS damaged", (str(aside),))
            counts = [_taken_over(new, table, key) for table, key in ORIGINALS]
            for owner, session in new.execute("SELECT DISTINCT owner, session FROM entry"):
                named = owner if isinstance(owner, str) else owner.decode("utf-8", "surrogatepass")
                SqliteWriting(new, str(fresh), named, session).derive_anew()
            new.execute("DETACH damaged")
            _copy(new, database)
    finally:
        for path in (fresh, Path(f"{fresh}-journal")):
            path.unlink(missing_ok=True)
    what = (
        f"its pages were damaged: {counts[0]:,} entries and {counts[1]:,} large texts are whole"
        f" and were taken over; the damaged database is kept as {aside.name}"
    )
    return [Problem(where=PAGES, what=what, repairable=True)]


def _copy(source: apsw.Connection, target: apsw.Connection) -> None:
    """All pages as they are, in one step that others see as a whole or not at all."""
    with target.backup("main", source, "main") as backup:
        while not backup.done:
            backup.step(-1)


def _taken_over(new: apsw.Connection, table: str, key: str) -> int:
    """How many rows could be copied, as they stand. Around a damaged page, smaller and smaller
    ranges are tried, until nothing comes any more: the page that leads to all others is gone."""
    begun, failed, ranges = new.total_changes(), 0, [(1, LAST_INTEGER)]
    while ranges and failed < MOST_FAILED:
        low, high = ranges.pop()
        before = new.total_changes()
        try:
            with new:
                new.execute(
                    f"INSERT OR IGNORE INTO main.{table} SELECT * FROM damaged.{table}"
                    f" WHERE {key} BETWEEN ? AND ?",
                    (low, high),
                )
        except (apsw.CorruptError, apsw.SQLError, apsw.MismatchError):
            failed += 1
            if low < high:
                middle = (low + high) // 2
                ranges += [(middle + 1, high), (low, middle)]
        else:
            failed = 0 if new.total_changes() > before else failed
    return new.total_changes() - begun


def open_sqlite(
    place: str,
    *,
    owner: str = "",
    durability: Durability = "durable",
    wait: float = WAIT_SECONDS,
) -> SqliteStore:
    """The store in a folder, which is made where it is missing, private to its user."""
    return SqliteStore(Connections(place, durability, wait=wait), owner=owner)


_SHARED: dict[str, Memory] = {}


def open_memory(
    place: str, *, owner: str = "", durability: Durability = "durable", wait: float = WAIT_SECONDS
) -> SqliteStore:
    """`memory:` is a fresh store; `memory:NAME` is one for all in this process who name it. Nothing
    is on disk, whatever the durability."""
    name = place.partition(":")[2]
    memory = _SHARED.setdefault(name, Memory()) if name else Memory()
    return SqliteStore(MemoryConnections(place, memory, wait=wait), owner=owner)

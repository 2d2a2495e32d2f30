"""The store in a folder: one SQLite database."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice

import apsw

from kedgeline.errors import StoreDamaged, StoreFailed
from kedgeline.files import checked
from kedgeline.store.sqlite.connection import (
    Connections,
    Journal,
    Memory,
    MemoryConnections,
    guarded_folder,
    in_our_words,
)
from kedgeline.store.sqlite.reading import SqliteReading, as_json, kept
from kedgeline.store.sqlite.repair import (
    DATABASE,
    DERIVED,
    page_problems,
    rebuild,
    repair_indexes,
    session_names,
    session_problems,
    write_said,
)
from kedgeline.store.sqlite.search import (
    Named,
    forget_passages,
    found_by,
    passage_counts,
    rewrite_passages,
    write_passages,
)
from kedgeline.store.tables import UNREADABLE, Block, held_already, info_of, readable, text_of
from kedgeline.store.values import (
    WAIT_SECONDS,
    Durability,
    Entry,
    Found,
    Head,
    Passage,
    Problem,
    Query,
    SessionInfo,
    chain_of,
)

# A session held by one writer.


class SqliteWriting(SqliteReading, Block):
    """Writes to one session within the transaction of a connection, and reads what it wrote."""

    def __init__(self, database: apsw.Connection, *, place: str, owner: str, session: str) -> None:
        super().__init__(place, session)
        self.owner = owner
        self._database, self._named = database, Named(kept(owner), session)

    @contextmanager
    def _asking(self) -> Iterator[apsw.Connection]:
        self.check_holder()
        try:
            yield self._database
        except apsw.Error as error:
            raise in_our_words(self._place, error) from error
        except UNREADABLE as error:
            raise StoreDamaged(self._place, f"a row cannot be read: {error}") from error

    def _write(
        self,
        entry: Entry,
        blobs: Mapping[str, bytes],
        passages: Sequence[Passage],
        instead_of: int | None,
    ) -> None:
        with self._asking() as database:
            self._write_entry(database, entry)
            self._write_blobs(database, entry, blobs)
            write_said(database, self._named, entry)
            self._write_place(database, entry)
            if instead_of is not None:
                forget_passages(database, self._named, instead_of)
            write_passages(database, self._named, entry, passages)

    def _write_entry(self, database: apsw.Connection, entry: Entry) -> None:
        turn = (kept(entry.thread), entry.index, entry.tokens, kept(entry.id), kept(entry.key))
        rest = (entry.chain, as_json(entry.blobs), as_json(entry.said), entry.data)
        database.execute(
            "INSERT INTO entry (owner, session, number, kind, at, thread, turn, tokens, id, key,"
            " chain, blobs, said, data) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (*self._named, entry.number, entry.kind, entry.at, *turn, *rest),
        )
        database.execute(
            "INSERT INTO session (owner, name, rank, bytes) VALUES (?, ?, last_insert_rowid(), ?)"
            " ON CONFLICT (owner, name)"
            " DO UPDATE SET rank = excluded.rank, bytes = bytes + excluded.bytes",
            (*self._named, len(entry.data)),
        )

    def _write_blobs(
        self, database: apsw.Connection, entry: Entry, blobs: Mapping[str, bytes]
    ) -> None:
        database.executemany(
            "INSERT OR IGNORE INTO blob (owner, hash, data) VALUES (?, ?, ?)",
            ((self._named.owner, kept(hash), data) for hash, data in blobs.items()),
        )
        database.executemany(
            "INSERT OR IGNORE INTO link (owner, session, hash) VALUES (?, ?, ?)",
            ((*self._named, kept(hash)) for hash in entry.blobs),
        )

    def _write_place(self, database: apsw.Connection, entry: Entry) -> None:
        """A turn takes its place, and those at and behind it are taken back; as by a cut."""
        if entry.kind not in ("turn", "cut"):
            return
        where = (*self._named, kept(entry.thread), entry.index)
        database.execute(
            "DELETE FROM place WHERE owner = ? AND session = ? AND thread = ? AND turn >= ?", where
        )
        if entry.kind == "cut":
            return
        before, ahead = database.execute(
            "SELECT before + tokens, ahead + 1 FROM place"
            " WHERE owner = ? AND session = ? AND thread = ? AND turn < ?"
            " ORDER BY turn DESC LIMIT 1",
            where,
        ).fetchone() or (0, 0)
        database.execute(
            "INSERT INTO place"
            " (owner, session, thread, turn, number, tokens, before, ahead, id)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (*where, entry.number, entry.tokens, before, ahead, kept(entry.id)),
        )


# Sessions as a whole: listed, dropped; and the blobs that none of them needs.

_OF = "WHERE entry.owner = session.owner AND entry.session = session.name"
_MAIN = "WHERE place.owner = session.owner AND place.session = session.name AND place.thread = ''"
_LISTED = f"""
SELECT name,
  (SELECT number FROM entry {_OF} ORDER BY number DESC LIMIT 1),
  coalesce((SELECT ahead + 1 FROM place {_MAIN} ORDER BY turn DESC LIMIT 1), 0),
  coalesce((SELECT before + tokens FROM place {_MAIN} ORDER BY turn DESC LIMIT 1), 0),
  (SELECT count(*) FROM entry {_OF} AND kind = 'compaction' AND kind <> 'turn'),
  (SELECT at FROM entry {_OF} ORDER BY number LIMIT 1),
  (SELECT at FROM entry {_OF} ORDER BY number DESC LIMIT 1),
  bytes + coalesce((
    SELECT sum(length(blob.data))
    FROM link JOIN blob ON blob.owner = link.owner AND blob.hash = link.hash
    WHERE link.owner = session.owner AND link.session = session.name), 0)
FROM session WHERE owner = ? ORDER BY rank DESC"""
_LOOSE = """
FROM blob WHERE owner = ? AND NOT EXISTS (
  SELECT 1 FROM link WHERE link.owner = blob.owner AND link.hash = blob.hash)"""


class SqliteStore(SqliteReading):
    """A store that reads with one connection a thread, and writes one transaction at a time."""

    def __init__(self, connections: Connections, *, owner: str) -> None:
        self.owner = owner
        self._connections = connections
        self._doubtful = False
        """Whether a write failed: then what is on disk is looked at before the next."""
        connections.current()

    @property
    def journal(self) -> Journal:
        """The journal in force: a write-ahead log only where it is safe."""
        return self._connections.journal

    @contextmanager
    def _asking(self) -> Iterator[apsw.Connection]:
        with self._reporting(), self._connections.pages:
            yield self._connections.current()

    @contextmanager
    def _reporting(self) -> Iterator[None]:
        try:
            yield
        except apsw.Error as error:
            if not isinstance(error, apsw.BusyError):
                self._connections.discard()
            raise in_our_words(self._connections.place, error, self._connections.wait) from error
        except UNREADABLE as error:
            raise StoreDamaged(self._connections.place, f"a row cannot be read: {error}") from error

    @contextmanager
    def writing(self, session: str) -> Iterator[SqliteWriting]:
        checked("session", session)
        with self._held() as database:
            writing = SqliteWriting(
                database, place=self._connections.place, owner=self.owner, session=session
            )
            if self._doubtful:
                self._verify(writing, session)
            try:
                yield writing
            finally:
                writing.release()
            writing.check_whole()

    @contextmanager
    def _held(self) -> Iterator[apsw.Connection]:
        """The database with its lock, in one transaction that ends as the block does. After an
        error of the disk nobody knows what was written: the connection is closed, and the next
        call opens the database anew and looks."""
        place, process = self._connections.place, os.getpid()
        with self._reporting():
            database = self._connections.current()
            if database.in_transaction:
                raise held_already(place)
            self._connections.begin()
        done = failed = False
        try:
            yield database
            self._connections.commit(database)
            done = True
        except StoreFailed:
            failed = True
            raise
        except apsw.Error as error:
            failed = True
            raise in_our_words(place, error) from error
        finally:
            if not done and process == os.getpid():
                self._undo(database, failed=failed)
            self._connections.release()

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

    def _verify(self, writing: SqliteWriting, session: str) -> None:
        """Hold the end of a session against its chain."""
        last = list(islice(writing.entries(session, newest_first=True), 2))
        if last and chain_of(last[0], last[1].chain if len(last) > 1 else "") != last[0].chain:
            why = f"the last entry of {session!r} is not what was written"
            raise StoreDamaged(self._connections.place, why)
        self._doubtful = False

    def sessions(self) -> Sequence[SessionInfo]:
        with self._asking() as database:
            return list(readable(database.execute(_LISTED, (self._owner,)), info_of))

    def find(self, query: Query) -> Sequence[Found]:
        with self._snapshot() as database:
            return found_by(database, self._owner, query)

    @contextmanager
    def _snapshot(self) -> Iterator[apsw.Connection]:
        """Several questions of one state."""
        with self._asking() as database, database:
            yield database

    def indexed(self, session: str) -> Mapping[int, int]:
        with self._asking() as database:
            return passage_counts(database, Named(self._owner, session))

    def drop(self, session: str, *, head: Head | None = None) -> bool:
        named = Named(self._owner, checked("session", session))
        with self._held() as database:
            if head is not None and self.head(session) != head:
                return False
            forget_passages(database, named)
            for table, column in (("entry", "session"), *DERIVED):
                database.execute(f"DELETE FROM {table} WHERE owner = ? AND {column} = ?", named)
        return True

    def loose(self) -> Mapping[str, int]:
        with self._asking() as database:
            rows = database.execute(f"SELECT hash, length(data) {_LOOSE}", (self._owner,))
            return {text_of(hash): size for hash, size in rows}

    def sweep(self) -> int:
        with self._held() as database:
            before = database.total_changes()
            database.execute(f"DELETE {_LOOSE}", (self._owner,))
            removed = database.total_changes() - before
        if self.journal != "memory":
            with self._asking() as database:  # until they are merged, words of dropped texts stand
                database.execute("INSERT INTO words (words) VALUES ('optimize')")
                database.execute("PRAGMA incremental_vacuum").fetchall()
                database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        return removed

    def reindex(self, session: str, passages: Iterable[tuple[int, Sequence[Passage]]]) -> None:
        named = Named(self._owner, checked("session", session))
        with self._held() as database:
            rewrite_passages(database, named, passages)

    def problems(self) -> Iterator[Problem]:
        with self._asking() as database:
            found = list(page_problems(database))
            names = session_names(database, self._owner)
        yield from found
        for name in names:
            with self._snapshot() as database:
                found = list(session_problems(database, Named(self._owner, name)))
            yield from found

    def repair(self) -> Sequence[Problem]:
        """The words of passages come back with `reindex`, from the originals."""
        found = list(self.problems())
        good = [problem for problem in found if problem.repairable]
        if not any(one.where == DATABASE and not one.repairable for one in found):
            try:
                if good:
                    with self._held() as database:
                        good += repair_indexes(database, self._owner, good)
                return good
            except StoreDamaged:  # what should be made anew lies on damaged pages
                pass
        if self.journal == "memory":  # its pages are on no disk
            return good
        with self._asking() as database:
            folder, steps = guarded_folder(self._connections.place), self._connections.steps
            return rebuild(database, folder, steps)

    def close(self) -> None:
        self._connections.close()


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

"""The store in a folder: one SQLite database."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice

import apsw

from kedge.errors import StoreFailed
from kedge.names import checked
from kedge.store.chain import chain_of
from kedge.store.sqlite.checking import page_problems, session_names, session_problems
from kedge.store.sqlite.connection import Connections
from kedge.store.sqlite.failing import DAMAGED, in_our_words
from kedge.store.sqlite.finding import found_by
from kedge.store.sqlite.journal import Journal
from kedge.store.sqlite.passages import Named, passage_counts, rewrite_passages
from kedge.store.sqlite.reading import SqliteReading
from kedge.store.sqlite.repairing import repair_indexes
from kedge.store.sqlite.sessions import (
    drop_loose,
    drop_session,
    give_room_back,
    listed,
    loose_blobs,
)
from kedge.store.sqlite.writing import SqliteWriting
from kedge.store.values import Found, Head, Passage, Problem, Query, SessionInfo


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
        try:
            yield self._connections.current()
        except apsw.Error as error:
            if not isinstance(error, apsw.BusyError):
                self._connections.discard()
            raise in_our_words(self._connections.place, error) from error

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
                writing.end()
            if writing.half:
                raise StoreFailed(
                    self._connections.place,
                    f"an entry of {session!r} could not be written",
                    next_step="nothing of the block was written; try all of it again",
                )

    @contextmanager
    def _held(self) -> Iterator[apsw.Connection]:
        """The database with its lock, in one transaction that ends as the block does. After an
        error of the disk nobody knows what was written: the connection is closed, and the next
        call opens the database anew and looks."""
        place, process = self._connections.place, os.getpid()
        with self._asking() as database:
            if database.in_transaction:
                raise StoreFailed(
                    place,
                    "this thread holds a session already",
                    next_step="end that block first; nothing was written",
                )
            database.execute("BEGIN IMMEDIATE")
        done = failed = False
        try:
            yield database
            database.execute("COMMIT")
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

    def _undo(self, database: apsw.Connection, *, failed: bool) -> None:
        try:
            if database.in_transaction:
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
            raise StoreFailed(self._connections.place, why, next_step=DAMAGED)
        self._doubtful = False

    def sessions(self) -> Sequence[SessionInfo]:
        with self._asking() as database:
            return listed(database, self._owner)

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
            drop_session(database, named)
        return True

    def loose(self) -> Mapping[str, int]:
        with self._asking() as database:
            return loose_blobs(database, self._owner)

    def sweep(self) -> int:
        with self._held() as database:
            removed = drop_loose(database, self._owner)
        with self._asking() as database:
            give_room_back(database)
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
        found = [problem for problem in self.problems() if problem.repairable]
        if found:
            with self._held() as database:
                found += repair_indexes(database, self._owner, found)
        return found

    def close(self) -> None:
        self._connections.close()

"""The store on a server: each owner's sessions in the tables of the schema `kedge`."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any

from kedge.errors import StoreFailed
from kedge.names import checked
from kedge.store.postgres import passages as index
from kedge.store.postgres.checking import NAMES, Checked
from kedge.store.postgres.connections import ONE_STATE, Connections, Row, Transaction
from kedge.store.postgres.finding import found_by
from kedge.store.postgres.reading import PostgresReading
from kedge.store.postgres.rows import hashed, unpacked
from kedge.store.postgres.schema import up_to_date
from kedge.store.postgres.sessions import LISTED, LOOSE, forgetting, info_of
from kedge.store.postgres.writing import PostgresWriting, blob_lock
from kedge.store.values import Durability, Found, Head, Passage, Problem, Query, SessionInfo


class PostgresStore(PostgresReading):
    """A store that writers of many machines share: each holds the row of its session."""

    def __init__(self, place: str, *, owner: str, durability: Durability) -> None:
        self._connections = Connections(place, durability)
        super().__init__(owner, self._connections.place)
        self._holders: set[tuple[int, int]] = set()
        with ExitStack() as undone:
            undone.callback(self._connections.close)
            up_to_date(self._connections)
            undone.pop_all()

    def _ask(self, query: str, given: dict[str, Any]) -> list[Row]:
        return self._connections.ask(query, given)

    @contextmanager
    def writing(self, session: str) -> Iterator[PostgresWriting]:
        with self._held(session) as writing:
            try:
                yield writing
                writing.transaction.insist()
                if writing.half:
                    raise StoreFailed(
                        self._place,
                        f"an entry of {session!r} could not be written",
                        next_step="nothing of the block was written; try all of it again",
                    )
                writing.transaction.keep = writing.end()
            finally:
                writing.release()

    @contextmanager
    def _held(self, session: str) -> Iterator[PostgresWriting]:
        checked("session", session)
        begin = f"BEGIN; SELECT pg_advisory_xact_lock_shared({blob_lock(self._owner)})"
        with self._once_a_thread(), self._connections.transaction(begin) as transaction:
            yield PostgresWriting(transaction, owner=self.owner, session=session)

    @contextmanager
    def _once_a_thread(self) -> Iterator[None]:
        """Whoever waits for what it holds itself would wait for ever."""
        me = (os.getpid(), threading.get_ident())
        if me in self._holders:
            raise StoreFailed(
                self._place,
                "this thread holds a session already",
                next_step="end that block first; nothing was written",
            )
        self._holders.add(me)
        try:
            yield
        finally:
            self._holders.discard(me)

    def sessions(self) -> Sequence[SessionInfo]:
        rows = self._ask(LISTED, {"owner": self._owner, "main": hashed("")})
        return [info_of(row) for row in rows]

    def find(self, query: Query) -> Sequence[Found]:
        return found_by(self._ask, self._owner, query)

    def indexed(self, session: str) -> Mapping[int, int]:
        rows = self._ask(
            "SELECT number, count(*) FROM kedge.passages"
            " WHERE owner = %(owner)s AND session = %(session)s GROUP BY number",
            self._of(session),
        )
        return {number: count for number, count in rows}

    def drop(self, session: str, *, head: Head | None = None) -> bool:
        with self._held(session) as writing:
            if head is not None and writing.head(session) != head:
                return False
            for statement, given in forgetting(self._of(session)):
                writing.transaction.ask(statement, given)
        return True

    def loose(self) -> Mapping[str, int]:
        rows = self._ask(f"SELECT hash, octet_length(data) {LOOSE}", {"owner": self._owner})
        return {unpacked(hash): size for hash, size in rows}

    def sweep(self) -> int:
        """Waits until nobody writes: a writer may be about to need what nobody needs yet."""
        given = {"owner": self._owner, "blobs": blob_lock(self._owner)}
        with self._once_a_thread(), self._connections.transaction() as transaction:
            transaction.ask("SELECT pg_advisory_xact_lock(%(blobs)s)", given)
            removed = transaction.ask(f"DELETE {LOOSE} RETURNING 1", given)
        if removed:
            self._ask("VACUUM kedge.blobs", {})
        return len(removed)

    def reindex(self, session: str, passages: Iterable[tuple[int, Sequence[Passage]]]) -> None:
        with self._held(session) as writing:
            anew = self._instead(writing.transaction, session, passages)
            for given in index.batches(self._owner, session, anew):
                writing.transaction.ask(index.WRITE, given)
            writing.transaction.keep = writing.head(session).number > 0

    def _instead(
        self,
        transaction: Transaction,
        session: str,
        passages: Iterable[tuple[int, Sequence[Passage]]],
    ) -> Iterator[tuple[int, Sequence[Passage]]]:
        """The same, as what was there before is forgotten."""
        before = self.indexed(session)
        for number, written in passages:
            if number in before:
                transaction.ask(
                    "DELETE FROM kedge.passages WHERE owner = %(owner)s"
                    " AND session = %(session)s AND number = %(number)s",
                    {**self._of(session), "number": number},
                )
            yield number, written

    def problems(self) -> Iterator[Problem]:
        for session in self._names():
            with self._connections.transaction(ONE_STATE) as transaction:
                looked_at = Checked(transaction, owner=self.owner, session=session)
                found = list(looked_at.problems())
            yield from found

    def repair(self) -> Sequence[Problem]:
        """The words of passages come back with `reindex`, from the originals."""
        repaired: list[Problem] = []
        for session in self._names():
            with self._held(session) as writing:
                looked_at = Checked(writing.transaction, owner=self.owner, session=session)
                found = [problem for problem in looked_at.problems() if problem.repairable]
                for problem in found:
                    looked_at.repair(problem)
                writing.transaction.keep = bool(found)
            repaired += found
        return repaired

    def _names(self) -> list[str]:
        """All sessions of which anything is left."""
        return sorted(name for (name,) in self._ask(NAMES, {"owner": self._owner}))

    def close(self) -> None:
        self._connections.close()

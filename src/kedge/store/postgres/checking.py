"""What is wrong with a session: its entries, and what follows from them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kedge.store.chain import chain_of
from kedge.store.postgres.connections import Row, Transaction
from kedge.store.postgres.reading import PostgresReading
from kedge.store.postgres.rows import hashed, packed, unpacked
from kedge.store.postgres.sessions import TABLES
from kedge.store.values import Entry, Head, Problem

PLACES = "the turns that stand are not those that its entries say"
MESSAGES = "its messages are not those that its entries say"
PASSAGES = "passages belong to no entry, or to another time or turn"
LIST = "its line in the list of sessions is not what its entries say"
LOST = "its last entries are missing: {missing} of {all}"
"""Of these only the last is no index: what is lost is lost."""

NAMES = " UNION ".join(
    f"SELECT {column} FROM kedge.{table} WHERE owner = %(owner)s" for table, column in TABLES
)
_MINE = "owner = %(owner)s AND session = %(session)s"
_WRONG_MESSAGES = f"""
WITH told AS (
    SELECT number, place, sha256(message) AS hash
    FROM kedge.entries, unnest(said) WITH ORDINALITY AS told (message, place) WHERE {_MINE}
), kept AS (SELECT number, place::bigint, hash FROM kedge.messages WHERE {_MINE})
SELECT EXISTS (SELECT * FROM told EXCEPT SELECT * FROM kept)
    OR EXISTS (SELECT * FROM kept EXCEPT SELECT * FROM told)"""
_WRONG_PASSAGES = """
SELECT EXISTS (
    SELECT 1 FROM kedge.passages LEFT JOIN LATERAL (
        SELECT written, at, index FROM kedge.entries
        WHERE owner = %(owner)s AND session = %(session)s AND number = passages.number LIMIT 1
    ) AS entry ON true
    WHERE passages.owner = %(owner)s AND passages.session = %(session)s
    AND (entry.written, entry.at, entry.index)
        IS DISTINCT FROM (passages.written, passages.at, passages.index))"""
_NO_BLOB = """
SELECT DISTINCT number, hash FROM kedge.entries, unnest(blobs) AS hash
WHERE owner = %(owner)s AND session = %(session)s AND NOT EXISTS (
    SELECT 1 FROM kedge.blobs WHERE blobs.owner = entries.owner AND blobs.hash = hash)
ORDER BY number, hash"""
_REPAIR = {
    MESSAGES: (
        f"DELETE FROM kedge.messages WHERE {_MINE}",
        "INSERT INTO kedge.messages (owner, session, number, place, hash)"
        " SELECT owner, session, number, place, sha256(message)"
        " FROM kedge.entries, unnest(said) WITH ORDINALITY AS told (message, place)"
        f" WHERE {_MINE}",
    ),
    PASSAGES: (
        f"DELETE FROM kedge.passages WHERE {_MINE} AND number NOT IN"
        f" (SELECT number FROM kedge.entries WHERE {_MINE})",
        "UPDATE kedge.passages SET written = entries.written, at = entries.at,"
        " index = entries.index FROM kedge.entries WHERE passages.owner = %(owner)s"
        " AND passages.session = %(session)s AND entries.owner = passages.owner"
        " AND entries.session = passages.session AND entries.number = passages.number",
    ),
    LIST: (
        "DELETE FROM kedge.sessions WHERE owner = %(owner)s AND name = %(session)s",
        "INSERT INTO kedge.sessions (owner, name, number, chain, written)"
        f" SELECT owner, session, number, chain, written FROM kedge.entries WHERE {_MINE}"
        " ORDER BY number DESC LIMIT 1",
    ),
}


class Checked(PostgresReading):
    """A session as it is within a transaction, and what its places should be."""

    def __init__(self, transaction: Transaction, *, owner: str, session: str) -> None:
        super().__init__(owner, transaction.place)
        self._transaction, self._session = transaction, session
        self._given = self._of(session, main=hashed(""))
        self._last = Head()
        self._standing: dict[str, list[tuple[Any, ...]]] = {}

    def _ask(self, query: str, given: dict[str, Any]) -> list[Row]:
        return self._transaction.ask(query, given)

    def _end(self, session: str) -> tuple[int, str, int]:
        """By the entries themselves: the list of sessions may be wrong."""
        rows = self._ask(f"SELECT max(number) FROM kedge.entries WHERE {_MINE}", self._given)
        return rows[0][0] or 0, "", 0

    def problems(self) -> Iterator[Problem]:
        for entry in self.entries(self._session):
            yield from self._of_entry(entry)
            self._stand(entry)
            self._last = Head(number=entry.number, chain=entry.chain)
        for number, hash in self._ask(_NO_BLOB, self._given):
            what = f"the blob {unpacked(hash)} that it refers to is missing"
            yield self._problem(what, number=number)
        head = super()._end(self._session)
        if head[0] > self._last.number:
            lost = LOST.format(missing=head[0] - self._last.number, all=head[0])
            yield self._problem(lost)
        elif head[:2] != (self._last.number, self._last.chain):
            yield self._problem(LIST, repairable=True)
        if self._kept() != self._told():
            yield self._problem(PLACES, repairable=True)
        for what, query in ((MESSAGES, _WRONG_MESSAGES), (PASSAGES, _WRONG_PASSAGES)):
            if self._ask(query, self._given)[0][0]:
                yield self._problem(what, repairable=True)

    def _problem(self, what: str, *, number: int = 0, repairable: bool = False) -> Problem:
        where = f"{self._session} entry {number}" if number else self._session
        return Problem(where=where, what=what, repairable=repairable)

    def _of_entry(self, entry: Entry) -> Iterator[Problem]:
        if entry.number != self._last.number + 1:
            what = f"its number comes after {self._last.number}: entries are missing"
            yield self._problem(what, number=entry.number)
        if entry.chain != chain_of(entry, self._last.chain):
            what = "its chain is broken: it, or what was before it, is not what was written"
            yield self._problem(what, number=entry.number)

    def _stand(self, entry: Entry) -> None:
        if entry.kind not in ("turn", "cut"):
            return
        places = self._standing.setdefault(entry.thread, [])
        while places and places[-1][0] >= entry.index:
            places.pop()
        if entry.kind == "turn":
            before = places[-1][2] + places[-1][3] if places else 0
            places.append((entry.index, entry.number, entry.tokens, before, packed(entry.id)))

    def _told(self) -> set[tuple[Any, ...]]:
        return {
            (hashed(thread), *place)
            for thread in self._standing
            for place in self._standing[thread]
        }

    def _kept(self) -> set[tuple[Any, ...]]:
        return set(
            self._ask(
                f"SELECT thread, index, number, tokens, before, id FROM kedge.places WHERE {_MINE}",
                self._given,
            )
        )

    def repair(self, problem: Problem) -> None:
        """Make an index anew, after `problems` has read all entries."""
        for statement in _REPAIR.get(problem.what, ()):
            self._ask(statement, self._given)
        if problem.what == PLACES:
            self._write_places()
        self._ask(  # of a session without entries nothing stays
            "DELETE FROM kedge.sessions WHERE owner = %(owner)s AND name = %(session)s"
            " AND number = 0",
            self._given,
        )

    def _write_places(self) -> None:
        self._ask(f"DELETE FROM kedge.places WHERE {_MINE}", self._given)
        columns = [list(column) for column in zip(*self._told(), strict=True)] or [[]] * 6
        names = ("threads", "indexes", "numbers", "tokens", "before", "ids")
        self._ask(
            "INSERT INTO kedge.places (owner, session, thread, index, number, tokens, before, id)"
            " SELECT %(owner)s, %(session)s, * FROM unnest(%(threads)s::bytea[],"
            " %(indexes)s::bigint[], %(numbers)s::bigint[], %(tokens)s::bigint[],"
            " %(before)s::bigint[], %(ids)s::bytea[])",
            {**self._given, **dict(zip(names, columns, strict=True))},
        )

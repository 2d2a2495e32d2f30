"""The store on a server: each owner's sessions in the tables of the schema `kedgeline`."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from hashlib import sha256
from typing import Any

from msgspec.structs import asdict

from kedgeline.files import checked
from kedgeline.store.postgres import reading as index
from kedgeline.store.postgres.connection import ONE_STATE, Connections, Transaction, up_to_date
from kedgeline.store.postgres.reading import MINE as _MINE
from kedgeline.store.postgres.reading import PostgresReading, found_by, hashed
from kedgeline.store.tables import (
    WRONG_LINE,
    WRONG_MESSAGES,
    WRONG_PLACES,
    Block,
    Row,
    Standing,
    as_bytes,
    held_already,
    info_of,
    link_problems,
    missing_blob,
    text_of,
)
from kedgeline.store.values import (
    Durability,
    Entry,
    Found,
    Head,
    Passage,
    Problem,
    Query,
    SessionInfo,
)

# Sessions as a whole: listed, dropped; and the blobs that none of them needs.

LISTED = """
WITH mine AS (
    SELECT session, count(*) FILTER (WHERE kind = 'compaction') AS compactions,
        sum(octet_length(data)) AS bytes
    FROM kedgeline.entries WHERE owner = %(owner)s GROUP BY session
), needed AS (
    SELECT session, sum(octet_length(blobs.data)) AS bytes FROM (
        SELECT DISTINCT session, unnest(blobs) AS hash FROM kedgeline.entries WHERE owner =
        %(owner)s
    ) AS links JOIN kedgeline.blobs USING (hash) WHERE blobs.owner = %(owner)s GROUP BY session
), standing AS (
    SELECT session, count(*) AS turns, sum(tokens) AS tokens FROM kedgeline.places
    WHERE owner = %(owner)s AND thread = %(main)s GROUP BY session
)
SELECT sessions.name, sessions.number, coalesce(standing.turns, 0),
    coalesce(standing.tokens, 0)::bigint, mine.compactions,
    coalesce(first.at, 0), coalesce(last.at, 0),
    (mine.bytes + coalesce(needed.bytes, 0))::bigint
FROM kedgeline.sessions
JOIN mine ON mine.session = sessions.name
LEFT JOIN needed ON needed.session = sessions.name
LEFT JOIN standing ON standing.session = sessions.name
LEFT JOIN kedgeline.entries AS first ON first.owner = sessions.owner
    AND first.session = sessions.name AND first.number = 1
LEFT JOIN kedgeline.entries AS last ON last.owner = sessions.owner
    AND last.session = sessions.name AND last.number = sessions.number
WHERE sessions.owner = %(owner)s ORDER BY sessions.written DESC"""
LOOSE = """
FROM kedgeline.blobs WHERE owner = %(owner)s AND NOT EXISTS (
    SELECT 1 FROM (
        SELECT DISTINCT unnest(blobs) AS hash FROM kedgeline.entries WHERE owner = %(owner)s
    ) AS needed WHERE needed.hash = blobs.hash)"""
TABLES = (
    ("entries", "session"),
    ("places", "session"),
    ("messages", "session"),
    ("passages", "session"),
    ("sessions", "name"),
)
"""What a session consists of, and the column of its name."""


# A session held by one writer.

BLOB_BYTES = 16_000_000
"""Blobs are held back to the end of a block, or until they are so many."""

_HOLD = """
SELECT number, chain, born FROM kedgeline.sessions
WHERE owner = %(owner)s AND name = %(session)s FOR UPDATE"""
_ENTRY = """
INSERT INTO kedgeline.entries (owner, session, number, kind, at, thread, index, tokens, id, key,
chain,
    blobs, said, data)
VALUES (%(owner)s, %(session)s, %(number)s, %(kind)s, %(at)s, %(thread)s, %(index)s, %(tokens)s,
    %(id)s, %(key)s, %(chain)s, %(blobs)s::bytea[], %(said)s::bytea[], %(data)s)"""
_MESSAGES = f"""
INSERT INTO kedgeline.messages (owner, session, number, place, hash)
SELECT owner, session, number, place, sha256(message)
FROM kedgeline.entries, unnest(said) WITH ORDINALITY AS told (message, place) WHERE {_MINE}"""
_PLACE = f"""
INSERT INTO kedgeline.places (owner, session, thread, index, number, tokens, before, id)
SELECT %(owner)s, %(session)s, %(thread)s, %(index)s, %(number)s, %(tokens)s,
    coalesce((SELECT before + tokens FROM kedgeline.places WHERE {_MINE} AND thread = %(thread)s
        ORDER BY index DESC LIMIT 1), 0), %(id)s"""
_BLOBS = """
INSERT INTO kedgeline.blobs (owner, hash, data)
SELECT %(owner)s, hash, data
FROM unnest(%(hashes)s::bytea[], %(data)s::bytea[]) AS given (hash, data)
ORDER BY hash ON CONFLICT DO NOTHING"""
_FORGET = f"DELETE FROM kedgeline.passages WHERE {_MINE} AND number = %(number)s"


def blob_lock(owner: str) -> int:
    """Key of the lock that keeps blobs from being swept while somebody may come to need them."""
    return int.from_bytes(sha256(f"kedgeline blobs {owner}".encode()).digest()[:8], signed=True)


class PostgresWriting(PostgresReading, Block):
    """Writes to one session within a transaction, and reads what it wrote."""

    def __init__(self, transaction: Transaction, *, owner: str, session: str) -> None:
        PostgresReading.__init__(self, owner, transaction.place)
        Block.__init__(self, transaction.place, session)
        self.transaction = transaction
        self._blobs: dict[str, bytes] = {}
        number, chain, self._born = self._held()
        self._head = self._before = Head(number=number, chain=chain)

    def _ask(self, query: str, given: dict[str, Any]) -> list[Row]:
        self.check_holder()
        return self.transaction.ask(query, given)

    def _held(self) -> tuple[int, str, int]:
        """Keep all others from writing to the session; where it ends."""
        given = self._of(self._session)
        while not (rows := self._ask(_HOLD, given)):
            self._ask(  # it is new, or somebody dropped it
                "INSERT INTO kedgeline.sessions (owner, name) VALUES (%(owner)s, %(session)s)"
                " ON CONFLICT DO NOTHING",
                given,
            )
        number, chain, born = rows[0]
        return number, chain, born

    def end(self) -> bool:
        """Write what was held back; whether anything was written."""
        self._write_blobs()
        if self._head is None or self._head == self._before:
            return False
        self._ask(
            "UPDATE kedgeline.sessions SET number = %(number)s, chain = %(chain)s,"
            " written = nextval('kedgeline.writes') WHERE owner = %(owner)s AND name = %(session)s",
            self._of(self._session, number=self._head.number, chain=self._head.chain),
        )
        return True

    def _end(self, session: str) -> tuple[int, str, int]:
        if session == self._session and self._head is not None:
            return self._head.number, self._head.chain, self._born
        return super()._end(session)

    def blob(self, hash: str) -> bytes | None:
        return self._blobs[hash] if hash in self._blobs else super().blob(hash)

    def _write(
        self,
        entry: Entry,
        blobs: Mapping[str, bytes],
        passages: Sequence[Passage],
        instead_of: int | None,
    ) -> None:
        with self.transaction.together():
            self._write_entry(entry)
            if instead_of is not None:
                self._ask(_FORGET, self._of(self._session, number=instead_of))
            for given in index.batches(self._owner, self._session, [(entry.number, passages)]):
                self._ask(index.WRITE, given)
        for hash, data in blobs.items():
            self._blobs.setdefault(hash, bytes(data))
        if sum(map(len, self._blobs.values())) > BLOB_BYTES:
            self._write_blobs()

    def _write_entry(self, entry: Entry) -> None:
        given = self._of(self._session, **asdict(entry))
        for name in ("thread", "id", "key"):
            given[name] = as_bytes(given[name])
        for name in ("blobs", "said"):
            given[name] = list(map(as_bytes, given[name]))
        self._ask(_ENTRY, given)
        if entry.said:
            self._ask(f"{_MESSAGES} AND number = %(number)s", given)
        if entry.kind not in ("turn", "cut"):
            return
        given["thread"] = hashed(entry.thread)
        self._ask(
            f"DELETE FROM kedgeline.places WHERE {_MINE} AND thread = %(thread)s"
            " AND index >= %(index)s",
            given,
        )
        if entry.kind == "turn":
            self._ask(_PLACE, given)

    def _write_blobs(self) -> None:
        """Last and in the order of their hashes, so that two who write the same never wait for each
        other in a circle. What is there already is not even sent."""
        there = self._blobs_there(self._blobs.keys()) if self._blobs else set()
        new = sorted(self._blobs.keys() - there)
        if new:
            data = [self._blobs[hash] for hash in new]
            given = {"owner": self._owner, "hashes": list(map(as_bytes, new)), "data": data}
            self._ask(_BLOBS, given)
        self._blobs.clear()


# What is wrong with a session: its entries, and what follows from them.

PASSAGES = "passages belong to no entry, or to another time or turn"
LOST = "its last entries are missing: {missing} of {all}"

NAMES = " UNION ".join(
    f"SELECT {column} FROM kedgeline.{table} WHERE owner = %(owner)s" for table, column in TABLES
)
_WRONG_MESSAGES = f"""
WITH told AS (
    SELECT number, place, sha256(message) AS hash
    FROM kedgeline.entries, unnest(said) WITH ORDINALITY AS told (message, place) WHERE {_MINE}
), kept AS (SELECT number, place::bigint, hash FROM kedgeline.messages WHERE {_MINE})
SELECT EXISTS (SELECT * FROM told EXCEPT SELECT * FROM kept)
    OR EXISTS (SELECT * FROM kept EXCEPT SELECT * FROM told)"""
_WRONG_PASSAGES = """
SELECT EXISTS (
    SELECT 1 FROM kedgeline.passages LEFT JOIN LATERAL (
        SELECT written, at, index FROM kedgeline.entries
        WHERE owner = %(owner)s AND session = %(session)s AND number = passages.number LIMIT 1
    ) AS entry ON true
    WHERE passages.owner = %(owner)s AND passages.session = %(session)s
    AND (entry.written, entry.at, entry.index)
        IS DISTINCT FROM (passages.written, passages.at, passages.index))"""
_NO_BLOB = """
SELECT DISTINCT number, hash FROM kedgeline.entries, unnest(blobs) AS hash
WHERE owner = %(owner)s AND session = %(session)s AND NOT EXISTS (
    SELECT 1 FROM kedgeline.blobs WHERE blobs.owner = entries.owner AND blobs.hash = hash)
ORDER BY number, hash"""
_REPAIR = {
    WRONG_MESSAGES: (f"DELETE FROM kedgeline.messages WHERE {_MINE}", _MESSAGES),
    PASSAGES: (
        f"DELETE FROM kedgeline.passages WHERE {_MINE} AND number NOT IN"
        f" (SELECT number FROM kedgeline.entries WHERE {_MINE})",
        "UPDATE kedgeline.passages SET written = entries.written, at = entries.at,"
        " index = entries.index FROM kedgeline.entries WHERE passages.owner = %(owner)s"
        " AND passages.session = %(session)s AND entries.owner = passages.owner"
        " AND entries.session = passages.session AND entries.number = passages.number",
    ),
    WRONG_LINE: (
        "DELETE FROM kedgeline.sessions WHERE owner = %(owner)s AND name = %(session)s",
        "INSERT INTO kedgeline.sessions (owner, name, number, chain, written)"
        f" SELECT owner, session, number, chain, written FROM kedgeline.entries WHERE {_MINE}"
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
        self._standing = Standing()

    def _ask(self, query: str, given: dict[str, Any]) -> list[Row]:
        return self._transaction.ask(query, given)

    def _end(self, session: str) -> tuple[int, str, int]:
        """By the entries themselves: the list of sessions may be wrong."""
        rows = self._ask(f"SELECT max(number) FROM kedgeline.entries WHERE {_MINE}", self._given)
        return rows[0][0] or 0, "", 0

    def problems(self) -> Iterator[Problem]:
        for entry in self.entries(self._session):
            yield from link_problems(self._session, entry, self._last)
            self._standing.take(entry)
            self._last = Head(number=entry.number, chain=entry.chain)
        for number, hash in self._ask(_NO_BLOB, self._given):
            yield missing_blob(self._session, number, hash)
        head = super()._end(self._session)
        if head[0] > self._last.number:
            lost = LOST.format(missing=head[0] - self._last.number, all=head[0])
            yield self._problem(lost)
        elif head[:2] != (self._last.number, self._last.chain):
            yield self._problem(WRONG_LINE, repairable=True)
        if self._kept() != self._told():
            yield self._problem(WRONG_PLACES, repairable=True)
        for what, query in ((WRONG_MESSAGES, _WRONG_MESSAGES), (PASSAGES, _WRONG_PASSAGES)):
            if self._ask(query, self._given)[0][0]:
                yield self._problem(what, repairable=True)

    def _problem(self, what: str, *, repairable: bool = False) -> Problem:
        return Problem(where=self._session, what=what, repairable=repairable)

    def _told(self) -> set[tuple[Any, ...]]:
        return {
            (hashed(thread), at.index, at.number, at.tokens, at.before, as_bytes(at.id))
            for thread, places in self._standing.places.items()
            for at in places
        }

    def _kept(self) -> set[tuple[Any, ...]]:
        query = "SELECT thread, index, number, tokens, before, id FROM kedgeline.places WHERE "
        return set(self._ask(query + _MINE, self._given))

    def repair(self, problem: Problem) -> None:
        """Make an index anew, after `problems` has read all entries."""
        for statement in _REPAIR.get(problem.what, ()):
            self._ask(statement, self._given)
        if problem.what == WRONG_PLACES:
            self._write_places()
        self._ask(  # of a session without entries nothing stays
            "DELETE FROM kedgeline.sessions WHERE owner = %(owner)s AND name = %(session)s"
            " AND number = 0",
            self._given,
        )

    def _write_places(self) -> None:
        self._ask(f"DELETE FROM kedgeline.places WHERE {_MINE}", self._given)
        columns = [list(column) for column in zip(*self._told(), strict=True)] or [[]] * 6
        names = ("threads", "indexes", "numbers", "tokens", "before", "ids")
        self._ask(
            "INSERT INTO kedgeline.places (owner, session, thread, index, number, tokens, "
            "before, id)"
            " SELECT %(owner)s, %(session)s, * FROM unnest(%(threads)s::bytea[],"
            " %(indexes)s::bigint[], %(numbers)s::bigint[], %(tokens)s::bigint[],"
            " %(before)s::bigint[], %(ids)s::bytea[])",
            {**self._given, **dict(zip(names, columns, strict=True))},
        )


class PostgresStore(PostgresReading):
    """A store that writers of many machines share: each holds the row of its session."""

    def __init__(self, place: str, *, owner: str, durability: Durability, wait: float) -> None:
        self._connections = Connections(place, durability, wait)
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
                writing.check_whole()
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
            raise held_already(self._place)
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
            "SELECT number, count(*) FROM kedgeline.passages"
            " WHERE owner = %(owner)s AND session = %(session)s GROUP BY number",
            self._of(session),
        )
        return {number: count for number, count in rows}

    def drop(self, session: str, *, head: Head | None = None) -> bool:
        with self._held(session) as writing:
            if head is not None and writing.head(session) != head:
                return False
            for table, column in TABLES:
                mine = f"owner = %(owner)s AND {column} = %(session)s"
                writing.transaction.ask(
                    f"DELETE FROM kedgeline.{table} WHERE {mine}", self._of(session)
                )
        return True

    def loose(self) -> Mapping[str, int]:
        rows = self._ask(f"SELECT hash, octet_length(data) {LOOSE}", {"owner": self._owner})
        return {text_of(hash): size for hash, size in rows}

    def sweep(self) -> int:
        """Waits until nobody writes: a writer may be about to need what nobody needs yet."""
        given = {"owner": self._owner, "blobs": blob_lock(self._owner)}
        with self._once_a_thread(), self._connections.transaction() as transaction:
            transaction.ask("SELECT pg_advisory_xact_lock(%(blobs)s)", given)
            removed = transaction.ask(f"DELETE {LOOSE} RETURNING 1", given)
        if removed:
            self._ask("VACUUM kedgeline.blobs", {})
        return len(removed)

    def reindex(self, session: str, passages: Iterable[tuple[int, Sequence[Passage]]]) -> None:
        with self._held(session) as writing:
            before = self.indexed(session)

            def instead() -> Iterator[tuple[int, Sequence[Passage]]]:
                for number, written in passages:
                    if number in before:
                        writing.transaction.ask(_FORGET, self._of(session, number=number))
                    yield number, written

            for given in index.batches(self._owner, session, instead()):
                writing.transaction.ask(index.WRITE, given)
            writing.transaction.keep = writing.head(session).number > 0

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

"""A session held by one writer."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import Any

from kedge.errors import StoreFailed
from kedge.store.chain import linked
from kedge.store.postgres import passages as index
from kedge.store.postgres.connections import Row, Transaction
from kedge.store.postgres.reading import PostgresReading
from kedge.store.postgres.rows import all_packed, hashed, packed
from kedge.store.values import Entry, Head, Passage

BLOB_BYTES = 16_000_000
"""Blobs are held back to the end of a block, or until they are so many."""

_MINE = "owner = %(owner)s AND session = %(session)s"
_HOLD = """
SELECT number, chain, born FROM kedge.sessions
WHERE owner = %(owner)s AND name = %(session)s FOR UPDATE"""
_ENTRY = """
INSERT INTO kedge.entries (owner, session, number, kind, at, thread, index, tokens, id, key, chain,
    blobs, said, data)
VALUES (%(owner)s, %(session)s, %(number)s, %(kind)s, %(at)s, %(thread)s, %(index)s, %(tokens)s,
    %(id)s, %(key)s, %(chain)s, %(blobs)s::bytea[], %(said)s::bytea[], %(data)s)"""
_MESSAGES = """
INSERT INTO kedge.messages (owner, session, number, place, hash)
SELECT owner, session, number, place, sha256(message)
FROM kedge.entries, unnest(said) WITH ORDINALITY AS told (message, place)
WHERE owner = %(owner)s AND session = %(session)s AND number = %(number)s"""
_PLACE = f"""
INSERT INTO kedge.places (owner, session, thread, index, number, tokens, before, id)
SELECT %(owner)s, %(session)s, %(thread)s, %(index)s, %(number)s, %(tokens)s,
    coalesce((SELECT before + tokens FROM kedge.places WHERE {_MINE} AND thread = %(thread)s
        ORDER BY index DESC LIMIT 1), 0), %(id)s"""
_BLOBS = """
INSERT INTO kedge.blobs (owner, hash, data)
SELECT %(owner)s, hash, data
FROM unnest(%(hashes)s::bytea[], %(data)s::bytea[]) AS given (hash, data)
ORDER BY hash ON CONFLICT DO NOTHING"""


def blob_lock(owner: str) -> int:
    """Key of the lock that keeps blobs from being swept while somebody may come to need them."""
    return int.from_bytes(sha256(f"kedge blobs {owner}".encode()).digest()[:8], signed=True)


class PostgresWriting(PostgresReading):
    """Writes to one session within a transaction, and reads what it wrote."""

    def __init__(self, transaction: Transaction, *, owner: str, session: str) -> None:
        super().__init__(owner, transaction.place)
        self.half = False
        """Whether an entry was written in part: then nothing of the block may stay."""
        self.transaction, self._session = transaction, session
        self._holder: tuple[int, int] | None = (os.getpid(), threading.get_ident())
        self._blobs: dict[str, bytes] = {}
        number, chain, self._born = self._held()
        self._head = self._before = Head(number=number, chain=chain)

    def _ask(self, query: str, given: dict[str, Any]) -> list[Row]:
        if self._holder != (os.getpid(), threading.get_ident()):
            raise StoreFailed(
                self._place,
                f"the session {self._session!r} is not held here",
                next_step="hold it with writing(); nothing was written",
            )
        return self.transaction.ask(query, given)

    def _held(self) -> tuple[int, str, int]:
        """Keep all others from writing to the session; where it ends."""
        given = self._of(self._session)
        while True:
            rows = self._ask(_HOLD, given)
            if rows:
                number, chain, born = rows[0]
                return number, chain, born
            self._ask(  # it is new, or somebody dropped it
                "INSERT INTO kedge.sessions (owner, name) VALUES (%(owner)s, %(session)s)"
                " ON CONFLICT DO NOTHING",
                given,
            )

    def end(self) -> bool:
        """Write what was held back; whether anything was written."""
        self._write_blobs()
        if self._head != self._before:
            self._ask(
                "UPDATE kedge.sessions SET number = %(number)s, chain = %(chain)s,"
                " written = nextval('kedge.writes')"
                " WHERE owner = %(owner)s AND name = %(session)s",
                self._of(self._session, number=self._head.number, chain=self._head.chain),
            )
        return self._head != self._before

    def release(self) -> None:
        self._holder = None

    def _end(self, session: str) -> tuple[int, str, int]:
        if session == self._session:
            return self._head.number, self._head.chain, self._born
        return super()._end(session)

    def blob(self, hash: str) -> bytes | None:
        return self._blobs[hash] if hash in self._blobs else super().blob(hash)

    def add(
        self,
        entry: Entry,
        *,
        blobs: Mapping[str, bytes] = {},
        passages: Sequence[Passage] = (),
        instead_of: int | None = None,
    ) -> Entry:
        if entry.key and self.keyed(self._session, entry.key) is not None:
            raise StoreFailed(
                self._place,
                f"an entry of {self._session!r} has the key {entry.key!r} already",
                next_step="it was not written again; ask keyed() for its number",
            )
        entry = linked(entry, self._head)
        self.half = True
        with self.transaction.together():
            self._write_entry(entry)
            self._write_passages(entry, passages, instead_of)
        for hash, data in blobs.items():
            self._blobs.setdefault(hash, bytes(data))
        if sum(map(len, self._blobs.values())) > BLOB_BYTES:
            self._write_blobs()
        self._head = Head(number=entry.number, chain=entry.chain)
        self.half = False
        return entry

    def _write_entry(self, entry: Entry) -> None:
        given = self._of(
            self._session,
            number=entry.number,
            kind=entry.kind,
            at=entry.at,
            thread=packed(entry.thread),
            index=entry.index,
            tokens=entry.tokens,
            id=packed(entry.id),
            key=packed(entry.key),
            chain=entry.chain,
            blobs=all_packed(entry.blobs),
            said=all_packed(entry.said),
            data=entry.data,
        )
        self._ask(_ENTRY, given)
        if entry.said:
            self._ask(_MESSAGES, given)
        if entry.kind not in ("turn", "cut"):
            return
        given["thread"] = hashed(entry.thread)
        self._ask(
            f"DELETE FROM kedge.places WHERE {_MINE} AND thread = %(thread)s"
            " AND index >= %(index)s",
            given,
        )
        if entry.kind == "turn":
            self._ask(_PLACE, given)

    def _write_passages(
        self, entry: Entry, passages: Sequence[Passage], instead_of: int | None
    ) -> None:
        if instead_of is not None:
            gone = self._of(self._session, number=instead_of)
            self._ask(f"DELETE FROM kedge.passages WHERE {_MINE} AND number = %(number)s", gone)
        for given in index.batches(self._owner, self._session, [(entry.number, passages)]):
            self._ask(index.WRITE, given)

    def _write_blobs(self) -> None:
        """Last and in the order of their hashes, so that two who write the same never wait for each
        other in a circle. What is there already is not even sent."""
        there = self._blobs_there(self._blobs.keys()) if self._blobs else set()
        new = sorted(self._blobs.keys() - there)
        if new:
            data = [self._blobs[hash] for hash in new]
            given = {"owner": self._owner, "hashes": all_packed(new), "data": data}
            self._ask(_BLOBS, given)
        self._blobs.clear()

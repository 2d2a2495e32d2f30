"""A session held by one writer."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import apsw

from kedge.errors import StoreFailed
from kedge.store.chain import linked
from kedge.store.sqlite.failing import in_our_words
from kedge.store.sqlite.passages import Named, forget_passages, write_passages
from kedge.store.sqlite.reading import SqliteReading
from kedge.store.sqlite.rows import kept, packed
from kedge.store.values import Entry, Head, Passage


class SqliteWriting(SqliteReading):
    """Writes to one session within the transaction of a connection, and reads what it wrote."""

    def __init__(self, database: apsw.Connection, *, place: str, owner: str, session: str) -> None:
        self.owner = owner
        self.half = False
        """Whether an entry was written in part: then nothing of the block may stay."""
        self._database, self._place = database, place
        self._named = Named(owner=kept(owner), session=session)
        self._holder = (os.getpid(), threading.get_ident())
        self._over = False
        self._head: Head | None = None

    def end(self) -> None:
        self._over = True

    @contextmanager
    def _asking(self) -> Iterator[apsw.Connection]:
        if self._over or self._holder != (os.getpid(), threading.get_ident()):
            raise StoreFailed(
                self._place,
                f"the session {self._named.session!r} is not held here",
                next_step="hold it with writing(); nothing was written",
            )
        try:
            yield self._database
        except apsw.Error as error:
            raise in_our_words(self._place, error) from error

    def add(
        self,
        entry: Entry,
        *,
        blobs: Mapping[str, bytes] = {},
        passages: Sequence[Passage] = (),
        instead_of: int | None = None,
    ) -> Entry:
        if entry.key and self.keyed(self._named.session, entry.key) is not None:
            raise StoreFailed(
                self._place,
                f"an entry of {self._named.session!r} has the key {entry.key!r} already",
                next_step="it was not written again; ask keyed() for its number",
            )
        if self._head is None:
            self._head = self.head(self._named.session)
        entry = linked(entry, self._head)
        with self._asking() as database:
            self.half = True
            self._write_entry(database, entry)
            self._write_blobs(database, entry, blobs)
            write_said(database, self._named, entry)
            self._write_place(database, entry)
            if instead_of is not None:
                forget_passages(database, self._named, instead_of)
            write_passages(database, self._named, entry, passages)
        self._head = Head(number=entry.number, chain=entry.chain)
        self.half = False
        return entry

    def _write_entry(self, database: apsw.Connection, entry: Entry) -> None:
        database.execute(
            "INSERT INTO entry (owner, session, number, kind, at, thread, turn, tokens, id, key,"
            " chain, blobs, said, data) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                *self._named,
                entry.number,
                entry.kind,
                entry.at,
                kept(entry.thread),
                entry.index,
                entry.tokens,
                kept(entry.id),
                kept(entry.key),
                entry.chain,
                packed(entry.blobs),
                packed(entry.said),
                entry.data,
            ),
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
        for hash, data in blobs.items():
            database.execute(
                "INSERT OR IGNORE INTO blob (owner, hash, data) VALUES (?, ?, ?)",
                (self._named.owner, kept(hash), data),
            )
        for hash in entry.blobs:
            database.execute(
                "INSERT OR IGNORE INTO link (owner, session, hash) VALUES (?, ?, ?)",
                (*self._named, kept(hash)),
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


def write_said(database: apsw.Connection, named: Named, entry: Entry) -> None:
    """The messages that an entry took in, behind all others of its session."""
    for id in entry.said:
        database.execute(
            "INSERT INTO said (owner, session, position, id)"
            " SELECT ?1, ?2, coalesce(max(position), 0) + 1, ?3 FROM said"
            " WHERE owner = ?1 AND session = ?2",
            (*named, kept(id)),
        )

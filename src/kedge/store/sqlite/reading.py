"""What can be asked of a database, inside a writer's block as outside."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

import apsw

from kedge.store.sqlite.rows import ENTRY, PLACE, WHOLE, entry_of, given, kept, place_of
from kedge.store.values import Entry, Head, Kind, Place

FIRST_ROWS = 4
"""Rows that are read at first, and how many times as many with each batch: who asks for the newest
seldom wants more than one."""
BATCH_ROWS, BATCH_BYTES = 256, 1 << 20
"""Entries that are read at a time. Nothing stays open between two batches: whoever stops in the
middle holds nobody up."""
ASKED = 500
"""Ids in one statement: SQLite takes some thousands."""
LAST_INTEGER = (1 << 63) - 1


class SqliteReading:
    """Answers from the connection that `_asking` gives."""

    owner: str

    def _asking(self) -> AbstractContextManager[apsw.Connection]:
        raise NotImplementedError

    @property
    def _owner(self) -> str | bytes:
        return kept(self.owner)

    def head(self, session: str) -> Head:
        with self._asking() as database:
            row = database.execute(
                "SELECT number, chain FROM entry WHERE owner = ? AND session = ?"
                " ORDER BY number DESC LIMIT 1",
                (self._owner, kept(session)),
            ).fetchone()
        return Head(number=row[0], chain=row[1]) if row else Head()

    def entries(
        self,
        session: str,
        *,
        kinds: Collection[Kind] = (),
        thread: str | None = None,
        after: int = 0,
        newest_first: bool = False,
        light: bool = False,
    ) -> Iterator[Entry]:
        kinds = tuple(dict.fromkeys(kinds))
        of_thread = () if thread is None else (kept(thread),)
        values = [self._owner, kept(session), *of_thread, *kinds]
        query = " UNION ALL ".join(
            f"SELECT {ENTRY if light else WHOLE} FROM entry {way}"
            " AND owner = ?3 AND session = ?4 AND number > ?1 AND number < ?2"
            for way in _ways(kinds, in_thread=thread is not None)
        )
        query += f" ORDER BY number {'DESC' if newest_first else 'ASC'}"
        return self._batches(query, values, after, newest_first=newest_first)

    def _batches(
        self, query: str, values: list[Any], after: int, *, newest_first: bool
    ) -> Iterator[Entry]:
        above, below = after, LAST_INTEGER
        rows = FIRST_ROWS
        while True:
            batch: list[Entry] = []
            size = 0
            with self._asking() as database:
                for row in database.execute(query, (above, below, *values)):
                    batch.append(entry_of(row))
                    size += len(batch[-1].data)
                    if len(batch) >= rows or size >= BATCH_BYTES:
                        break
            if not batch:
                return
            rows = min(BATCH_ROWS, rows * FIRST_ROWS)
            if newest_first:
                below = batch[-1].number
            else:
                above = batch[-1].number
            batch.reverse()
            while batch:
                yield batch.pop()

    def entry(self, session: str, number: int) -> Entry | None:
        with self._asking() as database:
            row = database.execute(
                f"SELECT {WHOLE} FROM entry WHERE owner = ? AND session = ? AND number = ?",
                (self._owner, kept(session), number),
            ).fetchone()
        return entry_of(row) if row else None

    def places(
        self, session: str, *, thread: str = "", first: int = 0, last: int | None = None
    ) -> Sequence[Place]:
        with self._asking() as database:
            rows = database.execute(
                f"SELECT {PLACE} FROM place WHERE owner = ? AND session = ? AND thread = ?"
                " AND turn BETWEEN ? AND ? ORDER BY turn",
                (
                    self._owner,
                    kept(session),
                    kept(thread),
                    first,
                    LAST_INTEGER if last is None else last,
                ),
            )
            return [place_of(row) for row in rows]

    def last_place(self, session: str, *, thread: str = "") -> Place | None:
        with self._asking() as database:
            row = database.execute(
                f"SELECT {PLACE} FROM place WHERE owner = ? AND session = ? AND thread = ?"
                " ORDER BY turn DESC LIMIT 1",
                (self._owner, kept(session), kept(thread)),
            ).fetchone()
        return place_of(row) if row else None

    def threads(self, session: str) -> Sequence[str]:
        found: list[tuple[int, str]] = []
        after: str | bytes = ""  # the main thread, which is the first of all
        with self._asking() as database:
            while row := database.execute(
                "SELECT thread, number FROM place WHERE owner = ? AND session = ? AND thread > ?"
                " ORDER BY thread, turn LIMIT 1",
                (self._owner, kept(session), after),
            ).fetchone():
                after = row[0]
                found.append((row[1], given(after)))
        return [thread for _, thread in sorted(found)]

    def said(self, session: str, last: int) -> Sequence[str]:
        with self._asking() as database:
            rows = database.execute(
                "SELECT id FROM said WHERE owner = ? AND session = ?"
                " ORDER BY position DESC LIMIT ?",
                (self._owner, kept(session), max(0, last)),
            ).fetchall()
        return [given(id) for (id,) in reversed(rows)]

    def known(self, session: str, ids: Collection[str]) -> frozenset[str]:
        asked = [kept(id) for id in ids]
        found: set[str] = set()
        with self._asking() as database:
            for start in range(0, len(asked), ASKED):
                some = asked[start : start + ASKED]
                rows = database.execute(
                    "SELECT id FROM said WHERE owner = ? AND session = ?"
                    f" AND id IN ({', '.join('?' * len(some))})",
                    (self._owner, kept(session), *some),
                )
                found.update(given(id) for (id,) in rows)
        return frozenset(found)

    def keyed(self, session: str, key: str) -> int | None:
        if not key:
            return None
        with self._asking() as database:
            row = database.execute(
                "SELECT number FROM entry"
                " WHERE owner = ? AND session = ? AND key = ? AND key <> ''",
                (self._owner, kept(session), kept(key)),
            ).fetchone()
        return row[0] if row else None

    def blob(self, hash: str) -> bytes | None:
        with self._asking() as database:
            row = database.execute(
                "SELECT data FROM blob WHERE owner = ? AND hash = ?", (self._owner, kept(hash))
            ).fetchone()
        return row[0] if row else None


def _ways(kinds: Sequence[Kind], *, in_thread: bool) -> Iterator[str]:
    """Where the entries of each kind are found: SQLite merges them by number.

    Asked for several kinds at once, it would rather look at every entry of the session. So the
    index is named, except where that is what it takes: all kinds, or the turns of all threads."""
    of_thread = " AND thread = ?5" if in_thread else ""
    if not kinds:
        yield f"WHERE true{of_thread}"
    for place, kind in enumerate(kinds, 6 if in_thread else 5):
        if in_thread:
            yield f"INDEXED BY entry_thread WHERE kind = ?{place}{of_thread}"
        elif kind == "turn":
            yield f"WHERE kind = ?{place}"
        else:
            yield f"INDEXED BY entry_kind WHERE kind = ?{place} AND kind <> 'turn'"

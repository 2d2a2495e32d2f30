"""What can be asked of a database, inside a writer's block as outside."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import AbstractContextManager
from typing import Any

import apsw

from kedgeline.store.tables import (
    LAST_INTEGER,
    Made,
    Row,
    as_bytes,
    entry_of,
    head_of,
    number_of,
    place_of,
    readable,
    text_of,
)
from kedgeline.store.values import Entry, Head, Kind, Place

ENTRY = "number, kind, at, thread, turn, tokens, id, key, chain"
"""Columns of a light entry."""
WHOLE = f"{ENTRY}, blobs, said, data"
PLACE = "turn, number, tokens, before, id"


def kept(text: str) -> str | bytes:
    """A text as SQLite takes it: one that is no Unicode as its bytes, which equal no text."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return as_bytes(text)
    return text


def as_json(texts: tuple[str, ...]) -> str:
    return json.dumps(texts, separators=(",", ":")) if texts else ""


FIRST_ROWS = 4
"""Rows that are read at first, and how many times as many with each batch: who asks for the newest
seldom wants more than one."""
BATCH_ROWS, BATCH_BYTES = 256, 1 << 20
"""Entries that are read at a time. Nothing stays open between two batches: whoever stops in the
middle holds nobody up."""
ASKED = 500
"""Ids in one statement: SQLite takes some thousands."""


class SqliteReading:
    """Answers from the connection that `_asking` gives."""

    owner: str

    def _asking(self) -> AbstractContextManager[apsw.Connection]:
        raise NotImplementedError

    @property
    def _owner(self) -> str | bytes:
        return kept(self.owner)

    def _of(self, session: str) -> tuple[str | bytes, str | bytes]:
        return self._owner, kept(session)

    def _one(self, make: Callable[[Row], Made], query: str, *values: object) -> Made | None:
        with self._asking() as database:
            row = database.execute(query, values).fetchone()
            return make(row) if row else None

    def head(self, session: str) -> Head:
        query = (
            "SELECT number, chain FROM entry WHERE owner = ? AND session = ?"
            " ORDER BY number DESC LIMIT 1"
        )
        return self._one(head_of, query, *self._of(session)) or Head()

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
        values = [*self._of(session), *of_thread, *kinds]
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
                for entry in readable(database.execute(query, (above, below, *values)), entry_of):
                    batch.append(entry)
                    size += len(entry.data)
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
        query = f"SELECT {WHOLE} FROM entry WHERE owner = ? AND session = ? AND number = ?"
        return self._one(entry_of, query, *self._of(session), number)

    def places(
        self, session: str, *, thread: str = "", first: int = 0, last: int | None = None
    ) -> Sequence[Place]:
        with self._asking() as database:
            rows = database.execute(
                f"SELECT {PLACE} FROM place WHERE owner = ? AND session = ? AND thread = ?"
                " AND turn BETWEEN ? AND ? ORDER BY turn",
                (*self._of(session), kept(thread), first, LAST_INTEGER if last is None else last),
            )
            return list(readable(rows, place_of))

    def last_place(self, session: str, *, thread: str = "") -> Place | None:
        query = (
            f"SELECT {PLACE} FROM place WHERE owner = ? AND session = ? AND thread = ?"
            " ORDER BY turn DESC LIMIT 1"
        )
        return self._one(place_of, query, *self._of(session), kept(thread))

    def threads(self, session: str) -> Sequence[str]:
        found: list[tuple[int, str]] = []
        after: str | bytes = ""  # the main thread, which is the first of all
        with self._asking() as database:
            while row := database.execute(
                "SELECT thread, number FROM place WHERE owner = ? AND session = ? AND thread > ?"
                " ORDER BY thread, turn LIMIT 1",
                (*self._of(session), after),
            ).fetchone():
                after = row[0]
                found.append((number_of(row[1]), text_of(after)))
        return [thread for _, thread in sorted(found)]

    def said(self, session: str, last: int) -> Sequence[str]:
        with self._asking() as database:
            rows = database.execute(
                "SELECT id FROM said WHERE owner = ? AND session = ?"
                " ORDER BY position DESC LIMIT ?",
                (*self._of(session), max(0, last)),
            ).fetchall()
            return [text_of(id) for (id,) in reversed(rows)]

    def known(self, session: str, ids: Collection[str]) -> frozenset[str]:
        asked = [kept(id) for id in ids]
        found: set[str] = set()
        with self._asking() as database:
            for start in range(0, len(asked), ASKED):
                some = asked[start : start + ASKED]
                rows = database.execute(
                    "SELECT id FROM said WHERE owner = ? AND session = ?"
                    f" AND id IN ({', '.join('?' * len(some))})",
                    (*self._of(session), *some),
                )
                found.update(text_of(id) for (id,) in rows)
        return frozenset(found)

    def keyed(self, session: str, key: str) -> int | None:
        query = "SELECT number FROM entry WHERE owner = ? AND session = ? AND key = ? AND key <> ''"
        found = self._one(head_of, query, *self._of(session), kept(key)) if key else None
        return found.number if found else None

    def blob(self, hash: str) -> bytes | None:
        with self._asking() as database:
            row = database.execute(
                "SELECT data FROM blob WHERE owner = ? AND hash = ?", (self._owner, kept(hash))
            ).fetchone()
        return row[0] if row and isinstance(row[0], bytes) else None


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

"""What follows from the entries of a session: its places, messages and links, made anew."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import sha256
from itertools import zip_longest
from typing import Any

import apsw

from kedge.store.sqlite.passages import Named
from kedge.store.sqlite.rows import kept
from kedge.store.values import Entry

DERIVED = (
    ("place", "session"),
    ("said", "session"),
    ("link", "session"),
    ("session", "name"),
)
"""Tables that follow from the entries, and their column of the session's name."""

Text = str | bytes


class Following:
    """Takes in entries one by one, and keeps of them what the other tables must say: of messages,
    which are many, a hash."""

    def __init__(self) -> None:
        self._places: dict[Text, list[tuple[Any, ...]]] = {}
        self._said = _Told()
        self._hashes: set[Text] = set()
        self._bytes = 0

    def take(self, entry: Entry) -> None:
        self._bytes += len(entry.data)
        self._hashes.update(map(kept, entry.blobs))
        for id in entry.said:
            self._said.tell(kept(id))
        if entry.kind not in ("turn", "cut"):
            return
        places = self._places.setdefault(kept(entry.thread), [])
        while places and places[-1][0] >= entry.index:
            places.pop()
        if entry.kind == "turn":
            before = places[-1][2] + places[-1][3] if places else 0
            places.append(
                (entry.index, entry.number, entry.tokens, before, len(places), kept(entry.id))
            )

    def differences(self, database: apsw.Connection, named: Named) -> Iterator[str]:
        """Where the tables say something else."""
        rows = database.execute(
            "SELECT thread, turn, number, tokens, before, ahead, id FROM place"
            " WHERE owner = ? AND session = ? ORDER BY thread, turn",
            named,
        )
        if any(row != place for row, place in zip_longest(rows, self._in_order())):
            yield "the turns that stand are not those that its entries say"
        told = _Told()
        for position, id in database.execute(
            "SELECT position, id FROM said WHERE owner = ? AND session = ? ORDER BY position",
            named,
        ):
            told.tell(id if position == told.count + 1 else None)
        if told != self._said:
            yield "its messages are not those that its entries say"
        rows = database.execute("SELECT hash FROM link WHERE owner = ? AND session = ?", named)
        if self._hashes != {hash for (hash,) in rows}:
            yield "its links to blobs are not those that its entries say"
        row = database.execute(
            "SELECT rank, bytes FROM session WHERE owner = ? AND name = ?", named
        ).fetchone()
        rank = _rank(database, named)
        if row != (None if rank is None else (rank, self._bytes)):
            yield "its line in the list of sessions is not what its entries say"

    def _in_order(self) -> Iterator[tuple[Any, ...]]:
        """As SQLite sorts them: texts before bytes, each by its bytes."""
        for thread in sorted(self._places, key=_sorted_as):
            yield from ((thread, *place) for place in self._places[thread])

    def write(self, database: apsw.Connection, named: Named) -> None:
        """Into tables that are empty. The messages are written as the entries are read."""
        database.executemany(
            "INSERT INTO place"
            " (owner, session, thread, turn, number, tokens, before, ahead, id)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)",
            ((*named, *place) for place in self._in_order()),
        )
        database.executemany(
            "INSERT INTO link (owner, session, hash) VALUES (?, ?, ?)",
            ((*named, hash) for hash in self._hashes),
        )
        rank = _rank(database, named)
        if rank is not None:
            database.execute(
                "INSERT INTO session (owner, name, rank, bytes) VALUES (?, ?, ?, ?)",
                (*named, rank, self._bytes),
            )


class _Told:
    """Ids one after the other, as their number and a hash."""

    def __init__(self) -> None:
        self.count = 0
        self._hash = sha256()

    def tell(self, id: object) -> None:
        self.count += 1
        self._hash.update(repr(id).encode() + b"\n")

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Told) and self._hash.digest() == other._hash.digest()

    __hash__ = None  # type: ignore[assignment]


def _sorted_as(text: Text) -> tuple[bool, bytes]:
    return (False, text.encode()) if isinstance(text, str) else (True, text)


def _rank(database: apsw.Connection, named: Named) -> int | None:
    """Of the last entry among those of all sessions."""
    rank: int | None = database.execute(
        "SELECT rank FROM entry WHERE owner = ? AND session = ? ORDER BY number DESC LIMIT 1",
        named,
    ).get
    return rank

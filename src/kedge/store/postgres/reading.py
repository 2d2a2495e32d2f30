"""What can be asked, each with one statement."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any

from kedge.errors import StoreFailed
from kedge.store.postgres.connections import Row
from kedge.store.postgres.rows import (
    ENTRY,
    PLACE,
    WHOLE,
    all_packed,
    entry_of,
    hashed,
    owner_column,
    packed,
    place_of,
    sought,
    unpacked,
)
from kedge.store.values import Entry, Head, Kind, Place

BATCH_ROWS = 500
BATCH_BYTES = 1_000_000
"""Entries fetched at once: many small ones, or few large ones, or one giant."""

_MINE = "owner = %(owner)s AND session = %(session)s"
_LIGHT = (
    f"SELECT {ENTRY} FROM kedge.entries WHERE {_MINE} AND {{which}} {{order}} LIMIT {BATCH_ROWS}"
)
_WHOLE = f"""
SELECT {WHOLE} FROM kedge.entries WHERE {_MINE} AND number {{until}} (
    SELECT {{furthest}}(number) FROM (
        SELECT number, sum(size) OVER ({{order}}) - size AS before FROM (
            SELECT number, octet_length(data)::bigint AS size FROM kedge.entries
            WHERE {_MINE} AND {{which}} {{order}} LIMIT {BATCH_ROWS}
        ) AS sizes
    ) AS sums WHERE before < {BATCH_BYTES}
) AND {{which}} {{order}}"""
# No statement joins two tables that grow with a session: a server that has not counted their rows
# yet would go through one of them for each row of the other.
_SAID = f"""
SELECT (SELECT said[newest.place] FROM kedge.entries WHERE {_MINE} AND number = newest.number)
FROM (
    SELECT number, place FROM kedge.messages WHERE {_MINE}
    ORDER BY number DESC, place DESC LIMIT %(last)s
) AS newest ORDER BY number DESC, place DESC"""
_THREADS = f"""
SELECT (SELECT thread FROM kedge.entries WHERE {_MINE} AND number = first.number) FROM (
    SELECT DISTINCT ON (thread) number FROM kedge.places
    WHERE {_MINE} AND thread <> %(main)s ORDER BY thread, index
) AS first ORDER BY number"""
_FORWARD = ("ORDER BY number", "<=", "max")
_BACKWARD = ("ORDER BY number DESC", ">=", "min")


class PostgresReading:
    def __init__(self, owner: str, place: str) -> None:
        self.owner = owner
        self._owner, self._place = owner_column(owner), place

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._place!r}, owner={self.owner!r})"

    def _ask(self, query: str, given: dict[str, Any]) -> list[Row]:
        raise NotImplementedError

    def _of(self, session: str, **values: Any) -> dict[str, Any]:
        return {"owner": self._owner, "session": sought(session), **values}

    def head(self, session: str) -> Head:
        number, chain, _ = self._end(session)
        return Head(number=number, chain=chain)

    def _end(self, session: str) -> tuple[int, str, int]:
        """Number and chain of the last entry, and which session of that name it is: one that was
        dropped and written anew is another."""
        rows = self._ask(
            "SELECT number, chain, born FROM kedge.sessions"
            " WHERE owner = %(owner)s AND name = %(session)s",
            self._of(session),
        )
        number, chain, born = rows[0] if rows else (0, "", 0)
        return number, chain, born

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
        """Up to those that are there when the first is asked for. No connection is held between
        two batches: entries never change."""
        last, _, born = self._end(session)
        order, until, furthest = _BACKWARD if newest_first else _FORWARD
        which = "number > %(after)s AND number <= %(last)s"
        which += " AND kind = ANY(%(kinds)s)" if kinds else ""
        which += " AND thread = %(thread)s" if thread is not None else ""
        query = (_LIGHT if light else _WHOLE).format(
            which=which, order=order, until=until, furthest=furthest
        )
        given = self._of(session, kinds=list(kinds), thread=packed(thread or ""))
        while after < last:
            rows = self._ask(query, {**given, "after": after, "last": last})
            if not rows:
                self._still_there(session, born)
                return
            yield from map(entry_of, rows)
            after, last = (after, rows[-1][0] - 1) if newest_first else (rows[-1][0], last)

    def _still_there(self, session: str, born: int) -> None:
        if self._end(session)[2] != born:
            why = f"the session {session!r} was dropped while it was read"
            raise StoreFailed(self._place, why, next_step="what was read is not all of it")

    def entry(self, session: str, number: int) -> Entry | None:
        rows = self._ask(
            f"SELECT {WHOLE} FROM kedge.entries WHERE {_MINE} AND number = %(number)s",
            self._of(session, number=number),
        )
        return entry_of(rows[0]) if rows else None

    def places(
        self, session: str, *, thread: str = "", first: int = 0, last: int | None = None
    ) -> Sequence[Place]:
        until = "" if last is None else " AND index <= %(last)s"
        rows = self._ask(
            f"SELECT {PLACE} FROM kedge.places WHERE {_MINE} AND thread = %(thread)s"
            f" AND index >= %(first)s{until} ORDER BY index",
            self._of(session, thread=hashed(thread), first=first, last=last),
        )
        return [place_of(row) for row in rows]

    def last_place(self, session: str, *, thread: str = "") -> Place | None:
        rows = self._ask(
            f"SELECT {PLACE} FROM kedge.places WHERE {_MINE} AND thread = %(thread)s"
            " ORDER BY index DESC LIMIT 1",
            self._of(session, thread=hashed(thread)),
        )
        return place_of(rows[0]) if rows else None

    def threads(self, session: str) -> Sequence[str]:
        rows = self._ask(_THREADS, self._of(session, main=hashed("")))
        return [unpacked(thread) for (thread,) in rows]

    def said(self, session: str, last: int) -> Sequence[str]:
        rows = self._ask(_SAID, self._of(session, last=max(0, last)))
        return [unpacked(id) for (id,) in reversed(rows)]

    def known(self, session: str, ids: Collection[str]) -> frozenset[str]:
        names = {hashed(id): id for id in ids}
        rows = self._ask(
            f"SELECT DISTINCT hash FROM kedge.messages WHERE {_MINE} AND hash = ANY(%(hashes)s)",
            self._of(session, hashes=list(names)),
        )
        return frozenset(names[hash] for (hash,) in rows)

    def keyed(self, session: str, key: str) -> int | None:
        rows = self._ask(
            f"SELECT number FROM kedge.entries WHERE {_MINE} AND key <> ''"
            " AND sha256(key) = %(hash)s",
            self._of(session, hash=hashed(key)),
        )
        return rows[0][0] if rows else None

    def blob(self, hash: str) -> bytes | None:
        rows = self._ask(
            "SELECT data FROM kedge.blobs WHERE owner = %(owner)s AND hash = %(hash)s",
            {"owner": self._owner, "hash": packed(hash)},
        )
        return rows[0][0] if rows else None

    def _blobs_there(self, hashes: Collection[str]) -> set[str]:
        rows = self._ask(
            "SELECT hash FROM kedge.blobs WHERE owner = %(owner)s AND hash = ANY(%(hashes)s)",
            {"owner": self._owner, "hashes": all_packed(hashes)},
        )
        return {unpacked(hash) for (hash,) in rows}

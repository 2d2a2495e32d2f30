"""Sessions as a whole: listed, dropped; and the blobs that none of them needs."""

from __future__ import annotations

import apsw

from kedge.store.sqlite.following import DERIVED
from kedge.store.sqlite.passages import Named, forget_passages
from kedge.store.sqlite.rows import given
from kedge.store.values import SessionInfo

_OF = "WHERE entry.owner = session.owner AND entry.session = session.name"
_MAIN = "WHERE place.owner = session.owner AND place.session = session.name AND place.thread = ''"
_LISTED = f"""
SELECT name,
  (SELECT number FROM entry {_OF} ORDER BY number DESC LIMIT 1),
  coalesce((SELECT ahead + 1 FROM place {_MAIN} ORDER BY turn DESC LIMIT 1), 0),
  coalesce((SELECT before + tokens FROM place {_MAIN} ORDER BY turn DESC LIMIT 1), 0),
  (SELECT count(*) FROM entry {_OF} AND kind = 'compaction' AND kind <> 'turn'),
  (SELECT at FROM entry {_OF} ORDER BY number LIMIT 1),
  (SELECT at FROM entry {_OF} ORDER BY number DESC LIMIT 1),
  bytes + coalesce((
    SELECT sum(length(blob.data))
    FROM link JOIN blob ON blob.owner = link.owner AND blob.hash = link.hash
    WHERE link.owner = session.owner AND link.session = session.name), 0)
FROM session WHERE owner = ? ORDER BY rank DESC"""
_LOOSE = """
FROM blob WHERE owner = ? AND NOT EXISTS (
  SELECT 1 FROM link WHERE link.owner = blob.owner AND link.hash = blob.hash)"""


def listed(database: apsw.Connection, owner: str | bytes) -> list[SessionInfo]:
    return [
        SessionInfo(
            name=name,
            entries=entries,
            turns=turns,
            tokens=tokens,
            compactions=compactions,
            first=first,
            last=last,
            bytes=size,
        )
        for name, entries, turns, tokens, compactions, first, last, size in database.execute(
            _LISTED, (owner,)
        )
    ]


def drop_session(database: apsw.Connection, named: Named) -> None:
    forget_passages(database, named)
    for table, column in (("entry", "session"), *DERIVED):
        database.execute(f"DELETE FROM {table} WHERE owner = ? AND {column} = ?", named)


def loose_blobs(database: apsw.Connection, owner: str | bytes) -> dict[str, int]:
    rows = database.execute(f"SELECT hash, length(data) {_LOOSE}", (owner,))
    return {given(hash): size for hash, size in rows}


def drop_loose(database: apsw.Connection, owner: str | bytes) -> int:
    before = database.total_changes()
    database.execute(f"DELETE {_LOOSE}", (owner,))
    return database.total_changes() - before


def give_room_back(database: apsw.Connection) -> None:
    """Hand free pages back to the file system, outside of a transaction. The index is merged first:
    until then words of what was dropped stand in it."""
    database.execute("INSERT INTO words (words) VALUES ('optimize')")
    database.execute("PRAGMA incremental_vacuum").fetchall()
    database.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()

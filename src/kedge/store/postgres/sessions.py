"""Sessions as a whole: listed, dropped; and the blobs that none of them needs."""

from __future__ import annotations

from typing import Any

from kedge.store.postgres.connections import Row
from kedge.store.values import SessionInfo

LISTED = """
WITH mine AS (
    SELECT session, count(*) FILTER (WHERE kind = 'compaction') AS compactions,
        sum(octet_length(data)) AS bytes
    FROM kedge.entries WHERE owner = %(owner)s GROUP BY session
), needed AS (
    SELECT session, sum(octet_length(blobs.data)) AS bytes FROM (
        SELECT DISTINCT session, unnest(blobs) AS hash FROM kedge.entries WHERE owner = %(owner)s
    ) AS links JOIN kedge.blobs USING (hash) WHERE blobs.owner = %(owner)s GROUP BY session
), standing AS (
    SELECT session, count(*) AS turns, sum(tokens) AS tokens FROM kedge.places
    WHERE owner = %(owner)s AND thread = %(main)s GROUP BY session
)
SELECT sessions.name, sessions.number, coalesce(standing.turns, 0),
    coalesce(standing.tokens, 0)::bigint, mine.compactions, first.at, last.at,
    (mine.bytes + coalesce(needed.bytes, 0))::bigint
FROM kedge.sessions
JOIN mine ON mine.session = sessions.name
LEFT JOIN needed ON needed.session = sessions.name
LEFT JOIN standing ON standing.session = sessions.name
LEFT JOIN kedge.entries AS first ON first.owner = sessions.owner
    AND first.session = sessions.name AND first.number = 1
LEFT JOIN kedge.entries AS last ON last.owner = sessions.owner
    AND last.session = sessions.name AND last.number = sessions.number
WHERE sessions.owner = %(owner)s ORDER BY sessions.written DESC"""
LOOSE = """
FROM kedge.blobs WHERE owner = %(owner)s AND NOT EXISTS (
    SELECT 1 FROM (
        SELECT DISTINCT unnest(blobs) AS hash FROM kedge.entries WHERE owner = %(owner)s
    ) AS needed WHERE needed.hash = blobs.hash)"""
TABLES = (
    ("entries", "session"),
    ("places", "session"),
    ("messages", "session"),
    ("passages", "session"),
    ("sessions", "name"),
)
"""What a session consists of, and the column of its name."""


def info_of(row: Row) -> SessionInfo:
    name, entries, turns, tokens, compactions, first, last, size = row
    return SessionInfo(
        name=name,
        entries=entries,
        turns=turns,
        tokens=tokens,
        compactions=compactions,
        first=first or 0,
        last=last or 0,
        bytes=size,
    )


def forgetting(given: dict[str, Any]) -> list[tuple[str, dict[str, Any]]]:
    return [
        (f"DELETE FROM kedge.{table} WHERE owner = %(owner)s AND {column} = %(session)s", given)
        for table, column in TABLES
    ]

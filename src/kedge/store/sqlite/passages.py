"""Passages and their words: what finds an entry."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from hashlib import sha256
from typing import NamedTuple

import apsw

from kedge.store.sqlite.days import day_words
from kedge.store.sqlite.rows import kept
from kedge.store.values import Entry, Passage
from kedge.store.words import spaced

FAILED = "failed"
"""Mark of a passage from a call that failed."""
HASH_LETTERS = 16
"""Of an owner or session among the words. Two that share them cost time only: the table says whose
a passage is."""


class Named(NamedTuple):
    """A session of an owner, as the tables have them."""

    owner: str | bytes
    session: str


def owner_word(owner: str | bytes) -> str:
    """One word for an owner, that narrows a search to what is theirs."""
    return "o" + _hashed(owner)


def session_word(named: Named) -> str:
    return "s" + _hashed(named.owner, named.session)


def _hashed(*parts: str | bytes) -> str:
    whole = b"\0".join(part.encode() if isinstance(part, str) else part for part in parts)
    return sha256(whole).hexdigest()[:HASH_LETTERS]


def write_passages(
    database: apsw.Connection,
    named: Named,
    entry: Entry,
    passages: Sequence[Passage],
    *,
    places: Iterable[int] = (),
) -> None:
    """Write the passages of an entry. `places` are ids that became free: with them, passages that
    are written anew stay as old as they were."""
    whose = f"{owner_word(named.owner)} {session_word(named)}"
    days = day_words(entry.at)
    free = iter(places)
    for passage in passages:
        database.execute(
            "INSERT INTO passage"
            " (id, owner, session, number, at, turn, who, error, field, start, size)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                next(free, None),
                *named,
                entry.number,
                entry.at,
                entry.index,
                passage.who,
                passage.error,
                kept(passage.field),
                passage.start,
                len(passage.text),
            ),
        )
        database.execute(
            "INSERT INTO words (rowid, text, files, command, owner, marks)"
            " VALUES (last_insert_rowid(), ?, ?, ?, ?, ?)",
            (
                spaced(passage.text),
                spaced(passage.files),
                spaced(passage.command),
                whose,
                f"{passage.who} {days} {FAILED if passage.error else ''}",
            ),
        )


def passage_counts(database: apsw.Connection, named: Named) -> dict[int, int]:
    """How many passages each entry of a session has, if the index of words has them all."""
    rows = database.execute(
        "SELECT number, count(*) FROM passage"
        " LEFT JOIN words_docsize ON words_docsize.id = passage.id"
        " WHERE owner = ? AND session = ?"
        " GROUP BY number HAVING count(words_docsize.id) = count(*)",
        named,
    )
    return dict(rows)


def forget_passages(database: apsw.Connection, named: Named, number: int | None = None) -> None:
    """Remove the passages of an entry, or of the whole session."""
    where = "owner = ? AND session = ?"
    values: tuple[str | bytes | int, ...] = named
    if number is not None:
        where, values = f"{where} AND number = ?", (*named, number)
    chosen = f"SELECT id FROM passage WHERE {where}"
    database.execute(f"DELETE FROM words WHERE rowid IN ({chosen})", values)
    database.execute(f"DELETE FROM passage WHERE {where}", values)


def rewrite_passages(
    database: apsw.Connection, named: Named, passages: Iterable[tuple[int, Sequence[Passage]]]
) -> None:
    """Replace the passages of some entries. They keep their ids, or get free ones behind those of
    the entry before, so that they stay as old as they were; else they lie side by side at the end.
    """
    for number, written in passages:
        row = database.execute(
            "SELECT at, turn FROM entry WHERE owner = ? AND session = ? AND number = ?",
            (*named, number),
        ).fetchone()
        if row is None:
            continue
        before: list[int] = [
            id
            for (id,) in database.execute(
                "SELECT id FROM passage WHERE owner = ? AND session = ? AND number = ? ORDER BY id",
                (*named, number),
            )
        ]
        forget_passages(database, named, number)
        places: Iterable[int] = before
        if len(before) != len(written):
            places = _free_places(database, named, number, len(written))
        entry = Entry(kind="turn", number=number, at=row[0], index=row[1])
        write_passages(database, named, entry, written, places=places)


def _free_places(database: apsw.Connection, named: Named, number: int, count: int) -> Iterable[int]:
    """So many ids behind those of the entries before one; none where these are taken."""
    last = database.execute(
        "SELECT max(id) FROM passage WHERE owner = ? AND session = ? AND number < ?",
        (*named, number),
    ).get
    if last is None:
        return ()
    places = range(last + 1, last + 1 + count)
    taken = database.execute(
        "SELECT 1 FROM passage WHERE id BETWEEN ? AND ? LIMIT 1",  # of whatever owner
        (places.start, places.stop - 1),
    ).get
    return () if taken else places

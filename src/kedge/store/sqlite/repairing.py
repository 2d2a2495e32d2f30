"""Making good what follows from the entries, and is not what they say."""

from __future__ import annotations

from collections.abc import Collection

import apsw

from kedge.store.sqlite.checking import DATABASE, UNREADABLE, WORDS, session_names
from kedge.store.sqlite.following import DERIVED, Following
from kedge.store.sqlite.passages import Named
from kedge.store.sqlite.rows import WHOLE, entry_of
from kedge.store.sqlite.schema import WORD_TABLE
from kedge.store.sqlite.writing import write_said
from kedge.store.values import Problem


def repair_indexes(
    database: apsw.Connection, owner: str | bytes, found: Collection[Problem]
) -> None:
    """Make the indexes anew that problems were found in. The words of passages are only taken out
    here: `reindex` brings them back, from the originals."""
    where = {problem.where for problem in found}
    if DATABASE in where:
        database.execute("REINDEX")
    if WORDS in where:
        database.execute("DROP TABLE words")
        database.execute(WORD_TABLE)
    for session in session_names(database, owner):
        if session in where:
            _repair_session(database, Named(owner, session))


def _repair_session(database: apsw.Connection, named: Named) -> None:
    for table, column in DERIVED:
        database.execute(f"DELETE FROM {table} WHERE owner = ? AND {column} = ?", named)
    following = Following()
    for row in database.execute(
        f"SELECT {WHOLE} FROM entry WHERE owner = ? AND session = ? ORDER BY number", named
    ):
        try:
            entry = entry_of(row)
            following.take(entry)
        except UNREADABLE:
            continue  # it stays as it is, and is reported as damaged
        write_said(database, named, entry)
    following.write(database, named)
    database.execute(
        "DELETE FROM passage WHERE owner = ? AND session = ? AND NOT EXISTS ("
        "SELECT 1 FROM entry WHERE entry.owner = passage.owner"
        " AND entry.session = passage.session AND entry.number = passage.number)",
        named,
    )
    database.execute(
        "UPDATE passage SET (at, turn) = (SELECT at, turn FROM entry"
        " WHERE entry.owner = passage.owner AND entry.session = passage.session"
        " AND entry.number = passage.number) WHERE owner = ? AND session = ?",
        named,
    )

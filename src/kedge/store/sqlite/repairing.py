"""Making good what follows from the entries, and is not what they say."""

from __future__ import annotations

from collections.abc import Collection

import apsw

from kedge.store.sqlite.checking import DATABASE, STRAY, UNREADABLE, WORDS, session_names
from kedge.store.sqlite.following import DERIVED, Following
from kedge.store.sqlite.passages import Named
from kedge.store.sqlite.rows import WHOLE, entry_of
from kedge.store.sqlite.schema import WORD_TABLE
from kedge.store.sqlite.writing import write_said
from kedge.store.values import Problem

OTHERS = (
    "the index of words was damaged and is empty now, for all owners who share this store:"
    " each of them must run `kedge fsck --repair` too"
)


def repair_indexes(
    database: apsw.Connection, owner: str | bytes, found: Collection[Problem]
) -> list[Problem]:
    """Make the indexes anew that problems were found in, and say what that means for others. The
    words of passages are only taken out here: `reindex` brings them back, from the originals."""
    where = {problem.where for problem in found}
    if DATABASE in where:
        database.execute("REINDEX")
    told = _repair_words(database, owner, [one for one in found if one.where == WORDS])
    for session in session_names(database, owner):
        if session in where:
            _repair_session(database, Named(owner, session))
    return told


def _repair_words(
    database: apsw.Connection, owner: str | bytes, found: Collection[Problem]
) -> list[Problem]:
    """Only an index that is damaged itself is emptied: it is one for all owners."""
    if not found:
        return []
    if all(problem.what.endswith(STRAY) for problem in found):
        database.execute(
            "DELETE FROM words WHERE rowid IN (SELECT id FROM words_docsize"
            " WHERE NOT EXISTS (SELECT 1 FROM passage WHERE passage.id = words_docsize.id))"
        )
        return []
    database.execute("DROP TABLE words")
    database.execute(WORD_TABLE)
    shared = database.execute("SELECT 1 FROM passage WHERE owner <> ? LIMIT 1", (owner,)).get
    return [Problem(where=WORDS, what=OTHERS, repairable=True)] if shared else []


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
    chosen = (
        "SELECT id FROM passage WHERE owner = ? AND session = ? AND NOT EXISTS ("
        "SELECT 1 FROM entry WHERE entry.owner = passage.owner"
        " AND entry.session = passage.session AND entry.number = passage.number)"
    )
    database.execute(f"DELETE FROM words WHERE rowid IN ({chosen})", named)
    database.execute(f"DELETE FROM passage WHERE id IN ({chosen})", named)
    database.execute(
        "UPDATE passage SET (at, turn) = (SELECT at, turn FROM entry"
        " WHERE entry.owner = passage.owner AND entry.session = passage.session"
        " AND entry.number = passage.number) WHERE owner = ? AND session = ?",
        named,
    )

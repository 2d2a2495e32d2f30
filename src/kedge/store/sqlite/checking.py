"""What is wrong with a database: its pages, its entries, and what follows from them."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import apsw

from kedge.store.chain import chain_of
from kedge.store.sqlite.following import DERIVED, Following
from kedge.store.sqlite.passages import Named
from kedge.store.sqlite.rows import WHOLE, entry_of, given, kept
from kedge.store.values import Entry, Head, Problem

DATABASE, WORDS = "database", "words"
"""Where a problem is that is in no session."""
STRAY = "passages are in the index of words and nowhere else"
MOST_REPORTED = 100
"""Problems of the pages, and of a session's passages: whoever reads a hundred knows enough."""
UNREADABLE = (ValueError, TypeError, AttributeError)
"""What a damaged row leads to."""

_PASSAGES = (
    (
        "a passage belongs to no entry, or to another time or turn",
        "NOT EXISTS (SELECT 1 FROM entry WHERE entry.owner = passage.owner"
        " AND entry.session = passage.session AND entry.number = passage.number"
        " AND entry.at = passage.at AND entry.turn = passage.turn)",
    ),
    (
        "a passage is not in the index of words",
        "NOT EXISTS (SELECT 1 FROM words_docsize WHERE words_docsize.id = passage.id)",
    ),
)


def page_problems(database: apsw.Connection) -> Iterator[Problem]:
    """What SQLite itself finds, in its tables and in the index of words."""
    try:
        for (line,) in database.execute(f"PRAGMA integrity_check({MOST_REPORTED})"):
            if line == "ok":
                continue
            if "fts5" in line.lower():
                yield Problem(where=WORDS, what=f"the index is damaged: {line}", repairable=True)
            else:
                indexed = (" index " in line and "missing from" in line) or "wrong # of" in line
                yield Problem(where=DATABASE, what=line, repairable=indexed)
        stray = database.execute(
            "SELECT count(*) FROM words_docsize"
            " WHERE NOT EXISTS (SELECT 1 FROM passage WHERE passage.id = words_docsize.id)"
        ).get
        if stray:
            yield Problem(where=WORDS, what=f"{stray} {STRAY}", repairable=True)
    except apsw.Error as error:
        yield Problem(where=DATABASE, what=f"it cannot be checked: {error}", repairable=False)


def session_names(database: apsw.Connection, owner: str | bytes) -> list[str]:
    """All sessions of which anything is left; of a damaged database, those that can be seen."""
    names: set[str] = set()
    for table, column in (("entry", "session"), ("passage", "session"), *DERIVED):
        with suppress(apsw.CorruptError):  # said already by what SQLite itself finds
            names.update(
                str(name)
                for (name,) in database.execute(
                    f"SELECT DISTINCT {column} FROM {table} WHERE owner = ?", (owner,)
                )
            )
    return sorted(names)


def session_problems(database: apsw.Connection, named: Named) -> Iterator[Problem]:
    """What is wrong with a session. Its entries are read one by one."""
    following = Following()
    before = Head()
    try:
        for row in database.execute(
            f"SELECT {WHOLE} FROM entry WHERE owner = ? AND session = ? ORDER BY number", named
        ):
            try:
                entry = entry_of(row)
                yield from _entry_problems(database, named, entry, before)
                following.take(entry)
                before = Head(number=entry.number, chain=entry.chain)
            except UNREADABLE as error:
                where = f"{named.session} entry {row[0]}"
                yield Problem(where=where, what=f"it cannot be read: {error}", repairable=False)
                before = Head(number=row[0] if isinstance(row[0], int) else -1, chain=str(row[8]))
        for what in following.differences(database, named):
            yield Problem(where=named.session, what=what, repairable=True)
        for what, condition in _PASSAGES:
            count = database.execute(
                f"SELECT count(*) FROM passage WHERE owner = ? AND session = ? AND {condition}",
                named,
            ).get
            if count:
                yield Problem(where=named.session, what=f"{what} ({count} times)", repairable=True)
    except apsw.Error as error:
        yield Problem(where=named.session, what=f"it cannot be read: {error}", repairable=False)


def _entry_problems(
    database: apsw.Connection, named: Named, entry: Entry, before: Head
) -> Iterator[Problem]:
    where = f"{named.session} entry {entry.number}"
    if entry.number != before.number + 1:
        what = f"its number comes after {before.number}: entries are missing"
        yield Problem(where=where, what=what, repairable=False)
    if entry.chain != chain_of(entry, before.chain):
        what = "its chain is broken: it, or what was before it, is not what was written"
        yield Problem(where=where, what=what, repairable=False)
    for hash in entry.blobs:
        there = database.execute(
            "SELECT 1 FROM blob WHERE owner = ? AND hash = ?", (named.owner, kept(hash))
        ).fetchone()
        if there is None:
            what = f"the blob {given(hash)} that it refers to is missing"
            yield Problem(where=where, what=what, repairable=False)

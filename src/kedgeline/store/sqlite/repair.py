"""Checking a database, and making good what follows from its entries: places, messages, links; all
of it anew where pages of the database are damaged."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from contextlib import closing, suppress
from hashlib import sha256
from itertools import zip_longest
from pathlib import Path
from secrets import token_hex
from typing import Any

import apsw

from kedgeline.store.sqlite.connection import DATABASE as DATABASE_FILE
from kedgeline.store.sqlite.connection import PAGE_BYTES, PRIVATE_FILE, WORD_TABLE, Step, migrate
from kedgeline.store.sqlite.reading import WHOLE, kept
from kedgeline.store.sqlite.search import Named
from kedgeline.store.tables import (
    LAST_INTEGER,
    UNREADABLE,
    WRONG_LINE,
    WRONG_MESSAGES,
    WRONG_PLACES,
    Standing,
    as_bytes,
    entry_of,
    link_problems,
    missing_blob,
    problem_of,
    readable,
    text_of,
)
from kedgeline.store.values import Entry, Head, Problem, chain_of

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
        self._standing = Standing()
        self._said, self._messages = sha256(), 0
        self._hashes: set[Text] = set()
        self._bytes = 0

    def take(self, entry: Entry) -> None:
        self._bytes += len(entry.data)
        self._hashes.update(map(kept, entry.blobs))
        for id in entry.said:
            self._messages += 1
            self._said.update(repr((self._messages, kept(id))).encode())
        self._standing.take(entry)

    def differences(self, database: apsw.Connection, named: Named) -> Iterator[str]:
        """Where the tables say something else, or nothing that can be read."""
        for what, is_same in (
            (WRONG_PLACES, self._same_places),
            (WRONG_MESSAGES, self._same_messages),
            ("its links to blobs are not those that its entries say", self._same_links),
            (WRONG_LINE, self._same_line),
        ):
            try:
                same = is_same(database, named)
            except UNREADABLE:
                same = False
            if not same:
                yield what

    def _same_places(self, database: apsw.Connection, named: Named) -> bool:
        rows = database.execute(
            "SELECT thread, turn, number, tokens, before, ahead, id FROM place"
            " WHERE owner = ? AND session = ? ORDER BY thread, turn",
            named,
        )
        return all(row == place for row, place in zip_longest(rows, self._in_order()))

    def _same_messages(self, database: apsw.Connection, named: Named) -> bool:
        told = sha256()
        for row in database.execute(
            "SELECT position, id FROM said WHERE owner = ? AND session = ? ORDER BY position",
            named,
        ):
            told.update(repr(row).encode())
        return told.digest() == self._said.digest()

    def _same_links(self, database: apsw.Connection, named: Named) -> bool:
        rows = database.execute("SELECT hash FROM link WHERE owner = ? AND session = ?", named)
        return self._hashes == {hash for (hash,) in rows}

    def _same_line(self, database: apsw.Connection, named: Named) -> bool:
        row = database.execute(
            "SELECT rank, bytes FROM session WHERE owner = ? AND name = ?", named
        ).fetchone()
        rank = _rank(database, named)
        return bool(row == (None if rank is None else (rank, self._bytes)))

    def _in_order(self) -> Iterator[tuple[Any, ...]]:
        """As SQLite sorts them: texts before bytes, each by its bytes."""
        places = self._standing.places
        for thread in sorted(places, key=lambda it: (isinstance(kept(it), bytes), as_bytes(it))):
            for ahead, at in enumerate(places[thread]):
                yield kept(thread), at.index, at.number, at.tokens, at.before, ahead, kept(at.id)

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


def _rank(database: apsw.Connection, named: Named) -> int | None:
    """Of the last entry among those of all sessions."""
    rank: int | None = database.execute(
        "SELECT rank FROM entry WHERE owner = ? AND session = ? ORDER BY number DESC LIMIT 1",
        named,
    ).get
    return rank


def write_said(database: apsw.Connection, named: Named, entry: Entry) -> None:
    """The messages that an entry took in, behind all others of its session."""
    for id in entry.said:
        database.execute(
            "INSERT INTO said (owner, session, position, id)"
            " SELECT ?1, ?2, coalesce(max(position), 0) + 1, ?3 FROM said"
            " WHERE owner = ?1 AND session = ?2",
            (*named, kept(id)),
        )


# What is wrong with a database: its pages, its entries, and what follows from them.

DATABASE, WORDS = "database", "words"
"""Where a problem is that is in no session."""
STRAY = "passages are in the index of words and nowhere else"
MOST_REPORTED = 100
"""Problems of the pages, and of a session's passages: whoever reads a hundred knows enough."""

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
    except (apsw.Error, *UNREADABLE) as error:
        yield Problem(where=DATABASE, what=f"it cannot be checked: {error}", repairable=False)


def session_names(database: apsw.Connection, owner: str | bytes) -> list[str]:
    """All sessions of which anything is left; of a damaged database, those that can be seen."""
    names: set[str] = set()
    for table, column in (("entry", "session"), ("passage", "session"), *DERIVED):
        with suppress(apsw.Error):  # said already by what SQLite itself finds
            rows = database.execute(
                f"SELECT DISTINCT {column} FROM {table} WHERE owner = ?", (owner,)
            )
            names.update(readable(rows, lambda row: text_of(row[0])))
    return sorted(names)


def session_problems(database: apsw.Connection, named: Named) -> Iterator[Problem]:
    """What is wrong with a session. Its entries are read one by one. Where one of them is damaged,
    what followed from all of them remembers more than they do, and is not made anew."""
    following = Following()
    before, sound = Head(), True
    try:
        rows = database.execute(
            f"SELECT {WHOLE} FROM entry WHERE owner = ? AND session = ? ORDER BY number", named
        )
        while True:
            try:
                entry = entry_of(next(rows))
            except StopIteration:
                break
            except UNREADABLE as error:
                before, sound = Head(number=before.number + 1), False
                yield problem_of(named.session, before.number, f"it cannot be read: {error}")
                continue
            sound = sound and entry.chain == chain_of(entry, before.chain)
            yield from link_problems(named.session, entry, before)
            yield from _blob_problems(database, named, entry)
            following.take(entry)
            before = Head(number=entry.number, chain=entry.chain)
        for what in following.differences(database, named):
            yield Problem(where=named.session, what=what, repairable=sound)
        for what, condition in _PASSAGES:
            count = database.execute(
                f"SELECT count(*) FROM passage WHERE owner = ? AND session = ? AND {condition}",
                named,
            ).get
            if count:
                what = f"{what} ({count} times)"
                yield Problem(where=named.session, what=what, repairable=sound)
    except (apsw.Error, *UNREADABLE) as error:
        yield Problem(where=named.session, what=f"it cannot be read: {error}", repairable=False)


def _blob_problems(database: apsw.Connection, named: Named, entry: Entry) -> Iterator[Problem]:
    for hash in entry.blobs:
        there = database.execute(
            "SELECT 1 FROM blob WHERE owner = ? AND hash = ?", (named.owner, kept(hash))
        ).fetchone()
        if there is None:
            yield missing_blob(named.session, entry.number, hash)


# Making good.

ORIGINALS = (("entry", "rank"), ("blob", "rowid"))
"""The tables that all others follow from, and the number of their rows."""
MOST_FAILED = 10_000
"""Ranges of rows in a row that cannot be copied, half a second in all: some hundred pages."""

OTHERS = (
    "the index of words was damaged and is empty now, for all owners who share this store:"
    " each of them must run `kedgeline fsck --repair` too"
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
    rows = database.execute(
        f"SELECT {WHOLE} FROM entry WHERE owner = ? AND session = ? ORDER BY number", named
    )
    for entry in readable(rows, entry_of):  # others stay as they are, and are reported as damaged
        following.take(entry)
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


def rebuild(database: apsw.Connection, folder: Path, steps: tuple[Step, ...]) -> list[Problem]:
    """Take all originals that can be read over into a new database, and put it in the place of the
    damaged one, which is kept beside it. Who has it open goes on with what is there then."""
    aside = folder / f"{DATABASE_FILE}.damaged-{token_hex(4)}"
    fresh = folder / f"{DATABASE_FILE}.new-{token_hex(4)}"
    for path in (aside, fresh):
        os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE_FILE))
    try:
        with closing(apsw.Connection(str(aside))) as copy:
            _copy(database, copy)
        with closing(apsw.Connection(str(fresh))) as new:
            for pragma in (f"page_size = {PAGE_BYTES}", "auto_vacuum = INCREMENTAL"):
                new.execute(f"PRAGMA {pragma}")
            migrate(new, str(fresh), steps)
            new.execute("ATTACH ? AS damaged", (str(aside),))
            counts = [_taken_over(new, table, key) for table, key in ORIGINALS]
            for owner, session in new.execute("SELECT DISTINCT owner, session FROM entry"):
                _repair_session(new, Named(owner, session))
            new.execute("DETACH damaged")
            _copy(new, database)
    finally:
        for path in (fresh, Path(f"{fresh}-journal")):
            path.unlink(missing_ok=True)
    what = (
        f"its pages were damaged: {counts[0]:,} entries and {counts[1]:,} large texts are whole"
        f" and were taken over; the damaged database is kept as {aside.name}"
    )
    return [Problem(where=DATABASE, what=what, repairable=True)]


def _copy(source: apsw.Connection, target: apsw.Connection) -> None:
    """All pages as they are, in one step that others see as a whole or not at all."""
    with target.backup("main", source, "main") as backup:
        while not backup.done:
            backup.step(-1)


def _taken_over(new: apsw.Connection, table: str, key: str) -> int:
    """How many rows could be copied, as they stand. Around a damaged page, smaller and smaller
    ranges are tried, until nothing comes any more: the page that leads to all others is gone."""
    begun, failed, ranges = new.total_changes(), 0, [(1, LAST_INTEGER)]
    while ranges and failed < MOST_FAILED:
        low, high = ranges.pop()
        before = new.total_changes()
        try:
            with new:
                new.execute(
                    f"INSERT OR IGNORE INTO main.{table} SELECT * FROM damaged.{table}"
                    f" WHERE {key} BETWEEN ? AND ?",
                    (low, high),
                )
        except (apsw.CorruptError, apsw.SQLError, apsw.MismatchError):
            failed += 1
            if low < high:
                middle = (low + high) // 2
                ranges += [(middle + 1, high), (low, middle)]
        else:
            failed = 0 if new.total_changes() > before else failed
    return new.total_changes() - begun

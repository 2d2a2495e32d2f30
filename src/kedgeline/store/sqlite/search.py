"""Passages and their words: how they are written, and searched."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

import apsw

from kedgeline.store.sqlite.reading import kept
from kedgeline.store.tables import (
    CANDIDATES,
    FAILED,
    LAST_INTEGER,
    OF_A_TURN,
    Candidate,
    best_of,
    owner_mark,
    session_mark,
    words_of,
)
from kedgeline.store.values import WHO, Entry, Found, Passage, Phrase, Query, score_of, spaced

# Days as words: they narrow a search to a time before any passage is looked at.

DAY = 86_400_000_000
"""Microseconds."""
SPANS = (1_024, 32, 1)
"""Days that one word stands for. Any time is put together from some dozens of them."""
LAST_DAY = 32 * SPANS[0] - 1
"""In the year 2059. What is later, or before 1970, counts for the last or the first day: the table
says the time itself."""


def day_of(at: int) -> int:
    return min(max(at // DAY, 0), LAST_DAY)


def day_words(at: int) -> str:
    """The words of a time, one for each span."""
    return " ".join(_word(day_of(at), span) for span in SPANS)


def days_between(since: int | None, until: int | None) -> list[str]:
    """Words of which each passage of a time has one; none where any time will do."""
    if since is None and until is None:
        return []
    day = 0 if since is None else day_of(since)
    last = LAST_DAY if until is None else day_of(until)
    found = []
    while day <= last:
        span = next(span for span in SPANS if day % span == 0 and day + span - 1 <= last)
        found.append(_word(day, span))
        day += span
    return found


def _word(day: int, span: int) -> str:
    return f"d{span}x{day // span}"


# Passages and their words: what finds an entry.


class Named(NamedTuple):
    """A session of an owner, as the tables have them."""

    owner: str | bytes
    session: str


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
    whose = f"{owner_mark(named.owner)} {session_mark(*named)}"
    days, free = day_words(entry.at), iter(places)
    of_entry = (entry.number, entry.at, entry.index)
    for passage in passages:
        where = (kept(passage.field), passage.start, len(passage.text))
        database.execute(
            "INSERT INTO passage"
            " (id, owner, session, number, at, turn, who, error, field, start, size)"
            " VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (next(free, None), *named, *of_entry, passage.who, passage.error, *where),
        )
        texts = map(spaced, (passage.text, passage.files, passage.command))
        marks = f"{passage.who} {days} {FAILED if passage.error else ''}"
        database.execute(
            "INSERT INTO words (rowid, text, files, command, owner, marks)"
            " VALUES (last_insert_rowid(), ?, ?, ?, ?, ?)",
            (*texts, whose, marks),
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
        rows = database.execute(
            "SELECT id FROM passage WHERE owner = ? AND session = ? AND number = ? ORDER BY id",
            (*named, number),
        )
        before: list[int] = [id for (id,) in rows]
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


# Searching: the newest passages that match, and the best of these.

TEXT = 0
"""Column of the text among those of the words."""
SCORE = "nearness"
"""Name of the function that ranks a match, within SQLite."""

_CANDIDATE = f"""
SELECT {SCORE}(words), 0, words.rowid, passage.session, passage.number
FROM words CROSS JOIN passage ON passage.id = words.rowid
WHERE words MATCH ? AND words.rowid < ? AND passage.owner = ?"""
_FIRST_PASSAGE = "SELECT min(id) FROM passage WHERE owner = ? AND session = ? AND number = ?"
"""Where the passages of a turn begin; they lie side by side."""
_FOUND = """
SELECT entry.thread, entry.turn, entry.at, entry.id,
       passage.who, passage.field, passage.start, passage.size, passage.error
FROM passage JOIN entry ON entry.owner = passage.owner AND entry.session = passage.session
     AND entry.number = passage.number
WHERE passage.id = ? AND passage.owner = ?"""


def prepare_ranking(database: apsw.Connection) -> None:
    database.register_fts5_function(SCORE, _score)


def _score(match: apsw.FTS5ExtensionApi, /, *_: Any) -> float:
    """Of the phrases that are sought in the text; others match but do not rank."""
    if match.aux_data is None:  # once for each query
        average = match.column_total_size(TEXT) / max(1, match.row_count)
        match.aux_data = (match.phrase_count, average)
    phrases, average = match.aux_data
    hits = (len(match.phrase_column_offsets(phrase, TEXT)) for phrase in range(phrases))
    return score_of((count for count in hits if count), match.column_size(TEXT), average)


def found_by(database: apsw.Connection, owner: str | bytes, query: Query) -> list[Found]:
    """The answer to a query: of each turn its best passage, best first, newer before older."""
    if query.limit <= 0 or query.who not in ("", *WHO) or _never(query):
        return []
    best = best_of(_candidates(database, owner, query), query.limit)
    found = (_found(database, owner, candidate) for candidate in best)
    return [one for one in found if one is not None]


def _never(query: Query) -> bool:
    """Whether it asks for a time that ends before it begins."""
    return query.since is not None and query.until is not None and query.since > query.until


def _candidates(database: apsw.Connection, owner: str | bytes, query: Query) -> list[Candidate]:
    conditions, values = _conditions(query)
    statement = f"{_CANDIDATE}{conditions} ORDER BY words.rowid DESC"
    match = expression(owner, query)
    found: list[Candidate] = []
    counts: Counter[tuple[str, int]] = Counter()
    below: int | None = LAST_INTEGER
    while below is not None:
        rows = database.execute(statement, (match, below, owner, *values))
        below = None
        for row in rows:
            candidate = Candidate(*row)
            turn = (candidate.session, candidate.number)
            if counts[turn] == OF_A_TURN:
                below = database.execute(_FIRST_PASSAGE, (owner, *turn)).get
                break
            counts[turn] += 1
            found.append(candidate)
            if len(found) == CANDIDATES:
                break
        rows.close()
    return found


def _conditions(query: Query) -> tuple[str, list[Any]]:
    """What the index of words does not know, or knows by a hash only."""
    tests: tuple[tuple[str, Any], ...] = (
        ("passage.at >= ?", query.since),
        ("passage.at <= ?", query.until),
        ("passage.turn >= ?", query.first),
        ("passage.turn <= ?", query.last),
        ("passage.who = ?", query.who or None),
        ("passage.error = ?", 1 if query.errors else None),
    )
    chosen = [(test, value) for test, value in tests if value is not None]
    text = "".join(f" AND {test}" for test, _ in chosen)
    values = [value for _, value in chosen]
    if query.sessions:
        text += f" AND passage.session IN ({', '.join('?' * len(query.sessions))})"
        values += query.sessions
    return text, values


def expression(owner: str | bytes, query: Query) -> str:
    """A query in the language of the index. Every word is one of ours, made of letters and digits
    and within quotes: nothing that is sought can become part of that language."""
    whose = [session_mark(owner, session) for session in query.sessions]
    parts = [_column("owner", whose or [owner_mark(owner)])]
    if query.who:
        parts.append(_column("marks", [query.who]))
    if query.errors:
        parts.append(_column("marks", [FAILED]))
    if days := days_between(query.since, query.until):
        parts.append(_column("marks", days))
    sought = (("text", query.phrases), ("files", query.files), ("command", query.commands))
    for column, phrases in sought:
        parts += [f"{column} : {text}" for text in map(_phrase, phrases) if text]
    return " AND ".join(parts)


def _column(column: str, either: Sequence[str]) -> str:
    return f"{column} : ({' OR '.join(map(_quoted, either))})"


def _phrase(phrase: Phrase) -> str:
    sought = " ".join(words_of(phrase))
    return sought and _quoted(sought) + (" *" if phrase.prefix else "")


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def _found(database: apsw.Connection, owner: str | bytes, candidate: Candidate) -> Found | None:
    """None where the entry of a passage is gone."""
    row = database.execute(_FOUND, (candidate.row, owner)).fetchone()
    return candidate.found(row) if row else None

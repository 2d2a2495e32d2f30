"""Searching: the newest passages that match, and the best of these."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import Any, NamedTuple

import apsw

from kedge.store.ranking import score_of
from kedge.store.sqlite.days import days_between
from kedge.store.sqlite.passages import FAILED, Named, owner_word, session_word
from kedge.store.sqlite.reading import LAST_INTEGER
from kedge.store.sqlite.rows import given
from kedge.store.values import WHO, Found, Phrase, Query
from kedge.store.words import words

CANDIDATES = 2_000
"""Newest matches that are ranked. A word that stands everywhere would else cost a look at every
passage there is."""
OF_A_TURN = 50
"""Candidates from one turn: a giant output must not be all that is looked at."""
TEXT = 0
"""Column of the text among those of the words."""
SCORE = "nearness"
"""Name of the function that ranks a match, within SQLite."""

_CANDIDATE = f"""
SELECT words.rowid, {SCORE}(words), passage.session, passage.number
FROM words CROSS JOIN passage ON passage.id = words.rowid
WHERE words MATCH ? AND words.rowid < ? AND passage.owner = ?"""
_FOUND = """
SELECT entry.thread, entry.turn, entry.at, entry.id,
       passage.who, passage.field, passage.start, passage.size, passage.error
FROM passage JOIN entry ON entry.owner = passage.owner AND entry.session = passage.session
     AND entry.number = passage.number
WHERE passage.id = ? AND passage.owner = ?"""


class Candidate(NamedTuple):
    id: int
    score: float
    session: str
    number: int


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
    candidates = _candidates(database, owner, query)
    candidates.sort(key=lambda each: (each.score, each.id), reverse=True)
    best: dict[tuple[str, int], Candidate] = {}
    for candidate in candidates:
        best.setdefault((candidate.session, candidate.number), candidate)
        if len(best) == query.limit:
            break
    return [_found(database, owner, candidate) for candidate in best.values()]


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
                below = _first_passage(database, owner, candidate)
                break
            counts[turn] += 1
            found.append(candidate)
            if len(found) == CANDIDATES:
                break
        rows.close()
    return found


def _first_passage(
    database: apsw.Connection, owner: str | bytes, candidate: Candidate
) -> int | None:
    """Where the passages of its turn begin; they lie side by side."""
    first: int | None = database.execute(
        "SELECT min(id) FROM passage WHERE owner = ? AND session = ? AND number = ?",
        (owner, candidate.session, candidate.number),
    ).get
    return first


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
    whose = [session_word(Named(owner, session)) for session in query.sessions]
    parts = [_column("owner", whose or [owner_word(owner)])]
    if query.who:
        parts.append(_column("marks", [query.who]))
    if query.errors:
        parts.append(_column("marks", [FAILED]))
    if days := days_between(query.since, query.until):
        parts.append(_column("marks", days))
    for column, phrases in (
        ("text", query.phrases),
        ("files", query.files),
        ("command", query.commands),
    ):
        parts += [f"{column} : {text}" for text in map(_phrase, phrases) if text]
    return " AND ".join(parts)


def _column(column: str, either: Sequence[str]) -> str:
    return f"{column} : ({' OR '.join(map(_quoted, either))})"


def _phrase(phrase: Phrase) -> str:
    sought = [word for given in phrase.words for word in words(given)]
    if not sought:
        return ""
    return _quoted(" ".join(sought)) + (" *" if phrase.prefix else "")


def _quoted(text: str) -> str:
    return '"' + text.replace('"', '""') + '"'


def _found(database: apsw.Connection, owner: str | bytes, candidate: Candidate) -> Found:
    rows = database.execute(_FOUND, (candidate.id, owner))
    thread, turn, at, id, who, field, start, size, error = next(rows)
    return Found(
        session=candidate.session,
        thread=given(thread),
        index=turn,
        number=candidate.number,
        at=at,
        id=given(id),
        who=who,
        field=given(field),
        start=start,
        size=size,
        error=bool(error),
        score=candidate.score,
    )

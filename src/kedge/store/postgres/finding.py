"""Searching: the newest passages that match, and the best of these."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from kedge.store.postgres.connections import Row
from kedge.store.postgres.passages import (
    FAILED,
    LONGEST_WORD,
    owner_mark,
    quoted,
    session_mark,
)
from kedge.store.postgres.rows import packed, sought, unpacked
from kedge.store.values import Found, Phrase, Query
from kedge.store.words import words

CANDIDATES = 2_000
"""Newest matches that are ranked. A word that stands everywhere would else cost a look at every
passage there is."""
OF_A_TURN = 50
"""Candidates from one turn: a giant output must not be all that is looked at."""
LAST_INTEGER = 2**63 - 1
BY_LENGTH = 1
"""How ranks are made comparable: divided by the logarithm of a passage's words."""

_CANDIDATE = """
SELECT session, number, written, row, {score} AS score FROM (
    SELECT session, number, written, row, text FROM kedge.passages
    WHERE owner = %(owner)s AND marks @@ %(marks)s::tsquery{conditions}
        AND (written, row) < (%(written)s, %(row)s)
    ORDER BY written DESC, row DESC LIMIT %(candidates)s
) AS newest ORDER BY written DESC, row DESC"""
_SCORE = f"ts_rank_cd(text, %(text)s::tsquery, {BY_LENGTH})::float8"
_FOUND = """
SELECT best.row, best.session, entry.thread, entry.index, best.number, entry.at, entry.id,
    who, field, start, size, error
FROM unnest(%(sessions)s::text[], %(numbers)s::bigint[], %(rows)s::bigint[])
    AS best (session, number, row)
CROSS JOIN LATERAL (
    SELECT who, field, start, size, error FROM kedge.passages
    WHERE owner = %(owner)s AND session = best.session AND number = best.number
        AND row = best.row LIMIT 1
) AS passage
CROSS JOIN LATERAL (
    SELECT thread, index, at, id FROM kedge.entries
    WHERE owner = %(owner)s AND session = best.session AND number = best.number LIMIT 1
) AS entry"""

Ask = Callable[[str, dict[str, Any]], list[Row]]


class Candidate(NamedTuple):
    session: str
    number: int
    written: int
    row: int
    score: float


def found_by(ask: Ask, owner: str, query: Query) -> list[Found]:
    """The answer to a query: of each turn its best passage, best first, newer before older."""
    if query.limit <= 0:
        return []
    candidates = _candidates(ask, owner, query)
    candidates.sort(key=lambda each: (each.score, each.written, each.row), reverse=True)
    best: dict[int, Candidate] = {}
    for candidate in candidates:
        best.setdefault(candidate.written, candidate)
        if len(best) == query.limit:
            break
    given = {
        "owner": owner,
        "sessions": [each.session for each in best.values()],
        "numbers": [each.number for each in best.values()],
        "rows": [each.row for each in best.values()],
    }
    found = {row: rest for row, *rest in ask(_FOUND, given)} if best else {}
    return [_found(found[each.row], each.score) for each in best.values() if each.row in found]


def _candidates(ask: Ask, owner: str, query: Query) -> list[Candidate]:
    """The newest matches, so many of one turn at the most; where one has more, what is older than
    it is looked at again."""
    statement, given = question(owner, query)
    most = given["candidates"] = max(CANDIDATES, query.limit)
    given |= {"written": LAST_INTEGER, "row": LAST_INTEGER}
    found: list[Candidate] = []
    counts: Counter[int] = Counter()
    while True:
        page = [Candidate(*row) for row in ask(statement, given)]
        for candidate in page:
            counts[candidate.written] += 1
            if counts[candidate.written] <= OF_A_TURN:
                found.append(candidate)
        if len(page) < most or len(found) >= most:
            return found[:most]
        last = page[-1]
        full = counts[last.written] >= OF_A_TURN
        given |= {"written": last.written, "row": 0 if full else last.row}


def question(owner: str, query: Query) -> tuple[str, dict[str, Any]]:
    """A query as a statement and its values. Values alone come from outside."""
    given: dict[str, Any] = {
        "owner": owner,
        "marks": _marks(owner, query),
        "text": _expression(query.phrases),
        "files": _expression(query.files),
        "command": _expression(query.commands),
        "sessions": [sought(name) for name in query.sessions],
        "since": query.since,
        "until": query.until,
        "first": query.first,
        "last": query.last,
        "who": packed(query.who),
    }
    tests = (
        ("text @@ %(text)s::tsquery", given["text"]),
        ("files @@ %(files)s::tsquery", given["files"]),
        ("command @@ %(command)s::tsquery", given["command"]),
        ("session = ANY(%(sessions)s)", query.sessions),
        ("who = %(who)s", query.who),
        ("error", query.errors),
        ("at >= %(since)s", query.since is not None),
        ("at <= %(until)s", query.until is not None),
        ("index >= %(first)s", query.first is not None),
        ("index <= %(last)s", query.last is not None),
    )
    conditions = "".join(f" AND {test}" for test, needed in tests if needed)
    score = _SCORE if given["text"] else "0::float8"
    return _CANDIDATE.format(conditions=conditions, score=score), given


def _marks(owner: str, query: Query) -> str:
    whose = [session_mark(owner, sought(name)) for name in query.sessions] or [owner_mark(owner)]
    parts = [f"({' | '.join(map(quoted, whose))})"]
    parts += [quoted(FAILED)] if query.errors else []
    return " & ".join(parts)


def _expression(phrases: Sequence[Phrase]) -> str:
    """All phrases in the language of the index. Every word is one of ours, made of letters and
    digits and within quotes: nothing that is sought can become part of that language."""
    return " & ".join(f"({text})" for text in map(_phrase, phrases) if text)


def _phrase(phrase: Phrase) -> str:
    wanted = [quoted(word[:LONGEST_WORD]) for given in phrase.words for word in words(given)]
    return " <-> ".join(wanted) + (":*" if phrase.prefix and wanted else "")


def _found(row: Sequence[Any], score: float) -> Found:
    session, thread, index, number, at, id, who, field, start, size, error = row
    return Found(
        session=session,
        thread=unpacked(thread),
        index=index,
        number=number,
        at=at,
        id=unpacked(id),
        who=unpacked(who),
        field=unpacked(field),
        start=start,
        size=size,
        error=error,
        score=score,
    )

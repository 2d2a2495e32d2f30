"""What can be asked of a server, each with one statement; passages and how they are searched."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from hashlib import sha256
from typing import Any

from kedgeline.errors import BadSettings, StoreDamaged, StoreFailed
from kedgeline.store.tables import (
    CANDIDATES,
    FAILED,
    LAST_INTEGER,
    OF_A_TURN,
    UNREADABLE,
    Candidate,
    Row,
    as_bytes,
    best_of,
    entry_of,
    owner_mark,
    place_of,
    readable,
    session_mark,
    text_of,
    words_of,
)
from kedgeline.store.values import Entry, Found, Head, Kind, Passage, Phrase, Place, Query, words

LONGEST_OWNER = 200
"""Characters: an owner is in every index, whose rows must stay small."""
ENTRY = "number, kind, at, thread, index, tokens, id, key, chain"
"""Columns of a light entry."""
WHOLE = f"{ENTRY}, blobs, said, data"
PLACE = "index, number, tokens, before, id"


def hashed(text: str) -> bytes:
    """Stands for a text of any length in an index."""
    return sha256(as_bytes(text)).digest()


def owner_column(owner: str) -> str:
    """An owner as it stands in every table: as it is, but for what no text may hold."""
    if len(owner) > LONGEST_OWNER:
        problem = f"it has {len(owner)} characters; use {LONGEST_OWNER} at the most"
        raise BadSettings("the owner of the store", problem)
    plain = owner.replace("\\", "\\\\").replace("\0", "\\0")
    return plain.encode("utf-8", "backslashreplace").decode()


def sought(session: str) -> str:
    """A name as it may be asked for: one that no session can have finds none."""
    return session if session.isascii() and "\0" not in session else ""


BATCH_ROWS = 500
BATCH_BYTES = 1_000_000
"""Entries fetched at once: many small ones, or few large ones, or one giant."""

MINE = "owner = %(owner)s AND session = %(session)s"
_LIGHT = (
    f"SELECT {ENTRY} FROM kedgeline.entries WHERE {MINE} AND {{which}} {{order}} LIMIT {BATCH_ROWS}"
)
_WHOLE = f"""
SELECT {WHOLE} FROM kedgeline.entries WHERE {MINE} AND number {{until}} (
    SELECT {{furthest}}(number) FROM (
        SELECT number, sum(size) OVER ({{order}}) - size AS before FROM (
            SELECT number, octet_length(data)::bigint AS size FROM kedgeline.entries
            WHERE {MINE} AND {{which}} {{order}} LIMIT {BATCH_ROWS}
        ) AS sizes
    ) AS sums WHERE before < {BATCH_BYTES}
) AND {{which}} {{order}}"""
# No statement joins two tables that grow with a session: a server that has not counted their rows
# yet would go through one of them for each row of the other.
_SAID = f"""
SELECT (SELECT said[newest.place] FROM kedgeline.entries WHERE {MINE} AND number = newest.number)
FROM (
    SELECT number, place FROM kedgeline.messages WHERE {MINE}
    ORDER BY number DESC, place DESC LIMIT %(last)s
) AS newest ORDER BY number DESC, place DESC"""
_THREADS = f"""
SELECT (SELECT thread FROM kedgeline.entries WHERE {MINE} AND number = first.number) FROM (
    SELECT DISTINCT ON (thread) number FROM kedgeline.places
    WHERE {MINE} AND thread <> %(main)s ORDER BY thread, index
) AS first ORDER BY number"""
_FORWARD = ("ORDER BY number", "<=", "max")
_BACKWARD = ("ORDER BY number DESC", ">=", "min")


class PostgresReading:
    def __init__(self, owner: str, place: str) -> None:
        self.owner = owner
        self._owner, self._place = owner_column(owner), place

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._place!r}, owner={self.owner!r})"

    def _ask(self, query: str, given: dict[str, Any]) -> list[Row]:
        raise NotImplementedError

    def _of(self, session: str, **values: Any) -> dict[str, Any]:
        return {"owner": self._owner, "session": sought(session), **values}

    def head(self, session: str) -> Head:
        number, chain, _ = self._end(session)
        return Head(number=number, chain=chain)

    def _end(self, session: str) -> tuple[int, str, int]:
        """Number and chain of the last entry, and which session of that name it is: one that was
        dropped and written anew is another."""
        rows = self._ask(
            "SELECT number, chain, born FROM kedgeline.sessions"
            " WHERE owner = %(owner)s AND name = %(session)s",
            self._of(session),
        )
        number, chain, born = rows[0] if rows else (0, "", 0)
        return number, chain, born

    def entries(
        self,
        session: str,
        *,
        kinds: Collection[Kind] = (),
        thread: str | None = None,
        after: int = 0,
        newest_first: bool = False,
        light: bool = False,
    ) -> Iterator[Entry]:
        """Up to those that are there when the first is asked for. No connection is held between
        two batches: entries never change."""
        last, _, born = self._end(session)
        order, until, furthest = _BACKWARD if newest_first else _FORWARD
        which = "number > %(after)s AND number <= %(last)s"
        which += " AND kind = ANY(%(kinds)s)" if kinds else ""
        which += " AND thread = %(thread)s" if thread is not None else ""
        query = (_LIGHT if light else _WHOLE).format(
            which=which, order=order, until=until, furthest=furthest
        )
        given = self._of(session, kinds=list(kinds), thread=as_bytes(thread or ""))
        while after < last:
            rows = self._ask(query, {**given, "after": after, "last": last})
            if not rows:
                self._still_there(session, born)
                return
            yield from readable(iter(rows), entry_of)
            after, last = (after, rows[-1][0] - 1) if newest_first else (rows[-1][0], last)

    def _still_there(self, session: str, born: int) -> None:
        if self._end(session)[2] != born:
            why = f"the session {session!r} was dropped while it was read"
            raise StoreFailed(self._place, why, next_step="what was read is not all of it")

    def entry(self, session: str, number: int) -> Entry | None:
        rows = self._ask(
            f"SELECT {WHOLE} FROM kedgeline.entries WHERE {MINE} AND number = %(number)s",
            self._of(session, number=number),
        )
        try:
            return entry_of(rows[0]) if rows else None
        except UNREADABLE as error:
            raise StoreDamaged(self._place, f"a row cannot be read: {error}") from error

    def places(
        self, session: str, *, thread: str = "", first: int = 0, last: int | None = None
    ) -> Sequence[Place]:
        until = "" if last is None else " AND index <= %(last)s"
        rows = self._ask(
            f"SELECT {PLACE} FROM kedgeline.places WHERE {MINE} AND thread = %(thread)s"
            f" AND index >= %(first)s{until} ORDER BY index",
            self._of(session, thread=hashed(thread), first=first, last=last),
        )
        return [place_of(row) for row in rows]

    def last_place(self, session: str, *, thread: str = "") -> Place | None:
        rows = self._ask(
            f"SELECT {PLACE} FROM kedgeline.places WHERE {MINE} AND thread = %(thread)s"
            " ORDER BY index DESC LIMIT 1",
            self._of(session, thread=hashed(thread)),
        )
        return place_of(rows[0]) if rows else None

    def threads(self, session: str) -> Sequence[str]:
        rows = self._ask(_THREADS, self._of(session, main=hashed("")))
        return [text_of(thread) for (thread,) in rows]

    def said(self, session: str, last: int) -> Sequence[str]:
        rows = self._ask(_SAID, self._of(session, last=max(0, last)))
        return [text_of(id) for (id,) in reversed(rows)]

    def known(self, session: str, ids: Collection[str]) -> frozenset[str]:
        names = {hashed(id): id for id in ids}
        rows = self._ask(
            f"SELECT DISTINCT hash FROM kedgeline.messages WHERE {MINE} AND hash = ANY(%(hashes)s)",
            self._of(session, hashes=list(names)),
        )
        return frozenset(names[hash] for (hash,) in rows)

    def keyed(self, session: str, key: str) -> int | None:
        rows = self._ask(
            f"SELECT number FROM kedgeline.entries WHERE {MINE} AND key <> ''"
            " AND sha256(key) = %(hash)s",
            self._of(session, hash=hashed(key)),
        )
        return rows[0][0] if rows else None

    def blob(self, hash: str) -> bytes | None:
        rows = self._ask(
            "SELECT data FROM kedgeline.blobs WHERE owner = %(owner)s AND hash = %(hash)s",
            {"owner": self._owner, "hash": as_bytes(hash)},
        )
        return rows[0][0] if rows else None

    def _blobs_there(self, hashes: Collection[str]) -> set[str]:
        rows = self._ask(
            "SELECT hash FROM kedgeline.blobs WHERE owner = %(owner)s AND hash = ANY(%(hashes)s)",
            {"owner": self._owner, "hashes": list(map(as_bytes, hashes))},
        )
        return {text_of(hash) for (hash,) in rows}


# Passages and their words: what finds an entry.

LONGEST_WORD = 500
"""Characters of a word that count. PostgreSQL takes 2,046 bytes, and a character has up to four."""
MOST_WORDS = 12_000
MOST_REPEATS = 250
MOST_BYTES = 500_000
"""Of one row. PostgreSQL keeps 16,383 places in a text, 256 of one word, and a megabyte."""
OVERLAP = 50
"""Words that two rows of a long passage share, so that a phrase is in one of them whole."""
TOGETHER = 500
"""Rows written with one statement."""

WRITE = """
INSERT INTO kedgeline.passages (owner, session, number, written, at, index,
    who, field, start, size, error, text, files, command, marks)
SELECT %(owner)s, %(session)s, given.number, entry.written, entry.at, entry.index,
    who, field, start, size, error, text::tsvector, files::tsvector, command::tsvector,
    marks::tsvector
FROM unnest(%(number)s::bigint[], %(who)s::bytea[], %(field)s::bytea[], %(start)s::bigint[],
    %(size)s::bigint[], %(error)s::boolean[], %(text)s::text[], %(files)s::text[],
    %(command)s::text[], %(marks)s::text[]) WITH ORDINALITY
    AS given (number, who, field, start, size, error, text, files, command, marks, place)
CROSS JOIN LATERAL (
    SELECT written, at, index FROM kedgeline.entries
    WHERE owner = %(owner)s AND session = %(session)s AND number = given.number LIMIT 1
) AS entry ORDER BY place"""
"""The limit makes the server look up each entry, however many there are."""
COLUMNS = ("number", "who", "field", "start", "size", "error", "text", "files", "command", "marks")


def batches(
    owner: str, session: str, passages: Iterable[tuple[int, Sequence[Passage]]]
) -> Iterator[dict[str, Any]]:
    """What `WRITE` is given, a part after the other."""
    rows: list[tuple[Any, ...]] = []
    for number, each in passages:
        for passage in each:
            rows += _rows(owner, session, number, passage)
            if len(rows) >= TOGETHER:
                yield _given(owner, session, rows)
                rows = []
    if rows:
        yield _given(owner, session, rows)


def _given(owner: str, session: str, rows: list[tuple[Any, ...]]) -> dict[str, Any]:
    columns = zip(COLUMNS, map(list, zip(*rows, strict=True)), strict=True)
    return {"owner": owner, "session": session, **dict(columns)}


def _rows(owner: str, session: str, number: int, passage: Passage) -> Iterator[tuple[Any, ...]]:
    """One row; several for a passage that is too long for one."""
    marks = [owner_mark(owner), session_mark(owner, session), passage.who]
    for text in pieces(words(passage.text)):
        yield (
            number,
            as_bytes(passage.who),
            as_bytes(passage.field),
            passage.start,
            len(passage.text),
            passage.error,
            _vector(text),
            _vector(next(pieces(words(passage.files)))),
            _vector(next(pieces(words(passage.command)))),
            " ".join(map(quoted, [*marks, FAILED] if passage.error else marks)),
        )


def pieces(text: Sequence[str]) -> Iterator[Sequence[str]]:
    """Words in parts that a row can take, at least one."""
    start = 0
    while True:
        end = _end(text, start)
        yield text[start:end]
        if end >= len(text):
            return
        start = max(start + 1, end - OVERLAP)


def _end(text: Sequence[str], start: int) -> int:
    repeats: Counter[str] = Counter()
    room = MOST_BYTES
    for place in range(start, min(len(text), start + MOST_WORDS)):
        word = text[place][:LONGEST_WORD]
        repeats[word] += 1
        room -= 4 * len(word)
        if repeats[word] > MOST_REPEATS or room < 0:
            return place
    return min(len(text), start + MOST_WORDS)


def _vector(text: Sequence[str]) -> str:
    """Words and where each stands, as the server writes them down."""
    places: dict[str, list[int]] = {}
    for place, word in enumerate(text, 1):
        places.setdefault(word[:LONGEST_WORD], []).append(place)
    return " ".join(f"{quoted(word)}:{','.join(map(str, at))}" for word, at in places.items())


def quoted(word: str) -> str:
    """A word that can be nothing else to the server."""
    return "'" + word.replace("\\", "\\\\").replace("'", "''") + "'"


# Searching: the newest passages that match, and the best of these.

BY_LENGTH = 1
"""How ranks are made comparable: divided by the logarithm of a passage's words."""

_CANDIDATE = """
SELECT {score}, written, row, session, number FROM (
    SELECT session, number, written, row, text FROM kedgeline.passages
    WHERE owner = %(owner)s AND marks @@ %(marks)s::tsquery{conditions}
        AND (written, row) < (%(written)s, %(row)s)
    ORDER BY written DESC, row DESC LIMIT %(candidates)s
) AS newest ORDER BY written DESC, row DESC"""
_SCORE = f"ts_rank_cd(text, %(text)s::tsquery, {BY_LENGTH})::float8"
_FOUND = """
SELECT best.row, entry.thread, entry.index, entry.at, entry.id, who, field, start, size, error
FROM unnest(%(sessions)s::text[], %(numbers)s::bigint[], %(rows)s::bigint[])
    AS best (session, number, row)
CROSS JOIN LATERAL (
    SELECT who, field, start, size, error FROM kedgeline.passages
    WHERE owner = %(owner)s AND session = best.session AND number = best.number
        AND row = best.row LIMIT 1
) AS passage
CROSS JOIN LATERAL (
    SELECT thread, index, at, id FROM kedgeline.entries
    WHERE owner = %(owner)s AND session = best.session AND number = best.number LIMIT 1
) AS entry"""

Ask = Callable[[str, dict[str, Any]], list[Row]]


def found_by(ask: Ask, owner: str, query: Query) -> list[Found]:
    """The answer to a query: of each turn its best passage, best first, newer before older."""
    if query.limit <= 0:
        return []
    best = best_of(_candidates(ask, owner, query), query.limit)
    given = {
        "owner": owner,
        "sessions": [each.session for each in best],
        "numbers": [each.number for each in best],
        "rows": [each.row for each in best],
    }
    found = {row: rest for row, *rest in ask(_FOUND, given)} if best else {}
    return [each.found(tuple(found[each.row])) for each in best if each.row in found]


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
    asked: tuple[tuple[str, str, Any], ...] = (
        ("text", "text @@ %(text)s::tsquery", _expression(query.phrases) or None),
        ("files", "files @@ %(files)s::tsquery", _expression(query.files) or None),
        ("command", "command @@ %(command)s::tsquery", _expression(query.commands) or None),
        ("sessions", "session = ANY(%(sessions)s)", list(map(sought, query.sessions)) or None),
        ("who", "who = %(who)s", as_bytes(query.who) or None),
        ("errors", "error", query.errors or None),
        ("since", "at >= %(since)s", query.since),
        ("until", "at <= %(until)s", query.until),
        ("first", "index >= %(first)s", query.first),
        ("last", "index <= %(last)s", query.last),
    )
    given = {"owner": owner, "marks": _marks(owner, query)}
    given |= {name: value for name, _, value in asked if value is not None}
    conditions = "".join(f" AND {test}" for _, test, value in asked if value is not None)
    score = _SCORE if "text" in given else "0::float8"
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
    wanted = [quoted(word[:LONGEST_WORD]) for word in words_of(phrase)]
    return " <-> ".join(wanted) + (":*" if phrase.prefix and wanted else "")

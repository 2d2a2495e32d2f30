"""Passages and their words: what finds an entry. The words are cut by kedge, not by the server."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from hashlib import sha256
from typing import Any

from kedge.store.postgres.rows import packed
from kedge.store.values import Passage
from kedge.store.words import words

LONGEST_WORD = 500
"""Characters of a word that count. PostgreSQL takes 2,046 bytes, and a character has up to four."""
MOST_WORDS = 12_000
MOST_REPEATS = 250
MOST_BYTES = 500_000
"""Of one row. PostgreSQL keeps 16,383 places in a text, 256 of one word, and a megabyte."""
OVERLAP = 50
"""Words that two rows of a long passage share, so that a phrase is in one of them whole."""
FAILED = "failed"
"""Mark of a passage from a call that failed."""
HASH_LETTERS = 16
"""Of an owner or session among the marks. Two that share them cost time only: the columns say whose
a passage is."""
TOGETHER = 500
"""Rows written with one statement."""

WRITE = """
INSERT INTO kedge.passages (owner, session, number, written, at, index,
    who, field, start, size, error, text, files, command, marks)
SELECT %(owner)s, %(session)s, given.number, entry.written, entry.at, entry.index,
    who, field, start, size, error, text::tsvector, files::tsvector, command::tsvector,
    marks::tsvector
FROM unnest(%(number)s::bigint[], %(who)s::bytea[], %(field)s::bytea[], %(start)s::bigint[],
    %(size)s::bigint[], %(error)s::boolean[], %(text)s::text[], %(files)s::text[],
    %(command)s::text[], %(marks)s::text[]) WITH ORDINALITY
    AS given (number, who, field, start, size, error, text, files, command, marks, place)
CROSS JOIN LATERAL (
    SELECT written, at, index FROM kedge.entries
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
            packed(passage.who),
            packed(passage.field),
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


def owner_mark(owner: str) -> str:
    return "o" + _hash(owner)


def session_mark(owner: str, session: str) -> str:
    return "s" + _hash(f"{owner}\0{session}")


def _hash(text: str) -> str:
    return sha256(text.encode()).hexdigest()[:HASH_LETTERS]

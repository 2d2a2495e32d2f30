"""Where the words of a query stand in a text."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kedge.store import Phrase, words

_CHUNK = re.compile("[A-Za-z0-9\u0080-\U0010ffff]+")
"""What stands between two characters that are part of no word."""


class Placed(NamedTuple):
    word: str
    start: int
    end: int


class Match(NamedTuple):
    phrase: int
    """Which phrase of the query it is."""
    start: int
    end: int


def placed(text: str) -> Iterator[Placed]:
    """The words of a text as the index has them, with where they stand in it."""
    for chunk in _CHUNK.finditer(text):
        piece, start = chunk[0], chunk.start()
        if piece.isascii():
            yield Placed(piece.lower(), start, chunk.end())
        else:
            for word, begin, end in _inside(piece):
                yield Placed(word, start + begin, start + end)


def matches(text: str, phrases: Sequence[Phrase]) -> list[Match]:
    """The places of every phrase, in the order of the text."""
    hits = _plain(text, phrases) if text.isascii() else _any(text, phrases)
    return sorted(hits, key=lambda match: (match.start, match.end))


def _plain(text: str, phrases: Sequence[Phrase]) -> list[Match]:
    """In ASCII alone, which most texts are, a word is a run of letters and digits: there is no need
    to take the text apart."""
    lowered = text.lower()
    return [
        Match(which, found.start(), found.end())
        for which, phrase in enumerate(phrases)
        if all(map(str.isascii, phrase.words))
        for found in re.finditer(_pattern(phrase), lowered)
    ]


def _pattern(phrase: Phrase) -> str:
    end = "[a-z0-9]*" if phrase.prefix else "(?![a-z0-9])"
    return f"(?<![a-z0-9]){'[^a-z0-9]+'.join(map(re.escape, phrase.words))}{end}"


def _any(text: str, phrases: Sequence[Phrase]) -> list[Match]:
    found = list(placed(text))
    places: dict[str, list[int]] = {}
    for number, one in enumerate(found):
        places.setdefault(one.word, []).append(number)
    return [
        Match(which, found[begin].start, found[begin + len(phrase.words) - 1].end)
        for which, phrase in enumerate(phrases)
        for begin in _begins(phrase, places, len(found))
        if _stands(phrase, found, begin)
    ]


def _begins(phrase: Phrase, places: dict[str, list[int]], many: int) -> Sequence[int]:
    if phrase.prefix and len(phrase.words) == 1:
        return range(many)
    return places.get(phrase.words[0], ())


def _stands(phrase: Phrase, found: Sequence[Placed], begin: int) -> bool:
    there = found[begin : begin + len(phrase.words)]
    if len(there) < len(phrase.words):
        return False
    *before, last = (one.word for one in there)
    if tuple(before) != phrase.words[:-1]:
        return False
    return last.startswith(phrase.words[-1]) if phrase.prefix else last == phrase.words[-1]


def _inside(chunk: str) -> Iterator[tuple[str, int, int]]:
    """Words of a chunk that normalising may change in length: ﬁ becomes fi, u and ¨ become ü."""
    letters: list[str] = []
    origins: list[tuple[int, int]] = []
    for start, end in _clusters(chunk):
        made = unicodedata.normalize("NFKC", chunk[start:end]).casefold()
        letters.append(made)
        origins.extend([(start, end)] * len(made))
    flat, at = "".join(letters), 0
    for word in words(chunk):
        begin = flat.find(word, at)
        if begin < 0:  # what composes over more than marks, as Korean in single letters does
            yield word, 0, len(chunk)
        else:
            at = begin + len(word)
            yield word, origins[begin][0], origins[at - 1][1]


def _clusters(text: str) -> Iterator[tuple[int, int]]:
    """A character with the marks behind it."""
    start = 0
    for place in range(1, len(text)):
        if not unicodedata.combining(text[place]):
            yield start, place
            start = place
    yield start, len(text)

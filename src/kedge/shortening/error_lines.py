"""Lines of a text that speak of an error, for choosing what to keep of it.

Nothing is concluded from them: whether a call failed is in its result.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import chain
from typing import NamedTuple

WORDS = ("error", "exception", "failed", "failure", "fatal", "panic", "panicked", "traceback")
MOST = 32
"""Lines taken from either end; more do not fit any room that is worth shortening for."""
SCANNED = 16_000_000
"""Characters looked through from either end where there are few errors: a fifth of a second."""
EXAMINED = 10_000
"""Lines looked at from either end where there are many that repeat themselves."""
CHUNK = 250_000
"""Characters looked through at once on the way back from the end."""
LONGEST = 200
"""Characters kept of one line, around the word that was found."""
BEFORE = 60
"""Of these, how many stand before the word where the line is longer."""

_Span = tuple[int, int]


class ErrorLine(NamedTuple):
    start: int
    end: int
    """Behind its line break, or where it was cut."""
    line: int
    """Counted from 1."""


def error_lines(text: str, start: int, end: int) -> list[ErrorLine]:
    """The first and the last lines of a part of the text that speak of an error, each once."""
    seen: set[str] = set()
    first, reached = _first(text, start, min(end, start + SCANNED), seen)
    last = _last(text, max(reached, end - SCANNED), end, seen)
    return list(_numbered(text, chain(first, last)))


def _first(text: str, start: int, end: int, seen: set[str]) -> tuple[list[_Span], int]:
    """The first lines, and how far it was looked for them."""
    found: list[_Span] = []
    for number, span in enumerate(_found(text, start, end)):
        if len(found) == MOST or number == EXAMINED:
            return found, span[0]
        found += _new(text, span, seen)
    return found, end


def _last(text: str, start: int, end: int, seen: set[str]) -> list[_Span]:
    """The last lines, looked for from the end back."""
    found: list[_Span] = []
    examined = 0
    while start < end and len(found) < MOST and examined < EXAMINED:
        low = max(start, end - CHUNK)
        line = text.find("\n", low, end - 1) + 1
        low = line if line and low > start else low
        spans = list(_found(text, low, end))
        examined += len(spans)
        for span in reversed(spans):
            found += _new(text, span, seen)
        end = low
    return found[:MOST][::-1]


def _new(text: str, span: _Span, seen: set[str]) -> list[_Span]:
    """The line, unless one of the same words was found before."""
    line = text[slice(*span)].strip()
    if line in seen:
        return []
    seen.add(line)
    return [span]


def _found(text: str, start: int, end: int) -> Iterator[_Span]:
    position = start
    while match := _ERROR.search(text, position, end):
        span = _line_around(text, match, position)
        position = max(span[1], match.end())
        if span[1] <= end:
            yield span


def _line_around(text: str, match: re.Match[str], least: int) -> _Span:
    """Bounds of the line a match stands in, or of a part of it where it is long.

    The line's ends are looked for nearby only: a line may be all there is."""
    low = max(least, match.start() - LONGEST)
    start = text.rfind("\n", max(0, low - 1), match.start()) + 1 or low
    if end := text.find("\n", match.end(), start + LONGEST) + 1:
        return start, end
    start = max(start, match.start() - BEFORE)
    return start, min(len(text), start + LONGEST)


def _numbered(text: str, spans: Iterator[_Span]) -> Iterator[ErrorLine]:
    line, counted = 1, 0
    for start, end in spans:
        line += text.count("\n", counted, start)
        counted = start
        yield ErrorLine(start, end, line)


def _spellings(word: str) -> Iterator[str]:
    """The word alone, behind a colour code too; capitalised also at the end of a name, as in
    `TypeError`. Each begins with its letters, which lets the search skip to them."""
    for alone in (word, word.upper()):
        yield rf"{alone}(?:(?<!\w{alone})|(?<=[\d\[]m{alone}))(?!\w)"
    yield rf"{word.capitalize()}(?!\w)"


_ERROR = re.compile("|".join(spelling for word in WORDS for spelling in _spellings(word)))

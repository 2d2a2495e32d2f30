"""Long texts cut to what tells most of them."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from itertools import chain
from typing import NamedTuple

# Lines of a text that speak of an error, for choosing what to keep of it.

WORDS = ("error", "exception", "failed", "failure", "fatal", "panic", "panicked", "traceback")
MOST = 32
"""Lines taken from either end; more do not fit any room that is worth shortening for."""
SCANNED = 300_000
"""Characters looked through from either end: errors amid more are seldom worth their time."""
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
    first: dict[str, _Span] = {}
    last: dict[str, _Span] = {}
    from_start = _found(text, start, min(end, start + SCANNED))
    for span in chain(from_start, _found(text, max(start + SCANNED, end - SCANNED), end)):
        line = text[slice(*span)].strip()
        if line in first:
            continue
        if len(first) < MOST:
            first[line] = span
            continue
        last.pop(line, None)
        last[line] = span
        if len(last) > MOST:
            del last[next(iter(last))]
    found = []
    number, counted = 1, 0
    for start, end in (*first.values(), *last.values()):
        number += text.count("\n", counted, start)
        counted = start
        found.append(ErrorLine(start, end, number))
    return found


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


def _spellings(word: str) -> Iterator[str]:
    """The word alone, behind a colour code too; capitalised also at the end of a name, as in
    `TypeError`. Each begins with its letters, which lets the search skip to them."""
    for alone in (word, word.upper()):
        yield rf"{alone}(?:(?<!\w{alone})|(?<=[\d\[]m{alone}))(?!\w)"
    yield rf"{word.capitalize()}(?!\w)"


_ERROR = re.compile("|".join(spelling for word in WORDS for spelling in _spellings(word)))


# Cutting a giant text to its head, its tail and the error lines between.

Count = Callable[[str], int]
"""Tokens of a text."""

ERROR_SHARE = 0.4
"""Of what is kept, this share may be error lines; head and tail have equal parts of the rest."""
CHARACTERS_PER_TOKEN = 64
"""No text but blanks has more. A long text that exceeds its room at this rate is cut without
counting it first, and never more than this is kept."""
SHORT = 100_000
"""Characters up to which a text is counted whatever its room: it takes some milliseconds."""
ENOUGH = 0.95
"""A room filled to this share is full: the last tokens are not worth counting again."""
TRIES = 10
"""Texts counted to fill a room; each is about as long as the result. From sample to fit it takes
three or four."""
GUESSES = 5
"""Of these tries, how many go by proportion. Where fixed marks outweigh the text that goes astray,
and halving does not."""
MARK_LENGTH = 48
"""Characters of a mark with its line number, about."""
REACH = 40
"""Characters around a cut looked at for what must not be parted; longer colour codes are rare."""

_JOINED = (
    "\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u0610-\u061a\u064b-\u065f\u093c\u094d\u0e31-\u0e3a"
    "\u1ab0-\u1aff\u1dc0-\u1dff\u20d0-\u20f0\u3099\u309a\ufe00-\ufe0f\ufe20-\ufe2f"
    "\U0001f3fb-\U0001f3ff\U000e0020-\U000e007f"
)
"""Characters drawn together with the one before: accents, vowel signs, shades of emoji."""
_WHOLE = re.compile(
    "\r\n"
    "|\x1b\\[[0-?]{0,32}[ -/]{0,4}[@-~]"  # a colour code
    "|[\U0001f1e6-\U0001f1ff]{2}"  # a flag
    f"|[^\x1b\n](?:[{_JOINED}]|\u200d.){{1,32}}",  # a letter with its accents, joined emoji
    re.DOTALL,
)


def shortened(text: str, *, room: int, count: Count) -> str:
    """A text cut to at most so many tokens, with marks that say how much is left out.

    What is kept stands verbatim and in order. A text that fits is returned as it is; where not even
    a mark fits, nothing is."""
    most = max(0, room) * CHARACTERS_PER_TOKEN
    if len(text) <= max(most, SHORT) and count(text) <= room:
        return text
    least = _mark(text, 0, len(text))
    best = least if count(least) <= room else ""
    sample = text[: 2 * room] + text[len(text) - 2 * room :] if room > 0 else ""
    guess = int(room * len(sample) / max(1, count(sample)))
    parts = _Parts(text, guess)
    for candidate, tokens in _tried(parts, guess, min(most, len(text)), room, count):
        if tokens <= room and len(candidate) > len(best):
            best = candidate
    return best


def _tried(
    parts: _Parts, size: int, most: int, room: int, count: Count
) -> Iterator[tuple[str, int]]:
    """Texts of other and other sizes, until one fills the room or none is left to try."""
    low, high = 0, most + 1
    for attempt in range(TRIES):
        if not low < size < high:
            size = (low + high) // 2
        if size <= low:
            return
        candidate = parts.kept(size)
        tokens = count(candidate)
        yield candidate, tokens
        if tokens <= room:
            low = size
            if tokens >= room * ENOUGH:
                return
        else:
            high = size
        if attempt < GUESSES or high > most:
            size = int(size * ENOUGH * room / max(1, tokens))
        else:
            size = (low + high) // 2


class _Parts:
    """A text as the head, the tail and the error lines between, at any size."""

    def __init__(self, text: str, size: int) -> None:
        """`size` is about what will be kept: error lines are looked for behind the head and before
        the tail that go with it."""
        self._text = text
        edge = int(size * (1 - ERROR_SHARE) / 2 / 2)  # half: a first guess may be too large
        self._errors = [_whole(text, error) for error in error_lines(text, edge, len(text) - edge)]

    def kept(self, size: int) -> str:
        """About so many characters of the text, with the marks between."""
        edge = int(size * (1 - ERROR_SHARE)) // 2
        errors = self._chosen(edge, size - 2 * edge)
        used = sum(_cost(error) for error in errors)
        edge = max(edge, (size - used) // 2)
        head, tail = _head_end(self._text, edge), _tail_start(self._text, edge)
        return self._joined(head, errors, tail) if head < tail else self._text

    def _chosen(self, edge: int, size: int) -> list[ErrorLine]:
        """Error lines between head and tail, as many as there is room for.

        The first and the last go before those between: the first is most often the cause, the last
        what came of it."""
        end = len(self._text) - edge
        between = [error for error in self._errors if edge <= error.start and error.end <= end]
        chosen: list[ErrorLine] = []
        for error in _from_both_ends(between):
            size -= _cost(error)
            if size < 0:
                break
            chosen.append(error)
        return sorted(chosen)

    def _joined(self, head: int, errors: Sequence[ErrorLine], tail: int) -> str:
        text = self._text
        pieces = [text[:head]]
        end = head
        for error in errors:
            if error.start >= end and error.end <= tail:
                pieces += (_mark(text, end, error.start, error.line), text[error.start : error.end])
                end = error.end
        return "".join((*pieces, _mark(text, end, tail), text[tail:]))


def _mark(text: str, start: int, end: int, line: int = 0) -> str:
    """What stands for a part of the text: how much it was, and the number of the line behind it.

    A part that is no longer than its mark stands for itself."""
    if start == end:
        return ""
    breaks = end > 0 and text[end - 1] == "\n"
    begins = start == 0 or text[start - 1] == "\n"
    lines = text.count("\n", start, end) if begins and breaks else 0
    amount = f"{lines:,} lines" if lines > 1 else f"{end - start:,} characters"
    number = f"; line {line:,}:" if line else ""
    mark = f"[… {amount} left out{number} …]" + ("\n" if breaks else "")
    return mark if len(mark) < end - start else text[start:end]


def _from_both_ends(errors: Sequence[ErrorLine]) -> Iterator[ErrorLine]:
    """The first, the last, the second, the last but one …"""
    for number in range(len(errors)):
        yield errors[number // 2] if number % 2 == 0 else errors[-1 - number // 2]


def _whole(text: str, error: ErrorLine) -> ErrorLine:
    """The line without what its bounds would part."""
    start, end = _unparted(text, error.start)[1], _unparted(text, error.end)[0]
    return error._replace(start=start, end=max(start, end))


def _cost(error: ErrorLine) -> int:
    return error.end - error.start + MARK_LENGTH


def _head_end(text: str, size: int) -> int:
    """Where a head of about this size ends: behind a line where one ends in its latter half."""
    behind = text.rfind("\n", size // 2, size) + 1
    return behind or _unparted(text, size)[0]


def _tail_start(text: str, size: int) -> int:
    """Where a tail of about this size begins: with a line where one begins in its first half."""
    start = max(0, len(text) - size)
    behind = text.find("\n", max(0, start - 1), len(text) - size // 2) + 1
    return behind or _unparted(text, start)[1]


def _unparted(text: str, position: int) -> tuple[int, int]:
    """The bounds of what a cut at this position would part; the position itself if nothing."""
    start, end = max(0, position - REACH), min(len(text), position + REACH)
    for found in _WHOLE.finditer(text, start, end):
        if found.start() < position < found.end():
            return found.span()
    return position, position

"""A text cut into pieces of about one size, each with the place where it begins."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator

SIZE = 2_000
"""Characters of a piece: about a screen. What must stand together to be found stands on one, and a
hit in a long output leads to its place."""
OVERLAP = 160
"""Characters that a piece repeats at most of the one before, from the beginning of a word on, so
that words on both sides of a cut are still found as a phrase. Costs a twelfth of the index."""
LEAST_DATA = 512
"""Characters without a break from which on a run in a long line is data (a picture in base64):
nobody looks for it, and it would fill the index."""

STEP, PROBE, FAR, GROWTH = 16, 24, 16_384, 1_024
"""How the place behind a replacement is looked for: every so many characters, by so many that must
be equal, so far on (the longest private keys have 13,000), and in what has grown by so much."""

_DATA = re.compile(rf"[A-Za-z0-9+/=_-]{{{LEAST_DATA},}}")
_BLANK = re.compile(r"\s")


def pieces(text: str) -> Iterator[tuple[int, str]]:
    """Pieces with their places, cut at line ends; long lines at blanks, or where they must be."""
    at = floor = 0
    while at < len(text):
        end, behind = _end(text, at)
        begin = _back(text, at, floor)
        if end > at and not text[at:end].isspace():
            yield begin, text[begin:end]
        if behind > end:
            floor = behind
        at = behind


def cleaned_pieces(raw: str, cleaned: str) -> Iterator[tuple[int, str]]:
    """Pieces of a text from which something was taken, with their places in the one it was taken
    from. A place can be some characters off beside a replacement; a piece never holds anything but
    cleaned text."""
    if raw == cleaned:
        yield from pieces(raw)
        return
    marks = list(_marks(raw, cleaned))
    for place, piece in pieces(cleaned):
        number = bisect_right(marks, place, key=lambda mark: mark[1]) - 1
        before, shifted = marks[number]
        most = marks[number + 1][0] if number + 1 < len(marks) else len(raw)
        yield min(before + place - shifted, most), piece


def _end(text: str, at: int) -> tuple[int, int]:
    """Where the piece ends whose new part begins here, and where the next one goes on."""
    most = at + SIZE - OVERLAP
    if most >= len(text):
        most = len(text)
    elif line_end := text.rfind("\n", at, most) + 1:
        return line_end, line_end
    if text.find("\n", at, most) == -1 and (run := _DATA.search(text, at, most)) is not None:
        whole = _DATA.match(text, run.start())
        return run.start(), whole.end() if whole else run.end()
    if most < len(text) and (blank := text.rfind(" ", at, most) + 1):
        return blank, blank
    return most, most


def _back(text: str, at: int, floor: int) -> int:
    """Where a piece begins that repeats the end of the one before, at the beginning of a word."""
    begin = max(floor, at - OVERLAP)
    if begin == floor:
        return begin
    blank = _BLANK.search(text, begin, at)
    return blank.end() if blank else begin


def _marks(raw: str, cleaned: str) -> Iterator[tuple[int, int]]:
    """Places in both texts from which on they are equal for a while."""
    there, here = 0, 0
    while True:
        yield there, here
        same = _equal(raw, there, cleaned, here)
        found = _behind(raw, there + same, cleaned, here + same)
        if found is None:
            return
        there, here = found


def _equal(one: str, at: int, other: str, there: int) -> int:
    """How many characters are equal from these places on."""
    step, same = 1 << 16, 0
    while step:
        piece = one[at + same : at + same + step]
        if piece and piece == other[there + same : there + same + step]:
            same += len(piece)
        else:
            step >>= 4
    return same


def _behind(raw: str, at: int, cleaned: str, there: int) -> tuple[int, int] | None:
    """Where both texts go on alike behind a place where they differ."""
    for reach in range(STEP, FAR, STEP):
        probe = raw[at + reach : at + reach + PROBE]
        if len(probe) < PROBE:
            return None
        found = cleaned.find(probe, there, there + reach + PROBE + GROWTH)
        if found >= 0:
            return at + reach, found
    return None

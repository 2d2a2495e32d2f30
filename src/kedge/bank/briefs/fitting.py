"""Lines into a number of tokens, counted exactly and never more."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kedge.sentences import cut
from kedge.tokens import EXACT


class Line(NamedTuple):
    text: str
    rank: int = 0
    """Lower ones come first into the room; among equals the earlier."""


def fitted(lines: Sequence[Line], room: int) -> str:
    """As many lines as there is room for, in their order, and how many more there are."""
    order = sorted(range(len(lines)), key=lambda place: (lines[place].rank, place))
    chosen: list[int] = []
    used = 0
    for place in order:
        size = EXACT.count(lines[place].text) + 1  # the end of the line
        if used + size > room:
            break
        chosen.append(place)
        used += size
    while chosen:
        text = _joined(lines, chosen)
        if EXACT.count(text) <= room:
            return text
        chosen.pop()
    return cut_to(lines[order[0]].text, room) if order else ""


def _joined(lines: Sequence[Line], chosen: Sequence[int]) -> str:
    shown = [lines[place].text for place in sorted(chosen)]
    left = len(lines) - len(chosen)
    return "\n".join([*shown, f"+{left} more"] if left else shown)


def cut_to(text: str, room: int) -> str:
    """The longest beginning that was found to fit; nothing where not even one character does."""
    text = cut(text, max(1, room) * LONGEST_TOKEN)
    if EXACT.count(text) <= room:
        return text
    best, low, high = "", 1, len(text)
    while low <= high:
        middle = (low + high) // 2
        tried = cut(text, middle)
        if EXACT.count(tried) <= room:
            best, low = tried, middle + 1
        else:
            high = middle - 1
    return best


LONGEST_TOKEN = 16
"""Characters for each token beyond which nothing is tried: words have five, and counting a page
without a blank is slow."""

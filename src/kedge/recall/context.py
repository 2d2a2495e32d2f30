"""The lines of a text around what was looked for."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from kedge.recall.placing import Match, matches
from kedge.recall.values import Line
from kedge.store import Phrase

WIDTH = 240
"""Characters of a line that are shown: about three rows of a terminal."""
AHEAD = 80
"""Characters shown before the first match of a longer line."""
SLACK = 400
"""Characters looked at beside a passage, so that no word is looked at by half."""
FAR = 20_000
"""Characters looked at where the passage does not hold all: where something was taken out of the
index, a place can be off by as much."""
MOST_PLACES = 6
"""Places shown of one passage; more would be a listing."""


class Context(NamedTuple):
    lines: tuple[Line, ...]
    missing: tuple[int, ...]
    """Phrases that do not stand here."""


class _Range(NamedTuple):
    start: int
    end: int


def context(text: str, start: int, size: int, phrases: Sequence[Phrase], *, lines: int) -> Context:
    """The lines that hold the phrases, with so many around each."""
    if not text:
        return Context((), tuple(range(len(phrases))))
    found = _found(text, start, size, phrases)
    chosen = _chosen(text, found)
    if not chosen:
        first = _first_words(text, start)
        chosen = [_Range(_line_start(text, first), _line_end(text, first))]
    shown = sorted({one for place in chosen for one in _around(text, place, lines)})
    there = {match.phrase for match in found}
    missing = tuple(number for number in range(len(phrases)) if number not in there)
    return Context(tuple(_lines(text, shown, found)), missing)


def _found(text: str, start: int, size: int, phrases: Sequence[Phrase]) -> list[Match]:
    """Matches in the passage, or where it lacks some, in what is near it."""
    best: list[Match] = []
    for slack in (0, SLACK, FAR):
        begin, end = max(0, start - slack), min(len(text), start + size + slack)
        found = [
            match._replace(start=match.start + begin, end=match.end + begin)
            for match in matches(text[begin:end], phrases)
        ]
        if len({match.phrase for match in found}) > len({match.phrase for match in best}):
            best = found
        if len({match.phrase for match in best}) == len(phrases):
            break
    return best


def _chosen(text: str, found: Sequence[Match]) -> list[_Range]:
    """Lines that together hold every phrase, those that hold most of them first."""
    places: dict[_Range, set[int]] = {}
    for match in found:
        place = _Range(_line_start(text, match.start), _line_end(text, match.end - 1))
        places.setdefault(place, set()).add(match.phrase)
    left = {match.phrase for match in found}
    chosen: list[_Range] = []
    while left and len(chosen) < MOST_PLACES:
        best = max(places, key=lambda place: len(places[place] & left))
        chosen.append(best)
        left -= places[best]
    return chosen


def _around(text: str, place: _Range, lines: int) -> Iterator[_Range]:
    """The lines of a place and so many on both sides."""
    start, end = place
    for _ in range(lines):
        start = _line_start(text, start - 1) if start > 0 else start
        end = _line_end(text, end + 1) if end + 1 < len(text) else end
    while start <= end:
        stop = _line_end(text, start)
        yield _Range(start, stop)
        start = stop + 1


def _lines(text: str, shown: Sequence[_Range], found: Sequence[Match]) -> Iterator[Line]:
    number, at = 1, 0
    for start, end in shown:
        number += text.count("\n", at, start)
        at = start
        yield _line(text, number, _Range(start, _without_return(text, start, end)), found)


def _line(text: str, number: int, line: _Range, found: Sequence[Match]) -> Line:
    inside = [match for match in found if match.start < line.end and match.end > line.start]
    begin = line.start
    if line.end - line.start > WIDTH and inside:
        begin = max(line.start, min(inside[0].start - AHEAD, line.end - WIDTH))
    end = min(line.end, begin + WIDTH)
    return Line(
        number=number,
        text=text[begin:end],
        spans=_spans(inside, _Range(begin, end)),
        column=begin - line.start,
        cut=end < line.end,
    )


def _spans(found: Sequence[Match], shown: _Range) -> tuple[tuple[int, int], ...]:
    """What to mark, as it stands in what is shown; marks that touch each other become one."""
    spans: list[tuple[int, int]] = []
    for match in found:
        begin = max(match.start, shown.start) - shown.start
        end = min(match.end, shown.end) - shown.start
        if begin >= end:
            continue
        if spans and begin <= spans[-1][1]:
            spans[-1] = (spans[-1][0], max(end, spans[-1][1]))
        else:
            spans.append((begin, end))
    return tuple(spans)


def _line_start(text: str, place: int) -> int:
    return text.rfind("\n", 0, max(0, place)) + 1


def _line_end(text: str, place: int) -> int:
    end = text.find("\n", place)
    return len(text) if end < 0 else end


def _without_return(text: str, start: int, end: int) -> int:
    return end - 1 if end > start and text[end - 1] == "\r" else end


def _first_words(text: str, start: int) -> int:
    """Where the first line begins that is not empty."""
    piece = text[start : start + SLACK]
    return min(start + len(piece) - len(piece.lstrip()), max(0, len(text) - 1))

"""Secrets as places in a text: put in order, joined, and kept out of the marks that are there."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import NamedTuple


class Span(NamedTuple):
    """A secret, in bytes."""

    start: int
    end: int
    kind: str
    rank: int
    """Where several find the same, the lowest names it."""


def joined(spans: Iterable[Span], data: bytes) -> list[Span]:
    """In order, those that overlap as one, and no character cut."""
    found: list[Span] = []
    for span in sorted(spans):
        start, end = _whole(span.start, span.end, data)
        if found and start < found[-1].end:
            last = found.pop()
            first = min(last, span, key=lambda one: one.rank)
            found.append(Span(last.start, max(last.end, end), first.kind, first.rank))
        else:
            found.append(Span(start, end, span.kind, span.rank))
    return found


def outside(spans: Iterable[Span], marks: list[tuple[int, int]]) -> Iterator[Span]:
    """What of the spans is not in a mark. Both are in order."""
    number = 0
    for span in spans:
        start = span.start
        while number < len(marks) and marks[number][1] <= start:
            number += 1
        here = number
        while here < len(marks) and marks[here][0] < span.end:
            if start < marks[here][0]:
                yield span._replace(start=start, end=marks[here][0])
            start = max(start, marks[here][1])
            here += 1
        if start < span.end:
            yield span._replace(start=start)


def _whole(start: int, end: int, data: bytes) -> tuple[int, int]:
    """A character beyond ASCII has several bytes: none is left alone."""
    start = character(data, start)
    while end < len(data) and data[end] & 0xC0 == 0x80:
        end += 1
    return start, end


def character(data: bytes, position: int) -> int:
    """Where the character begins in which a position is."""
    while 0 < position < len(data) and data[position] & 0xC0 == 0x80:
        position -= 1
    return position

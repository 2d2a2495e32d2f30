"""A change taken out of a text that has been changed since."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

Lines = Sequence[bytes]


class Hunk(NamedTuple):
    """Lines that a change put in the place of others."""

    old: Lines
    start: int
    end: int
    """Of the lines that stand there instead."""


class Missing(NamedTuple):
    """A line without which nobody knows where something belongs."""

    line: bytes


def taken_back(before: bytes, after: bytes, now: bytes) -> bytes | Missing:
    """What it is now, with what the change from `before` to `after` took out in its place again,
    and without what it put in. Whatever was written since stays, behind what comes back."""
    old, new, current = (text.splitlines(keepends=True) for text in (before, after, now))
    places = {
        first + n: second + n
        for first, second, size in _matches(new, current, blank=True)
        for n in range(size)
    }
    back: dict[int, list[bytes]] = {}
    gone: set[int] = set()
    for hunk in _hunks(old, new):
        lines = range(hunk.start, hunk.end)
        for n in lines:
            if n not in places and new[n].strip():
                return Missing(new[n])
        found = [places[n] for n in lines if n in places]
        place = min(found) if found else _between(hunk.start, places, len(new), len(current))
        if place is None:
            return Missing(new[hunk.start - 1])
        back.setdefault(place, []).extend(hunk.old)
        gone.update(found)
    rows = (
        row
        for n in range(len(current) + 1)
        for row in (*back.get(n, ()), *(current[n : n + 1] if n not in gone else ()))
    )
    return _joined(list(rows))


def _hunks(old: Lines, new: Lines) -> Iterator[Hunk]:
    start_old = start_new = 0
    for first, second, size in [*_matches(old, new), (len(old), len(new), 0)]:
        if first > start_old or second > start_new:
            yield Hunk(old[start_old:first], start_new, second)
        start_old, start_new = first + size, second + size


def _matches(one: Lines, other: Lines, *, blank: bool = False) -> Iterator[tuple[int, int, int]]:
    """Runs of lines that both have: where, and how many. Lines that each has once come first, as
    most do: what is left between two of them is short. `blank`: also runs of blank lines alone;
    else they only count beside others, so that an entry comes back in one piece."""
    start = (0, 0)
    for first, second in [*_anchors(one, other), (len(one), len(other))]:
        between = _near(one[start[0] : first], other[start[1] : second], blank=blank)
        yield from ((start[0] + a, start[1] + b, size) for a, b, size in between if size)
        yield first, second, int(first < len(one))
        start = first + 1, second + 1


def _near(one: Lines, other: Lines, *, blank: bool) -> Iterator[tuple[int, int, int]]:
    head = _alike([one, other])
    tail = _alike([one[head:][::-1], other[head:][::-1]])
    ends = (len(one) - tail, len(other) - tail)
    yield 0, 0, head
    if head < min(ends):
        left_out = None if blank else lambda line: not line.strip()
        compared = SequenceMatcher(left_out, one[head : ends[0]], other[head : ends[1]])
        for found in compared.get_matching_blocks()[:-1]:
            yield head + found.a, head + found.b, found.size
    yield *ends, tail


def _anchors(one: Lines, other: Lines) -> list[tuple[int, int]]:
    """Where lines stand that each has exactly once, as many as are in the same order in both."""
    times, others = Counter(one), Counter(other)
    places = {line: n for n, line in enumerate(other) if others[line] == 1}
    pairs = [(n, places[line]) for n, line in enumerate(one) if times[line] == 1 and line in places]
    ends: list[int] = []  # the earliest end in the other of a sequence of each length
    lengths = []
    for _, second in pairs:
        length = bisect_left(ends, second)
        ends[length : length + 1] = [second]
        lengths.append(length)
    chosen: list[tuple[int, int]] = []
    wanted = len(ends) - 1
    for pair, length in zip(reversed(pairs), reversed(lengths), strict=True):
        if length == wanted and (not chosen or pair[1] < chosen[-1][1]):
            chosen.append(pair)
            wanted -= 1
    return chosen[::-1]


def _between(place: int, places: dict[int, int], most: int, end: int) -> int | None:
    """Where something goes that stood before a line, behind another."""
    if place == 0:
        return 0
    if place - 1 in places:
        return places[place - 1] + 1
    return end if place == most else places.get(place)


def _joined(lines: list[bytes]) -> bytes:
    """Every line but the last must end, whatever it was when it was the last."""
    ending = b"\r\n" if any(line.endswith(b"\r\n") for line in lines[:1]) else b"\n"
    ended = [line if line.endswith((b"\n", b"\r")) else line + ending for line in lines[:-1]]
    return b"".join([*ended, *lines[-1:]])


def _alike(versions: Sequence[Lines]) -> int:
    """How many lines all of them begin with: comparing the rest is quick."""
    count = 0
    for first, *others in zip(*versions, strict=False):
        if any(first != other for other in others):
            break
        count += 1
    return count

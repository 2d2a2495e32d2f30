"""A change taken out of a text that has been changed since."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from kedge.errors import MissingExtra

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
        for first, second, size in _matches(new, current)
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


def merged(base: bytes, ours: bytes, theirs: bytes) -> bytes | None:
    """What both changed of the base, together; nothing where they changed the same place."""
    versions = [text.splitlines(keepends=True) for text in (base, ours, theirs)]
    start = _alike(versions)
    versions = [lines[start:] for lines in versions]
    end = _alike([lines[::-1] for lines in versions])
    head = base.splitlines(keepends=True)[:start]
    tail = versions[0][len(versions[0]) - end :]
    middle = _middle(*(lines[: len(lines) - end] for lines in versions))
    return None if middle is None else b"".join([*head, *middle, *tail])


def _hunks(old: Lines, new: Lines) -> Iterator[Hunk]:
    start_old = start_new = 0
    for first, second, size in [*_matches(old, new), (len(old), len(new), 0)]:
        if first > start_old or second > start_new:
            yield Hunk(old[start_old:first], start_new, second)
        start_old, start_new = first + size, second + size


def _matches(one: Lines, other: Lines) -> Iterator[tuple[int, int, int]]:
    """Runs of lines that both have: where, and how many. Blank lines only count beside others: one
    is like any other."""
    head = _alike([one, other])
    tail = _alike([one[head:][::-1], other[head:][::-1]])
    ends = (len(one) - tail, len(other) - tail)
    compared = SequenceMatcher(
        lambda line: not line.strip(), one[head : ends[0]], other[head : ends[1]]
    )
    yield 0, 0, head
    for found in compared.get_matching_blocks()[:-1]:
        yield head + found.a, head + found.b, found.size
    yield *ends, tail


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


def _middle(base: Lines, ours: Lines, theirs: Lines) -> list[bytes] | None:
    try:
        from merge3 import Merge3  # where lines were changed that the change had put in
    except ImportError as error:
        raise MissingExtra("undo across later changes", "bank") from error
    lines: list[bytes] = []
    for what, *found in Merge3(base, ours, theirs).merge_groups():
        if what == "conflict":
            return None
        lines += found[0]
    return lines

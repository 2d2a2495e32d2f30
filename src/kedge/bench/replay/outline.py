"""Which lines of a Markdown text a line is under."""

from __future__ import annotations

import re
from collections.abc import Sequence

TAB = 4
"""Columns of a tab in an indentation."""
HEADING = re.compile(r"(#{1,6}) +\S")
_FENCE = re.compile(r"\s*(`{3,}|~{3,})")


def outline(lines: Sequence[str]) -> list[tuple[int, ...]]:
    """For each line the lines above it that it belongs to, the nearest last: headings, and what it
    is indented below. A block of code is also under the line that introduces it."""
    walk = _Walk()
    return [walk.take(number, line) for number, line in enumerate(lines)]


class _Walk:
    def __init__(self) -> None:
        self._headings: list[tuple[int, int]] = []
        self._items: list[tuple[int, int]] = []
        self._fence = ""
        self._block: tuple[int, ...] = ()
        self._last = -1

    def take(self, number: int, line: str) -> tuple[int, ...]:
        mark = _FENCE.match(line)
        if self._fence:
            if mark and mark[1].startswith(self._fence) and not line.strip(" \t`~"):
                self._fence = ""
            return self._block
        if mark:
            self._fence = mark[1]
            over = self._over(_indent(line))
            self._block = over if self._last in (-1, *over) else (*over, self._last)
            return self._block
        if not line.strip():
            return ()
        self._last = number
        return self._text(number, line)

    def _text(self, number: int, line: str) -> tuple[int, ...]:
        if heading := HEADING.match(line):
            level = len(heading[1])
            self._headings = [one for one in self._headings if one[0] < level]
            self._items = []
            over = self._over(0)
            self._headings.append((level, number))
            return over
        depth = _indent(line)
        self._items = [one for one in self._items if one[0] < depth]
        over = self._over(depth)
        self._items.append((depth, number))
        return over

    def _over(self, depth: int) -> tuple[int, ...]:
        items = (number for indent, number in self._items if indent < depth)
        return (*(number for _, number in self._headings), *items)


def _indent(line: str) -> int:
    return len(line[: len(line) - len(line.lstrip(" \t"))].expandtabs(TAB))

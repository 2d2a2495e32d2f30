"""The files an agent works on, kept in memory: what it reads is what it wrote before."""

from __future__ import annotations

import re
from fnmatch import fnmatch
from typing import NamedTuple

CONTEXT_LINES = 3
"""Unchanged lines around a change in a patch, as in every diff."""


class Hunk(NamedTuple):
    """One place where a file changed."""

    old_start: int
    old_lines: int
    new_start: int
    new_lines: int
    lines: tuple[str, ...]
    """Each with its sign in front."""


class Match(NamedTuple):
    path: str
    number: int
    line: str


class Workspace:
    def __init__(self, root: str, files: dict[str, str]) -> None:
        self.root = root
        self.files = dict(files)

    def absolute(self, path: str) -> str:
        return path if path.startswith("/") else f"{self.root}/{path}"

    def write(self, path: str, content: str) -> str | None:
        """Put a file there; what stood there before."""
        before = self.files.get(path)
        self.files[path] = content
        return before

    def edit(self, path: str, old: str, new: str) -> str:
        """Replace the one place where `old` stands; the file as it was before."""
        before = self.files[path]
        if before.count(old) != 1:
            raise ValueError(f"{path} holds {before.count(old)} times: {old!r}")
        self.files[path] = before.replace(old, new)
        return before

    def lines(self, path: str, offset: int = 1, limit: int | None = None) -> list[str]:
        """Lines from `offset`, which counts from 1."""
        found = self.files[path].split("\n")
        end = None if limit is None else offset - 1 + limit
        return found[offset - 1 : end]

    def numbered(self, path: str, offset: int = 1, limit: int | None = None) -> str:
        """Lines with their numbers, as Claude Code shows them."""
        shown = enumerate(self.lines(path, offset, limit), start=offset)
        return "\n".join(f"{number:6d}→{line}" for number, line in shown)

    def grep(self, pattern: str, glob: str = "*") -> list[Match]:
        """Lines that match, in files of the project whose path fits."""
        expression = re.compile(pattern)
        return [
            Match(path, number, line)
            for path in self.glob(glob)
            for number, line in enumerate(self.files[path].split("\n"), start=1)
            if expression.search(line)
        ]

    def glob(self, pattern: str) -> list[str]:
        inside = (path for path in sorted(self.files) if not path.startswith("/"))
        return [path for path in inside if fnmatch(path, pattern)]

    def snapshot(self) -> dict[str, str]:
        return dict(self.files)

    def restore(self, files: dict[str, str]) -> None:
        self.files = dict(files)


def hunk(before: str, after: str) -> Hunk:
    """The change from one text to the other as a single hunk."""
    old, new = before.split("\n"), after.split("\n")
    same = _same_lines(old, new)
    tail = _same_lines(old[same:][::-1], new[same:][::-1])
    start = max(0, same - CONTEXT_LINES)
    old_end, new_end = len(old) - tail, len(new) - tail
    behind = old[old_end : old_end + CONTEXT_LINES]
    return Hunk(
        start + 1,
        old_end - start + len(behind),
        start + 1,
        new_end - start + len(behind),
        (
            *(f" {line}" for line in old[start:same]),
            *(f"-{line}" for line in old[same:old_end]),
            *(f"+{line}" for line in new[same:new_end]),
            *(f" {line}" for line in behind),
        ),
    )


def _same_lines(left: list[str], right: list[str]) -> int:
    """How many lines both begin with."""
    count = 0
    for one, other in zip(left, right, strict=False):
        if one != other:
            break
        count += 1
    return count

"""Three versions of a text made one, line by line."""

from __future__ import annotations

from collections.abc import Sequence

from kedge.errors import MissingExtra

Lines = Sequence[bytes]


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


def _alike(versions: list[list[bytes]]) -> int:
    """How many lines all of them begin with: comparing the rest is quick."""
    count = 0
    for first, second, third in zip(*versions, strict=False):
        if not first == second == third:
            break
        count += 1
    return count


def _middle(base: Lines, ours: Lines, theirs: Lines) -> list[bytes] | None:
    try:
        from merge3 import Merge3  # with the first undo across later changes
    except ImportError as error:
        raise MissingExtra("undo across later changes", "bank") from error
    lines: list[bytes] = []
    for what, *found in Merge3(base, ours, theirs).merge_groups():
        if what == "conflict":
            return None
        lines += found[0]
    return lines

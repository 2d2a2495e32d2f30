"""An answer of the assistant's as prose and edit blocks, in their order."""

from __future__ import annotations

from typing import NamedTuple

from kedge.formats.agents.aider.scanner import (
    EDIT_BEGIN,
    EDIT_END,
    EDIT_MIDDLE,
    fence_closed,
    fence_opened,
)


class Block(NamedTuple):
    """A search-and-replace block."""

    path: str
    search: str
    replace: str


LONGEST_NAME = 300
"""A longer line is no file name."""
LINES_ABOVE = 4
"""How far above a block its file name may stand: fences may come between."""


def parts(lines: list[str]) -> list[str | Block]:
    """Prose and blocks; an edit that is not complete was never applied and stays prose."""
    found: list[str | Block] = []
    prose: list[str] = []
    path, position, open_fence = "", 0, ""
    while position < len(lines):
        end = _block_end(lines, position)
        if end is None:
            prose.append(lines[position])
            position += 1
            continue
        name, fence = _file_name(prose)
        path, open_fence = name or path, fence or open_fence
        middle = next(n for n in range(position, end) if EDIT_MIDDLE.match(lines[n]))
        _add(found, prose)
        found.append(
            Block(path, _joined(lines[position + 1 : middle]), _joined(lines[middle + 1 : end]))
        )
        prose, position = [], end + 1
        if open_fence and position < len(lines) and fence_closed(lines[position], open_fence):
            position, open_fence = position + 1, ""
    _add(found, prose)
    return found


def _block_end(lines: list[str], position: int) -> int | None:
    """Where the block that begins here ends; None when none begins, or it is not complete."""
    if not EDIT_BEGIN.match(lines[position]):
        return None
    middle = 0
    for number in range(position + 1, len(lines)):
        if EDIT_MIDDLE.match(lines[number]):
            middle = middle or number
        elif EDIT_BEGIN.match(lines[number]):
            return None
        elif EDIT_END.match(lines[number]):
            return number if middle else None
    return None


def _file_name(prose: list[str]) -> tuple[str, str]:
    """The file name above a block, and what closes the fence opened there; both leave the prose."""
    name, fence = "", ""
    for _ in range(LINES_ABOVE):
        if not prose:
            break
        if opened := fence_opened(prose[-1]):
            if name and fence:
                break  # the fence of something else, further up
            fence = fence or opened
        elif name or not (name := _as_name(prose[-1])):
            break
        prose.pop()
    return name, fence


def _as_name(line: str) -> str:
    line = line.strip().rstrip(":").lstrip("#").strip().strip("*").strip("`").strip()
    if not line or line == "..." or len(line) > LONGEST_NAME or len(line.split()) > 1:
        return ""
    return line


def _joined(lines: list[str]) -> str:
    return "".join(line + "\n" for line in lines)


def _add(found: list[str | Block], prose: list[str]) -> None:
    text = "\n".join(prose).strip("\n")
    if text.strip():
        found.append(text)

"""A document cut into chunks along its structure: headings, definitions, blank lines. Joined, they
are the document to the byte."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import takewhile
from typing import NamedTuple

from kedgeline.bank.entries import CHARACTERS
from kedgeline.bank.markdown import FRONT_MATTER, blocks
from kedgeline.model import Value

TINY = 8
"""A beginning of less than this part of a chunk, such as a title alone, goes with what follows."""
TITLE, TITLES_SHOWN = 120, 3
"""Characters of a heading in a title, and headings in it."""
MARKDOWN = frozenset({"md", "markdown", "mdx", "mdc"})
CODE = frozenset(
    """py pyi js jsx ts tsx mjs cjs go rs java kt kts scala c h cc cpp hpp cs rb php swift m sh bash
    zsh sql css scss vue svelte json jsonl yaml yml toml ini cfg conf xml html tf proto graphql r jl
    lua ex exs erl hs ml dart zig nix cmake gradle""".split()  # noqa: SIM905
)
DEFINED = 60
"""Definitions that a summary of code names."""

_DEFINED = re.compile(
    r"(?:(?:export|default|public|private|protected|internal|static|async|abstract|final"
    r"|pub(?:\(\w{1,20}\))?)\s+){0,5}"
    r"(?:def|class|function|func|fn|struct|interface|type|enum|impl|trait|module|CREATE TABLE)"
    r"\s+([\w.$]{1,80})"
)
_COMMENT = re.compile(r"\s*(?:#|//+|--|;;|/?\*+)(?:[!/]|\s|$)\s*(.*)")
_QUOTES = re.compile(r"\"\"\"|'''")


class Chunk(Value, frozen=True):
    text: str
    titles: tuple[tuple[str, ...], ...] = ()
    """Paths of the headings it has, the outermost first; of code, the names of what it defines."""

    @property
    def title(self) -> str:
        """The path that its headings share, and the first of those below it."""
        first, last = min(self.titles, default=()), max(self.titles, default=())
        same = takewhile(lambda pair: pair[0] == pair[1], zip(first, last, strict=False))
        shared = [one for one, _ in same]
        rest = (path[len(shared)] for path in self.titles if len(path) > len(shared))
        below = list(dict.fromkeys(rest))
        more = [f"+{len(below) - TITLES_SHOWN} more"] if len(below) > TITLES_SHOWN else []
        names = ", ".join([*below[:TITLES_SHOWN], *more])
        return " > ".join((*shared, *filter(None, [names])))


class _Part(NamedTuple):
    """What is not cut where that can be helped."""

    text: str
    depth: int = 0
    """Of the heading it is or the definition it begins with; 0 where it is neither."""
    title: str = ""


def chunks_of(name: str, text: str, tokens: int) -> list[Chunk]:
    """Sections whole where they fit, small neighbours together, large ones by their blocks."""
    limit = tokens * CHARACTERS
    parts = list(_parts(name, text))
    found: list[Chunk] = []
    waiting = ""
    titles: list[tuple[str, ...]] = []
    path: list[_Part] = []

    def flush() -> None:
        nonlocal waiting, titles
        if waiting:
            found.append(Chunk(text=waiting, titles=tuple(dict.fromkeys(titles))))
        waiting, titles = "", []

    for n, part in enumerate(parts):
        if part.depth:
            path = [*(one for one in path if one.depth < part.depth), part]
            size = _section_size(parts, n)
            if len(waiting) + size > limit >= size or len(waiting) > limit // TINY < size // TINY:
                flush()
        elif len(waiting) + len(part.text) > limit:
            flush()
        here = tuple(one.title for one in path)
        for piece in _cut(part.text, limit):
            if len(waiting) + len(piece) > limit:
                flush()
            waiting += piece
            titles.append(here)
    flush()
    return found


def _section_size(parts: list[_Part], start: int) -> int:
    size = len(parts[start].text)
    for part in parts[start + 1 :]:
        if part.depth and part.depth <= parts[start].depth:
            break
        size += len(part.text)
    return size


def _parts(name: str, text: str) -> Iterator[_Part]:
    ending = name.rpartition(".")[2].lower()
    if ending in MARKDOWN:
        front = FRONT_MATTER.match(text)
        behind = front.end() if front else 0
        found = [one for one in blocks(text) if one.kind != "row" and one.start >= behind]
        starts = [0, *(one.start for one in found if one.start)]
        ends = [*starts[1:], len(text)]
        headings = {one.start: one for one in found if one.depth}
        for start, end in zip(starts, ends, strict=True):
            heading = headings.get(start)
            title = " ".join(heading.text.split())[:TITLE] if heading else ""
            yield _Part(text[start:end], heading.depth if heading else 0, title)
        return
    for piece in _at_blank_lines(text):
        defined = _DEFINED.search(piece) if ending in CODE else None
        yield _Part(piece, 1 if defined else 0, defined[1] if defined else "")


def _at_blank_lines(text: str) -> Iterator[str]:
    """Before a line that stands behind blank ones, is not indented and closes nothing."""
    start, place, blank = 0, 0, False
    for line in text.split("\n"):
        if blank and line[:1].strip() and line[:1] not in ")]}":
            yield text[start:place]
            start = place
        blank = not line.strip()
        place += len(line) + 1
    if start < len(text):
        yield text[start:]


def _cut(part: str, limit: int) -> Iterator[str]:
    """By lines where it is larger than a chunk; a line that is larger is cut where it must be."""
    start = 0
    while len(part) - start > limit:
        end = part.rfind("\n", start, start + limit) + 1
        end = end if end > start else start + limit
        yield part[start:end]
        start = end
    yield part[start:]


def spoken(name: str, text: str) -> str:
    """Of code, what its comments say and the names it defines; of all else, all of it."""
    if name.rpartition(".")[2].lower() not in CODE:
        return text
    said, quoted = [], False
    for line in text.split("\n"):
        comment = _COMMENT.match(line[:400])
        if quoted or _QUOTES.search(line):
            said.append(line.strip().strip("\"' "))
            quoted ^= len(_QUOTES.findall(line)) % 2 == 1
        elif comment:
            said.append(comment[1].rstrip("*/ "))
        elif not line.strip():
            said.append("")
    names = dict.fromkeys(_DEFINED.findall(text))
    return "\n".join([*said, "", *(f"- {one}" for one in list(names)[:DEFINED])])

"""A document cut into chunks along its structure. Joined, they are the document to the byte."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

from kedge.bank.catalog.values import CHARACTERS, Chunk
from kedge.bank.fences import begins_fenced

TINY = 8
"""A beginning of less than this part of a chunk, such as a title alone, goes with what follows."""

Blocks = Callable[[str], Iterator[str]]
"""What a text must not be cut inside of, where that can be helped: joined, the text."""


class Section(NamedTuple):
    start: int
    depth: int
    title: str


class _Node:
    def __init__(self, section: Section, end: int) -> None:
        self.start, self.depth, self.title = section
        self.end = end
        self.children: list[_Node] = []


def split(text: str, sections: list[Section], blocks: Blocks, tokens: int) -> list[Chunk]:
    """Sections whole where they fit, small neighbours together, large ones by their blocks."""
    if not text:
        return []
    return _Splitter(text, blocks, tokens * CHARACTERS).pieces(_tree(sections, len(text)), ())


def _tree(sections: list[Section], end: int) -> _Node:
    root = _Node(Section(0, 0, ""), end)
    above = [root]
    for section in sections:
        while above[-1].depth >= section.depth and len(above) > 1:
            above.pop().end = section.start
        node = _Node(section, end)
        above[-1].children.append(node)
        above.append(node)
    return root


class _Splitter:
    def __init__(self, text: str, blocks: Blocks, limit: int) -> None:
        self._text, self._blocks, self._limit = text, blocks, limit

    def pieces(self, node: _Node, above: tuple[str, ...]) -> list[Chunk]:
        here = (*above, node.title) if node.title else above
        if node.end - node.start <= self._limit:
            titles = tuple(_paths(node, above)) or (here,)
            return [Chunk(text=self._text[node.start : node.end], titles=titles)]
        own_end = node.children[0].start if node.children else node.end
        made = self._packed(self._text[node.start : own_end], here)
        mergeable = bool(made)
        for child in node.children:
            inner = self.pieces(child, here)
            whole = len(inner) == 1
            room = self._limit if whole else self._limit // TINY + len(inner[0].text)
            if mergeable and self._fits(made[-1], inner[0], min(room, self._limit)):
                inner[0] = _joined(made.pop(), inner[0])
            made.extend(inner)
            mergeable = whole
        return made

    def _fits(self, first: Chunk, second: Chunk, most: int) -> bool:
        return not first.inside and len(first.text) + len(second.text) <= most

    def _packed(self, text: str, titles: tuple[str, ...]) -> list[Chunk]:
        made: list[Chunk] = []
        waiting: list[str] = []
        size = 0

        def flush() -> None:
            nonlocal size
            if waiting:
                made.append(Chunk(text="".join(waiting), titles=(titles,)))
            waiting.clear()
            size = 0

        for block in self._blocks(text):
            if size + len(block) > self._limit:
                flush()
            if len(block) > self._limit:
                inside = begins_fenced(block)
                made.extend(
                    Chunk(text=part, titles=(titles,), inside=inside)
                    for part in _cut(block, self._limit)
                )
            else:
                waiting.append(block)
                size += len(block)
        flush()
        return made


def _paths(node: _Node, above: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    here = (*above, node.title) if node.title else above
    if node.title:
        yield here
    for child in node.children:
        yield from _paths(child, here)


def _joined(first: Chunk, second: Chunk) -> Chunk:
    titles = tuple(dict.fromkeys((*first.titles, *second.titles)))
    return Chunk(text=first.text + second.text, titles=titles, inside=second.inside)


def _cut(block: str, limit: int) -> Iterator[str]:
    """By lines; a line that is larger than a chunk is cut where it must be."""
    start = 0
    while len(block) - start > limit:
        end = block.rfind("\n", start, start + limit) + 1
        if end <= start:
            end = start + limit
        yield block[start:end]
        start = end
    yield block[start:]


def title_of(chunk: Chunk, *, shown: int = 3) -> str:
    """The path that its headings share, and the first of those below it."""
    paths = chunk.titles
    if not paths:
        return ""
    shared = paths[0]
    for path in paths[1:]:
        same = next(
            (n for n, (a, b) in enumerate(zip(shared, path, strict=False)) if a != b),
            min(len(shared), len(path)),
        )
        shared = shared[:same]
    below = list(dict.fromkeys(path[len(shared)] for path in paths if len(path) > len(shared)))
    more = [f"+{len(below) - shown} more"] if len(below) > shown else []
    return " > ".join([*shared, *([", ".join([*below[:shown], *more])] if below else [])])

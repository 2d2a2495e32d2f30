"""A document cut into chunks along its structure: headings, definitions, blank lines. Joined, they
are the document to the byte."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable, Iterator
from itertools import accumulate
from typing import NamedTuple

from kedgeline.bank.markdown import hidden_parts
from kedgeline.bank.values import CHARACTERS
from kedgeline.model import Value

TINY = 8
"""A beginning of less than this part of a chunk, such as a title alone, goes with what follows."""
PYTHON_MOST = 1 << 20
"""Characters of a source that is parsed; a larger one is generated, and is cut at blank lines."""
TITLE = 120
"""Characters of a heading in a title."""
TITLES_SHOWN = 3
MARKDOWN = frozenset({"md", "markdown", "mdx", "mdc"})
PYTHON = frozenset({"py", "pyi"})
CODE = frozenset(
    """js jsx ts tsx mjs cjs go rs java kt kts scala c h cc cpp hpp cs rb php swift m sh bash zsh
    sql css scss vue svelte json jsonl yaml yml toml ini cfg conf xml html tf proto graphql r jl lua
    ex exs erl hs ml dart zig nix cmake gradle""".split()  # noqa: SIM905
)

_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(.{1,2000})")
_UNDERLINE = re.compile(r" {0,3}(={2,}|-{2,})[ \t]*\r?")
_NO_TITLE = "|-*+>=<#`~"
"""What a line begins with that is a list, a table or a quotation, and so has no underline."""

DEFINED = 60
"""Definitions that a summary of code names."""
_DEFINED = re.compile(
    r"\s{0,12}(?:(?:export|default|public|private|protected|internal|static|async|abstract|final"
    r"|pub(?:\(\w{1,20}\))?)\s+){0,5}"
    r"(?:def|class|function|func|fn|struct|interface|type|enum|impl|trait|module|CREATE TABLE)"
    r"\s+([\w.$]{1,80})"
)
_COMMENT = re.compile(r"\s*(?:#|//+|--|;;|/?\*+)(?:[!/]|\s|$)\s*(.*)")
_DOCSTRING = re.compile(r"\s*[rRuU]?(?:\"\"\"|''')(.*)")

Blocks = Callable[[str], Iterator[str]]
"""What a text must not be cut inside of, where that can be helped: joined, the text."""


class Chunk(Value, frozen=True):
    text: str
    titles: tuple[tuple[str, ...], ...] = ()
    """Paths of the headings it has, the outermost first; of code, the names of what it defines."""
    inside: bool = False
    """Whether it was cut out of a block of code that is larger than a chunk."""

    @property
    def title(self) -> str:
        """The path that its headings share, and the first of those below it."""
        if not self.titles:
            return ""
        shared = self.titles[0]
        for path in self.titles[1:]:
            both = zip(shared, path, strict=False)
            same = next((n for n, (a, b) in enumerate(both) if a != b), min(len(shared), len(path)))
            shared = shared[:same]
        rest = (path[len(shared)] for path in self.titles if len(path) > len(shared))
        below = list(dict.fromkeys(rest))
        more = [f"+{len(below) - TITLES_SHOWN} more"] if len(below) > TITLES_SHOWN else []
        return " > ".join((*shared, *filter(None, [", ".join([*below[:TITLES_SHOWN], *more])])))


class Section(NamedTuple):
    start: int
    depth: int
    title: str


def is_code(name: str) -> bool:
    return _ending(name) in PYTHON | CODE


def chunks_of(name: str, text: str, tokens: int) -> list[Chunk]:
    """The chunks of a document, by what its name ends with: sections whole where they fit, small
    neighbours together, large ones by their blocks."""
    if not text:
        return []
    ending = _ending(name)
    sections: list[Section] = []
    blocks: Blocks = paragraphs
    if ending in MARKDOWN:
        sections, blocks = markdown_sections(text), markdown_blocks
    elif ending in PYTHON | CODE:
        sections, blocks = python_sections(text) if ending in PYTHON else [], code_blocks
    root = _Node(Section(0, 0, ""), len(text))
    above = [root]
    for section in sections:
        while above[-1].depth >= section.depth and len(above) > 1:
            above.pop().end = section.start
        node = _Node(section, len(text))
        above[-1].children.append(node)
        above.append(node)
    return _Splitter(text, blocks, tokens * CHARACTERS).chunks(root, ())


def _ending(name: str) -> str:
    return name.rpartition(".")[2].lower() if "." in name else ""


class _Node:
    def __init__(self, section: Section, end: int) -> None:
        self.start, self.depth, self.title = section
        self.end = end
        self.children: list[_Node] = []

    def paths(self, above: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        here = (*above, self.title) if self.title else above
        if self.title:
            yield here
        for child in self.children:
            yield from child.paths(here)


class _Splitter:
    def __init__(self, text: str, blocks: Blocks, limit: int) -> None:
        self._text, self._blocks, self._limit = text, blocks, limit

    def chunks(self, node: _Node, above: tuple[str, ...]) -> list[Chunk]:
        here = (*above, node.title) if node.title else above
        if node.end - node.start <= self._limit:
            titles = tuple(node.paths(above)) or (here,)
            return [Chunk(text=self._text[node.start : node.end], titles=titles)]
        own_end = node.children[0].start if node.children else node.end
        made = list(self._packed(self._text[node.start : own_end], here))
        mergeable = bool(made)
        for child in node.children:
            inner = self.chunks(child, here)
            whole = len(inner) == 1
            room = self._limit if whole else self._limit // TINY + len(inner[0].text)
            if mergeable and not made[-1].inside:
                size = len(made[-1].text) + len(inner[0].text)
                if size <= min(room, self._limit):
                    first, second = made.pop(), inner[0]
                    titles = tuple(dict.fromkeys((*first.titles, *second.titles)))
                    text = first.text + second.text
                    inner[0] = Chunk(text=text, titles=titles, inside=second.inside)
            made.extend(inner)
            mergeable = whole
        return made

    def _packed(self, text: str, titles: tuple[str, ...]) -> Iterator[Chunk]:
        waiting = ""
        for block in self._blocks(text):
            if waiting and len(waiting) + len(block) > self._limit:
                yield Chunk(text=waiting, titles=(titles,))
                waiting = ""
            if len(block) <= self._limit:
                waiting += block
                continue
            inside = any(not one.start for one in hidden_parts(block.lstrip(), html=False))
            for part in _cut(block, self._limit):
                yield Chunk(text=part, titles=(titles,), inside=inside)
        if waiting:
            yield Chunk(text=waiting, titles=(titles,))


def _cut(block: str, limit: int) -> Iterator[str]:
    """By lines; a line that is larger than a chunk is cut where it must be."""
    start = 0
    while len(block) - start > limit:
        end = block.rfind("\n", start, start + limit) + 1
        end = end if end > start else start + limit
        yield block[start:end]
        start = end
    yield block[start:]


def _lines(text: str) -> Iterator[tuple[int, str, bool]]:
    """Lines with their place, and whether they are code of Markdown."""
    start, blocks = 0, hidden_parts(text, html=False)
    spans = [(one.start, getattr(one, "end", len(text))) for one in blocks]
    for line in text.split("\n"):
        while spans and spans[0][1] <= start:
            spans.pop(0)
        yield start, line, bool(spans) and spans[0][0] <= start
        start += len(line) + 1


def markdown_sections(text: str) -> list[Section]:
    found: list[Section] = []
    paragraph: list[tuple[int, str]] = []
    """Lines of the one under way: only a single one can be underlined."""
    for start, line, code in _lines(text):
        heading = None if code else _HEADING.match(line)
        if heading:
            found.append(Section(start, len(heading[1]), _title(heading[2])))
        elif not code and len(paragraph) == 1 and _UNDERLINE.fullmatch(line):
            above, title = paragraph[0]
            if title.strip()[0] not in _NO_TITLE:
                found.append(Section(above, 1 if "=" in line else 2, _title(title)))
        elif not code and line.strip():
            paragraph.append((start, line))
            continue
        paragraph.clear()
    return found


def _title(text: str) -> str:
    return " ".join(text.rstrip("# \t\r").split())[:TITLE]


def markdown_blocks(text: str) -> Iterator[str]:
    """Paragraphs, lists, tables and blocks of code, with the blank lines behind them."""
    start, blank, was_code = 0, False, False
    for place, line, code in _lines(text):
        bare = line.strip()
        begins = blank and bare and not (was_code and code)
        if (begins or (code and not was_code)) and place > start:
            yield text[start:place]
            start = place
        blank, was_code = not bare, code
    if start < len(text):
        yield text[start:]


def paragraphs(text: str) -> Iterator[str]:
    return _at_blank_lines(text, lambda line: bool(line.strip()))


def code_blocks(text: str) -> Iterator[str]:
    """At blank lines before a line that is not indented and closes nothing."""
    return _at_blank_lines(text, lambda line: line[:1].isprintable() and line[:1] not in " )]}")


def _at_blank_lines(text: str, begins: Callable[[str], bool]) -> Iterator[str]:
    start, place, blank = 0, 0, False
    for line in text.split("\n"):
        if blank and line and begins(line):
            yield text[start:place]
            start = place
        blank = not line.strip()
        place += len(line) + 1
    if start < len(text):
        yield text[start:]


def python_sections(text: str) -> list[Section]:
    """Classes, functions and methods, with their decorators and the comments above them."""
    if len(text) > PYTHON_MOST or re.search(r"\r(?!\n)|\f", text):
        return []
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of the source, not of ours
            tree = ast.parse(text.removeprefix("\ufeff"))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    lines = text.split("\n")
    starts = [0, *accumulate(len(line) + 1 for line in lines)]

    def first_line(node: ast.stmt) -> int:
        decorators: list[ast.expr] = getattr(node, "decorator_list", [])
        first: int = min([node.lineno, *(one.lineno for one in decorators)]) - 1
        while first and lines[first - 1].lstrip().startswith("#"):
            first -= 1
        return first

    def definitions(body: list[ast.stmt], depth: int) -> Iterator[Section]:
        defined = False
        for node in body:
            if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
                yield Section(starts[first_line(node)], depth, node.name[:TITLE])
                if isinstance(node, ast.ClassDef):
                    yield from definitions(node.body, depth + 1)
                defined = True
            elif defined:  # back at the level of the module or the class
                yield Section(starts[first_line(node)], depth, "")
                defined = False

    return list(definitions(tree.body, 1))


def spoken(text: str) -> Iterator[str]:
    """Of code, what its comments say and the names it defines."""
    quoted = False
    names: list[str] = []
    for line in text.split("\n"):
        short = line[:400]
        if quoted:
            quoted = '"""' not in short and "'''" not in short
            yield short.strip().strip("\"'")
        elif found := _DOCSTRING.match(short):
            quoted = '"""' not in found[1] and "'''" not in found[1]
            yield found[1].strip("\"' ")
        elif comment := _COMMENT.match(short):
            yield comment[1].rstrip("*/ ")
        elif name := _DEFINED.match(short):
            names.append(name[1])
            yield ""
        elif not short.strip():
            yield ""
    yield ""
    yield from (f"- {name}" for name in dict.fromkeys(names[:DEFINED]))

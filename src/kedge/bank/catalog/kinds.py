"""What each kind of document is cut along: headings, definitions, blank lines."""

from __future__ import annotations

import ast
import re
import warnings
from collections.abc import Callable, Iterator
from typing import NamedTuple

from kedge.bank.catalog.splitting import Blocks, Section, split
from kedge.bank.catalog.values import Chunk
from kedge.bank.fences import fenced

PYTHON_MOST = 1 << 20
"""Characters of a source that is parsed; a larger one is generated, and is cut at blank lines."""
TITLE = 120
"""Characters of a heading in a title."""
MARKDOWN = frozenset({"md", "markdown", "mdx", "mdc"})
PYTHON = frozenset({"py", "pyi"})
CODE = frozenset(
    """js jsx ts tsx mjs cjs go rs java kt kts scala c h cc cpp hpp cs rb php swift m sh bash zsh
    sql css scss vue svelte json jsonl yaml yml toml ini cfg conf xml html tf proto graphql r jl lua
    ex exs erl hs ml dart zig nix cmake gradle""".split()  # noqa: SIM905
)
NO_TITLE = "|-*+>=<#`~"
"""What a line begins with that is a list, a table or a quotation, and so has no underline."""

_HEADING = re.compile(r" {0,3}(#{1,6})[ \t]+(.{1,2000})")
_UNDERLINE = re.compile(r" {0,3}(={2,}|-{2,})[ \t]*\r?")


class Lines(NamedTuple):
    start: int
    text: str
    code: bool
    """Whether it belongs to a block of code, fences included."""


def chunks_of(name: str, text: str, tokens: int) -> list[Chunk]:
    """The chunks of a document, by what its name ends with."""
    ending = name.rpartition(".")[2].lower() if "." in name else ""
    sections, blocks = _cutters(ending)
    return split(text, sections(text), blocks, tokens)


def is_code(name: str) -> bool:
    ending = name.rpartition(".")[2].lower()
    return ending in PYTHON or ending in CODE


def _cutters(ending: str) -> tuple[Callable[[str], list[Section]], Blocks]:
    if ending in MARKDOWN:
        return markdown_sections, markdown_blocks
    if ending in PYTHON:
        return python_sections, code_blocks
    if ending in CODE:
        return no_sections, code_blocks
    return no_sections, paragraphs


def no_sections(text: str) -> list[Section]:
    return []


def lines_of(text: str) -> Iterator[Lines]:
    """Lines with their place, and whether they are code of Markdown."""
    start = 0
    for line, code in fenced(text):
        yield Lines(start, line, code)
        start += len(line) + 1


def markdown_sections(text: str) -> list[Section]:
    found: list[Section] = []
    paragraph: list[Lines] = []
    """Lines of the one under way: only a single one can be underlined."""
    for line in lines_of(text):
        heading = None if line.code else _HEADING.match(line.text)
        if heading:
            found.append(Section(line.start, len(heading[1]), _title(heading[2])))
        elif not line.code and len(paragraph) == 1 and _UNDERLINE.fullmatch(line.text):
            above = paragraph[0]
            if above.text.strip()[0] not in NO_TITLE:
                depth = 1 if "=" in line.text else 2
                found.append(Section(above.start, depth, _title(above.text)))
        elif not line.code and line.text.strip():
            paragraph.append(line)
            continue
        paragraph.clear()
    return found


def _title(text: str) -> str:
    return " ".join(text.rstrip("# \t\r").split())[:TITLE]


def markdown_blocks(text: str) -> Iterator[str]:
    """Paragraphs, lists, tables and blocks of code, with the blank lines behind them."""
    start, blank, was_code = 0, False, False
    for line in lines_of(text):
        bare = line.text.strip()
        begins = blank and bare and not (was_code and line.code)
        turns = line.code and not was_code
        if (begins or turns) and line.start > start:
            yield text[start : line.start]
            start = line.start
        blank, was_code = not bare, line.code
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
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    return list(_definitions(tree.body, 1, lines, starts))


def _definitions(
    body: list[ast.stmt], depth: int, lines: list[str], starts: list[int]
) -> Iterator[Section]:
    defined = False
    for node in body:
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            yield Section(starts[_first_line(node, lines)], depth, node.name[:TITLE])
            if isinstance(node, ast.ClassDef):
                yield from _definitions(node.body, depth + 1, lines, starts)
            defined = True
        elif defined:  # back at the level of the module or the class
            yield Section(starts[_first_line(node, lines)], depth, "")
            defined = False


def _first_line(node: ast.stmt, lines: list[str]) -> int:
    """Number of its first line, counted from 0."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    first: int = min([node.lineno, *(one.lineno for one in decorators)]) - 1
    while first and lines[first - 1].lstrip().startswith("#"):
        first -= 1
    return first

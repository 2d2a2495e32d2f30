"""The blocks of a Markdown text, as markdown-it-py finds them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache
from typing import TYPE_CHECKING, Literal, NamedTuple

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

Kind = Literal["heading", "item", "head", "row", "quote", "code", "html", "rule", "text"]

FRONT_MATTER = re.compile(r"\ufeff?---[ \t]*\r?\n(.*?)^---[ \t]*\r?$", re.DOTALL | re.MULTILINE)


class MarkdownBlock(NamedTuple):
    """A block that lies in no other; of a list each item, of a table each row."""

    kind: Kind
    start: int
    end: int
    text: str
    """Of a heading without its marks; of all others their first line."""
    level: int = 0
    """Of a heading; 0 where it is underlined, as such a one begins no entry."""
    depth: int = 0
    """Of any heading."""
    cells: tuple[str, ...] = ()
    lead: str = ""
    """Of a row, the head of its table."""
    unclosed: str = ""
    """What a code block or a comment lacks at its end."""


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark").enable("table")
    parser.core.ruler.enableOnly(["block"])
    return parser


def blocks(text: str) -> list[MarkdownBlock]:
    # every character keeps its place
    tokens = _parser().parse(re.sub("[\r\0\ufeff]", " ", text) + "\n")
    lines = text.split("\n")
    places = [0]
    for line in lines:
        places.append(places[-1] + len(line) + 1)
    places[-1] = len(text)
    found: list[MarkdownBlock] = []
    lead = ""
    for number, token in enumerate(tokens):
        kind = _KINDS.get((token.type, token.level))
        if kind is None or token.map is None:
            continue
        first, behind = token.map[0], min(token.map[1], len(lines))
        start, end = places[first], places[behind]
        block = MarkdownBlock(kind, start, end, lines[first].strip())
        if kind == "heading":
            depth = int(token.tag[1])
            level = depth if token.markup.startswith("#") else 0
            block = block._replace(
                text=tokens[number + 1].content.strip(), level=level, depth=depth
            )
        elif kind == "row":
            cells = tuple(_cells(tokens[number + 1 :]))
            if tokens[number + 1].type == "th_open":
                end = places[min(behind + 1, len(lines))]
                lead = text[start:end]
                block = block._replace(kind="head", end=end)
            block = block._replace(cells=cells, lead=lead)
        elif kind == "code" and token.markup:
            closed = token.content.count("\n") == token.map[1] - first - 2
            block = block._replace(unclosed="" if closed else token.markup)
        elif kind == "quote":  # any of its lines may be a reference
            found += (
                MarkdownBlock(kind, places[n], places[n + 1], lines[n].strip())
                for n in range(first, behind)
            )
            continue
        elif kind == "html" and block.text.startswith("<!--") and "-->" not in token.content:
            block = block._replace(unclosed="-->")
        found.append(block)
    return found


_KINDS: dict[tuple[str, int], Kind] = {
    ("heading_open", 0): "heading",
    ("list_item_open", 1): "item",
    ("tr_open", 2): "row",
    ("blockquote_open", 0): "quote",
    ("fence", 0): "code",
    ("code_block", 0): "code",
    ("html_block", 0): "html",
    ("hr", 0): "rule",
    ("paragraph_open", 0): "text",
}


def _cells(tokens: Sequence[Token]) -> Iterator[str]:
    for token in tokens:
        if token.type == "inline":
            yield token.content
        elif token.type == "tr_close":
            return

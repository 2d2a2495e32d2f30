"""Markdown as far as a bank must know it: which lines are code or comments, where headings and
references stand, and a text cut into pieces."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from msgspec.structs import replace

from kedgeline.bank.values import Other, Piece, Reference
from kedgeline.errors import BankMalformed

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

SECTION_LEVELS = 3
"""Headings down to this level can end an entry. One of the next level can begin one where it names
a date; otherwise, as all deeper ones, it is an entry's own."""

_MARK = re.compile(
    r"^ {0,3}(?P<hashes>#{1,6})(?:[ \t]+(?P<title>[^\n]*?))?[ \t]*\r?$"
    r"|^(?P<archived>> Archived: [^\n]*?)\s*?$"
    r"|^(?P<conflict><{7}|>{7})(?= |\r?$)"
    r"|^(?P<underline>={3,}|-{4,})[ \t]*\r?$",  # three dashes stand between entries
    re.MULTILINE,
)
_CLOSING_HASHES = re.compile(r"(?:^|[ \t])#+[ \t]*$")
_NO_PARAGRAPH = re.compile(r"\s*(?:$|[>|#*+-]|[0-9]{1,9}[.)] )")
_BLANK_LINES = re.compile(r"(?:[ \t]*\r?\n)*+")
RULE = re.compile(
    r"^(?= {0,3}[-*_]) {0,3}(?:(?:-[ \t]*+){3,}+|(?:\*[ \t]*+){3,}+|(?:_[ \t]*+){3,}+)(?=\r?$)",
    re.MULTILINE,
)
"""A line across the page."""
_RULE_OR_HEADING = re.compile(rf"(?P<rule>{RULE.pattern})|^ {{0,3}}#{{1,6}}[ \t]", re.MULTILINE)


class Mark(NamedTuple):
    """A line where a piece may begin or end."""

    start: int
    end: int
    """Of its line, the newline not counted."""
    sign: int
    """Where the characters stand that make it what it is."""
    level: int
    """Of a heading; 0: a reference."""
    text: str
    """Of a heading without its marks, or all of a reference."""


class Hidden(NamedTuple):
    """Code or a comment: nothing in it begins or ends a piece."""

    start: int
    end: int
    comment: bool = False


class Trouble(NamedTuple):
    """What makes it impossible to say where pieces begin."""

    start: int
    why: str
    closing: str = ""
    """What a code block lacks."""


@cache
def _parser(*, html: bool) -> MarkdownIt:
    from markdown_it import MarkdownIt  # with the first file that has code or comments

    parser = MarkdownIt("commonmark" if html else "zero")
    parser.core.ruler.enableOnly(["block"])
    if not html:
        parser.enable(["code", "fence", "blockquote", "hr", "list", "heading", "lheading"])
    return parser


def hidden_parts(text: str, *, html: bool = True) -> list[Hidden | Trouble]:
    """Code blocks with fences and comments, in order; what is never closed goes to the end. Without
    `html` nothing is a comment."""
    if not any(sign in text for sign in ("```", "~~~", "<!--")):
        return []
    found: list[Hidden | Trouble] = []
    lines = text.split("\n")
    places = [0]
    for line in lines:
        places.append(places[-1] + len(line) + 1)
    places[-1] = len(text)
    # Every character stays where it is: places in lines are places in the text.
    plain = re.sub("[\r\0\ufeff]", " ", text)
    for token in _parser(html=html).parse(f"{plain}\n"):
        if token.map is None or token.type not in ("fence", "html_block"):
            continue
        first, behind = token.map
        line = lines[first]
        start, end = places[first], places[min(behind, len(lines))]
        if token.type == "fence":
            is_closed = token.content.count("\n") == behind - first - 2
            if is_closed or text[end:].strip():
                found.append(Hidden(start, end))
            else:
                lead = re.sub(r"[^>\s]", " ", line[: line.index(token.markup)])
                why = "this code block is never closed"
                found.append(Trouble(start, why, f"{lead}{token.markup}"))
        elif line.lstrip(" \ufeff").startswith("<!--"):
            if "-->" not in token.content:
                return [*found, Trouble(start, "this comment is never closed")]
            found.append(Hidden(start, end, comment=True))
    return found


def walk(text: str) -> Iterator[Mark | Hidden | Trouble]:
    """All of these in order."""
    place = 0
    for found in hidden_parts(text):
        yield from _marks_between(text, place, found.start)
        yield found
        place = found.end if isinstance(found, Hidden) else len(text)
    yield from _marks_between(text, place, len(text))


def _marks_between(text: str, start: int, end: int) -> Iterator[Mark | Trouble]:
    for found in _MARK.finditer(text, start, end):
        if found["conflict"]:
            yield Trouble(found.start(), "a merge conflict was left here")
        elif found["archived"]:
            yield Mark(found.start(), found.end(), found.start(), 0, found["archived"])
        elif found["hashes"]:
            level = len(found["hashes"])
            if level <= SECTION_LEVELS + 1:
                title = heading_text(found["title"] or "")
                yield Mark(found.start(), found.end(), found.start("hashes"), level, title)
        elif found.start() > start:
            above = text.rfind("\n", 0, found.start() - 1) + 1
            line = text[above : found.start() - 1]
            if above >= start and not _NO_PARAGRAPH.match(line):
                level = 1 if found["underline"][0] == "=" else 2
                yield Mark(above, found.end(), found.start(), level, line.strip())


def heading_text(line: str) -> str:
    """Of a heading, without the marks before it and behind it."""
    return _CLOSING_HASHES.sub("", line.strip().lstrip("#").strip()).strip()


def marks(name: str, text: str) -> Iterator[Mark]:
    """Raises BankMalformed where nobody could say what belongs to what. A code block or a comment
    that is never closed hides all entries behind it; guessing where it ends would move the wrong
    text to an archive."""
    for found in walk(text):
        if isinstance(found, Trouble):
            raise BankMalformed(name, line_of(text, found.start), found.why)
        if isinstance(found, Mark):
            yield found


def headings(text: str) -> list[Mark]:
    """As far as the file can be read, for recognising it."""
    return [found for found in walk(text) if isinstance(found, Mark) and found.level]


def hidden_in(name: str, text: str) -> list[Hidden]:
    """Raises BankMalformed as `marks` does; without a name it reads as far as it can."""
    if name:
        for _ in marks(name, text):
            pass
    return [found for found in hidden_parts(text) if isinstance(found, Hidden)]


def visible(text: str) -> str:
    """Without code blocks and comments."""
    rest, place = [], 0
    for found in hidden_in("", text):
        rest.append(text[place : found.start])
        place = found.end
    return "".join((*rest, text[place:]))


def before_footer(text: str) -> int:
    """Where the footer of an entry's text begins: a rule and what follows it, unless that has
    headings of its own, or comments that stand by themselves. A rule with nothing behind it is what
    people put between entries, and the entry's own."""
    hidden = hidden_in("", text)
    spans = zip(
        [0, *(one.end for one in hidden)], [*(one.start for one in hidden), None], strict=True
    )
    found = [
        one
        for start, end in spans
        for one in _RULE_OR_HEADING.finditer(text, start, end or len(text))
    ]
    last, end = found[-1] if found else None, len(text)
    if last and last["rule"] and text[last.end() :].strip() and _stands_alone(text, last.start()):
        end = last.start()
    return before_comments(text, [one for one in hidden if one.end <= end], end)


def before_comments(text: str, hidden: list[Hidden], end: int) -> int:
    """Where the comments begin that a text ends with."""
    for found in reversed(hidden):
        if (
            not found.comment
            or text[found.end : end].strip()
            or not _stands_alone(text, found.start)
        ):
            break
        end = found.start
    return end


def _stands_alone(text: str, start: int) -> bool:
    """Whether a blank line is above it: without one it belongs to what is there."""
    above = text.rfind("\n", 0, max(start - 1, 0)) + 1
    return start > 0 and not text[above:start].strip()


def line_of(text: str, place: int) -> int:
    return text.count("\n", 0, place) + 1


def line_end(text: str, place: int) -> int:
    """Behind the newline of the line that `place` stands in."""
    return text.find("\n", place) + 1 or len(text)


def behind_blank_lines(text: str, start: int) -> int:
    found = _BLANK_LINES.match(text, start)
    return found.end() if found else start


class Cutter:
    """Cuts a text into pieces from its beginning to its end, and counts lines on the way."""

    def __init__(self, text: str) -> None:
        self._text, self._place, self._line = text, 0, 1
        self._pieces: list[Piece] = []

    def leave(self, end: int) -> None:
        """What stands before `end` and was not taken is nobody's."""
        if end > self._place:
            text, line = self.take(end)
            self.put(Other(text=text, line=line))

    def take(self, end: int) -> tuple[str, int]:
        """The text up to there, and the number of its first line."""
        text, line = self._text[self._place : end], self._line
        self._place = end
        self._line += text.count("\n")
        return text, line

    def put(self, piece: Piece) -> None:
        self._pieces.append(piece)

    def put_reference(self, reference: Reference, end: int) -> None:
        text, line = self.take(end)
        self.put(replace(reference, text=text, line=line))

    def all(self) -> tuple[Piece, ...]:
        self.leave(len(self._text))
        return tuple(self._pieces)

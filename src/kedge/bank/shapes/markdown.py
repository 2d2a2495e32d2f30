"""Where something begins in a Markdown file: headings and references, outside code blocks and
comments. One pass, in time that grows with the file."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

import msgspec

from kedge.bank.values import Other, Piece, Reference
from kedge.errors import BankMalformed

SECTION_LEVELS = 3
"""Headings down to this level can end an entry. One of the next level can begin one where it names
a date; otherwise, as all deeper ones, it is an entry's own."""

_INTERESTING = re.compile(
    r"^(?=[ #`~<>|=*+\-0-9])(?:"  # most lines begin with none of these
    r" {0,3}(?P<hashes>#{1,4})(?:[ \t]+(?P<title>[^\n]*))?(?=\r?$)"
    # A code block may begin behind the mark of a list. Its blanks are taken at once, or a line of
    # nothing but marks could be read in more ways than there is time for.
    r"|(?P<lead>(?: {0,3}(?:[-*+]|[0-9]{1,9}[.)]) {1,4}+){0,3}+) {0,3}+"
    r"(?P<fence>`{3,}+(?=[^`\n]*$)|~{3,}+)"
    r"| {0,3}(?P<comment><!--)"
    r"|(?P<reference>> Archived: [^\n]*)"
    r"|(?P<conflict><{7}|>{7})(?=[ \r\n]|\Z)"
    r"|(?P<underline>={3,}|-{4,})[ \t]*(?=\r?$)"
    r")",
    re.MULTILINE,
)
_CLOSING_HASHES = re.compile(r"(?:^|[ \t])#+[ \t]*$")
_NO_PARAGRAPH = re.compile(r"\s*(?:$|[>|#*+-]|[0-9]{1,9}[.)] )")
"""Lines that an underline does not make a heading: nothing, a quote, a table, a list."""
_BLANK_LINES = re.compile(r"\r?\n(?:[ \t]*\r?\n)*")
_EMPTY_LINES = re.compile(r"(?:[ \t]*\r?\n)*+")


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


class Trouble(NamedTuple):
    """What makes it impossible to say where pieces begin."""

    start: int
    why: str
    closing: str = ""
    """What a code block lacks."""


def walk(text: str) -> Iterator[Mark | Hidden | Trouble]:
    """All of these in order. A line of dashes is an underline from four on: three are what people
    put between entries, and around front matter."""
    place = visible_from = 0
    while found := _INTERESTING.search(text, place):
        start, kind = found.start(), found.lastgroup
        place = found.end()
        if kind in ("fence", "comment"):
            end = _end_of_code(text, found) if kind == "fence" else _end_of_comment(text, place)
            if end < 0:
                yield _never_closed(found)
                return
            place = visible_from = end
            yield Hidden(start, end)
        elif kind == "underline":
            above = text.rfind("\n", 0, max(start - 1, 0)) + 1
            if visible_from <= above < start and not _NO_PARAGRAPH.match(text, above, start):
                level = 1 if found["underline"][0] == "=" else 2
                yield Mark(above, place, start, level, text[above:start].strip())
        else:
            yield _line_mark(found)


def _never_closed(found: re.Match[str]) -> Trouble:
    if found["comment"]:
        return Trouble(found.start(), "this comment is never closed")
    return Trouble(found.start(), "this code block is never closed", found["fence"])


def _line_mark(found: re.Match[str]) -> Mark | Trouble:
    start, end, kind = found.start(), found.end(), found.lastgroup
    if kind == "conflict":
        return Trouble(start, "a merge conflict was left here")
    if kind == "reference":
        return Mark(start, end, start, 0, found["reference"].rstrip())
    title = heading_text(found["title"] or "")
    return Mark(start, end, found.start("hashes"), len(found["hashes"]), title)


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


def marked(text: str) -> Iterator[Mark]:
    """As far as the file can be read, for recognising it."""
    return (found for found in walk(text) if isinstance(found, Mark))


def headings(text: str) -> Iterator[Mark]:
    return (found for found in marked(text) if found.level)


def visible(text: str) -> str:
    """Without code blocks and comments."""
    if "```" not in text and "~~~" not in text and "<!--" not in text:
        return text
    rest, place = [], 0
    for found in walk(text):
        if isinstance(found, Hidden):
            rest.append(text[place : found.start])
            place = found.end
        elif isinstance(found, Trouble):
            break
    return "".join((*rest, text[place:]))


def line_of(text: str, place: int) -> int:
    return text.count("\n", 0, place) + 1


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
        self.put(msgspec.structs.replace(reference, text=text, line=line))

    def all(self) -> tuple[Piece, ...]:
        self.leave(len(self._text))
        return tuple(self._pieces)


def with_blank_lines(text: str, end: int) -> int:
    """Behind the blank lines that follow a line's end."""
    found = _BLANK_LINES.match(text, end)
    return found.end() if found else end


def behind_blank_lines(text: str, start: int) -> int:
    """Behind the blank lines that begin there."""
    found = _EMPTY_LINES.match(text, start)
    return found.end() if found else start


def _end_of_code(text: str, opening: re.Match[str]) -> int:
    """Behind the line that closes it; before the line that stands left of the list it is in; less
    than 0 where there is neither."""
    fence, column = opening["fence"], len(opening["lead"])
    closing = rf" {{0,{column + 3}}}{fence[0]}{{{len(fence)},}}[ \t]*\r?$"
    outside = rf"| {{0,{column - 1}}}(?=[^ \r\n])" if column else ""
    found = re.compile(rf"^(?:(?P<closing>{closing}){outside})", re.MULTILINE).search(
        text, line_end(text, opening.end())
    )
    if not found:
        return -1
    return line_end(text, found.start()) if found["closing"] is not None else found.start()


def _end_of_comment(text: str, place: int) -> int:
    end = text.find("-->", place)
    return end if end < 0 else line_end(text, end)


def line_end(text: str, place: int) -> int:
    """Behind the newline of the line that `place` stands in."""
    return text.find("\n", place) + 1 or len(text)

"""Markdown line by line, in time that grows with the text: which lines are code, where headings and
references stand, and a text cut into pieces."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

from msgspec.structs import replace

from kedgeline.bank.values import Other, Piece, Reference
from kedgeline.errors import BankMalformed

DEPTH = 32
"""Lists and quotations in each other that are followed; readers of Markdown stop earlier."""
CODE_INDENT = 4
"""Blanks from which on a line is code by its indent, and opens nothing."""
SECTION_LEVELS = 3
"""Headings down to this level can end an entry. One of the next level can begin one where it names
a date; otherwise, as all deeper ones, it is an entry's own."""
ARCHIVED = "> Archived: "

_LEAD = re.compile(r"[ \t>*+\-0-9.)]*")
"""What lists and quotations are made of: only tabs in it count as blanks."""
_FENCE = re.compile(r"(`{3,})[^`]*\Z|(~{3,})")
_CLOSING = re.compile(r" {0,3}(`{3,}|~{3,})[ \t]*\Z")
_QUOTE = re.compile(r" {0,3}> ?")
_MARKER = re.compile(r" {0,3}([-+*]|[0-9]{1,9}[.)])(?= |\Z)")
_RULE = re.compile(r"([-*_])[ \t]*(?:\1[ \t]*){2,}\Z")
_HEADING = re.compile(r" {0,3}(#{1,6})(?:[ \t]+(.*))?[ \t]*\Z")
_UNDERLINE = re.compile(r"(?:=+|-+)[ \t]*\Z")
_PLAIN = re.compile(r"[^\s>*+\-0-9`~#=_<]")
"""How most lines begin, which open and close nothing."""
_TITLE_LINE = re.compile(r"(?:={3,}|-{4,})[ \t]*\Z")
"""Makes a heading of the line above. Three dashes are what people put between entries."""
_CONFLICT = re.compile(r"(?:<{7}|>{7})(?= |\Z)")
_CLOSING_HASHES = re.compile(r"(?:^|[ \t])#+[ \t]*$")
_NO_PARAGRAPH = re.compile(r"\s*(?:$|[>|#*+-]|[0-9]{1,9}[.)] )")
_BLANK_LINES = re.compile(r"(?:[ \t]*\r?\n)*+")
RULE = re.compile(
    r"^(?= {0,3}[-*_]) {0,3}(?:(?:-[ \t]*+){3,}+|(?:\*[ \t]*+){3,}+|(?:_[ \t]*+){3,}+)(?=\r?$)",
    re.MULTILINE,
)
"""A line across the page."""
_RULE_OR_HEADING = re.compile(rf"(?P<rule>{RULE.pattern})|^ {{0,3}}#{{1,6}}[ \t]", re.MULTILINE)


class Line(NamedTuple):
    kind: Literal["fenced", "indented", "blank", "text"]
    """Of a block of code its fences are lines too."""
    text: str = ""
    """Without marks of lists and quotations and the blanks before it; the line ends with it."""


class _Holder(NamedTuple):
    """A quotation, or an item of a list with the column its text begins at."""

    width: int = 0
    """0: a quotation."""
    empty: bool = False
    """An item that has no text on its first line ends with a blank one."""


class Fences:
    """Takes the lines of a text in their order and knows which of them are code between fences, in
    lists and quotations too."""

    def __init__(self) -> None:
        self._holders: tuple[_Holder, ...] = ()
        self._fence = ""
        self._paragraph = False

    def copy(self) -> Fences:
        other = Fences()
        other._holders, other._fence = self._holders, self._fence
        other._paragraph = self._paragraph
        return other

    @property
    def closing(self) -> str:
        """The line that closes what is open; empty where nothing is."""
        lead = "".join(" " * holder.width or "> " for holder in self._holders)
        return f"{lead}{self._fence}" if self._fence else ""

    def take(self, line: str) -> Line:
        if not self._holders and not self._fence and _PLAIN.match(line):
            self._paragraph = True
            return Line("text", line)
        line = _with_blanks(line.rstrip("\r\n"))
        held, rest = self._matched(line)
        if self._fence:
            if held == len(self._holders):
                found = _CLOSING.match(rest)
                if found and found[1].startswith(self._fence):
                    self._fence = ""
                return Line("fenced", rest)
            self._fence = ""
        return self._outside(held, rest)

    def _matched(self, line: str) -> tuple[int, str]:
        """How many of the lists and quotations go on, and what stands in them."""
        rest = line
        for number, holder in enumerate(self._holders):
            if not holder.width:
                found = _QUOTE.match(rest)
                if not found:
                    return number, rest
                rest = rest[found.end() :]
            elif not rest.strip(" \t"):
                if holder.empty:
                    return number, ""
            elif _indent(rest) >= holder.width:
                rest = rest[holder.width :]
            else:
                return number, rest
        return len(self._holders), rest

    def _outside(self, held: int, rest: str) -> Line:
        all_held = held == len(self._holders)
        opened: list[_Holder] = []
        while held + len(opened) < DEPTH:
            found = _opened(rest, continues=self._paragraph and all_held and not opened)
            if not found:
                break
            holder, rest = found
            opened.append(holder)
        indent, text = _indent(rest), rest.strip(" ")
        continues = self._paragraph and not opened and bool(text)
        if continues and not all_held and (indent >= CODE_INDENT or not _begins(text)):
            return Line("text" if indent < CODE_INDENT else "indented", rest.lstrip(" "))
        kept = self._holders[:held]
        if kept and kept[-1].empty:  # it goes on, so it has text now
            kept = (*kept[:-1], kept[-1]._replace(empty=False))
        self._holders = (*kept, *opened)
        return self._leaf(indent, rest.lstrip(" "), continues=continues and all_held)

    def _leaf(self, indent: int, text: str, *, continues: bool) -> Line:
        self._paragraph = False
        if not text.strip(" \t"):
            return Line("blank")
        if indent >= CODE_INDENT:
            self._paragraph = continues
            return Line("indented", text)
        if fence := _FENCE.match(text):
            self._fence = fence[1] or fence[2]
            return Line("fenced", text)
        self._paragraph = not (_begins(text) or (continues and _UNDERLINE.match(text)))
        return Line("text", text)


def _with_blanks(line: str) -> str:
    if "\t" not in line:
        return line
    lead = _LEAD.match(line)
    assert lead is not None  # it may be empty
    return lead[0].expandtabs(CODE_INDENT) + line[lead.end() :]


def _indent(text: str) -> int:
    return len(text) - len(text.lstrip(" "))


def _begins(text: str) -> bool:
    """Whether it is something that ends a paragraph, lists and quotations apart."""
    return any(mark.match(text) for mark in (_FENCE, _HEADING, _RULE))


def _opened(rest: str, *, continues: bool) -> tuple[_Holder, str] | None:
    """The list or quotation that begins here. In a paragraph only an item begins that has text,
    and of numbers only the first."""
    if quote := _QUOTE.match(rest):
        return _Holder(), rest[quote.end() :]
    found = _MARKER.match(rest)
    if not found or _RULE.match(rest.lstrip(" ")):
        return None
    behind = rest[found.end() :]
    empty = not behind.strip(" \t")
    if continues and (empty or (found[1][0].isdigit() and int(found[1][:-1]) != 1)):
        return None
    blanks = _indent(behind)
    blanks = 1 if empty or blanks > CODE_INDENT else blanks
    return _Holder(found.end() + blanks, empty), behind[blanks:]


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
    """All of these in order."""
    fences = Fences()
    place, hidden, above = 0, -1, (-1, "")
    """Where the next line begins, where the code began that is open, and the line above."""
    while place < len(text):
        start, place = place, line_end(text, place)
        line = text[start:place].rstrip("\r\n")
        was_open = bool(fences.closing)
        if not was_open and line.startswith("<!--", min(_indent(line), 3)):
            end = text.find("-->", start)
            if end < 0:
                yield Trouble(start, "this comment is never closed")
                return
            place = line_end(text, end)
            yield Hidden(start, place)
            above = (-1, "")
            continue
        kind = fences.take(line).kind
        if hidden >= 0 and (kind != "fenced" or not was_open):
            yield Hidden(hidden, start)
            hidden = -1
        if kind == "fenced":
            hidden = start if hidden < 0 else hidden
            if was_open and not fences.closing:
                yield Hidden(hidden, place)
                hidden = -1
            above = (-1, "")
            continue
        if found := _marked(line, start, above):
            yield found
        above = (start, line)
    if hidden >= 0:
        yield Trouble(hidden, "this code block is never closed", fences.closing)


def _marked(line: str, start: int, above: tuple[int, str]) -> Mark | Trouble | None:
    if _PLAIN.match(line) or not line.strip():
        return None
    end = start + len(line)
    heading = _HEADING.match(line)
    if heading and len(heading[1]) <= SECTION_LEVELS + 1:
        text = heading_text(heading[2] or "")
        return Mark(start, end, start + heading.start(1), len(heading[1]), text)
    if line.startswith(ARCHIVED):
        return Mark(start, end, start, 0, line.rstrip())
    if _CONFLICT.match(line):
        return Trouble(start, "a merge conflict was left here")
    if _TITLE_LINE.match(line) and above[0] >= 0 and not _NO_PARAGRAPH.match(above[1]):
        return Mark(above[0], end, start, 1 if line[0] == "=" else 2, above[1].strip())
    return None


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
    hidden = []
    for found in walk(text):
        if isinstance(found, Trouble) and name:
            raise BankMalformed(name, line_of(text, found.start), found.why)
        if isinstance(found, Hidden):
            hidden.append(found)
    return hidden


def visible(text: str) -> str:
    """Without code blocks and comments."""
    if "```" not in text and "~~~" not in text and "<!--" not in text:
        return text
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
        comment = text[found.start : found.start + 8].lstrip(" ").startswith("<!--")
        if not comment or text[found.end : end].strip() or not _stands_alone(text, found.start):
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

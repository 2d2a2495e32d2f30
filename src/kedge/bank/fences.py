"""Which lines of a Markdown text are code between fences, in lists and quotations too: one reading
for all who must know. Line by line, in time that grows with the text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Literal, NamedTuple

DEPTH = 32
"""Lists and quotations in each other that are followed; readers of Markdown stop earlier."""
CODE_INDENT = 4
"""Blanks from which on a line is code by its indent, and opens nothing."""

_LEAD = re.compile(r"[ \t>*+\-0-9.)]*")
"""What lists and quotations are made of: only tabs in it count as blanks."""
_FENCE = re.compile(r"(`{3,})[^`]*\Z|(~{3,})")
_CLOSING = re.compile(r" {0,3}(`{3,}|~{3,})[ \t]*\Z")
_QUOTE = re.compile(r" {0,3}> ?")
_MARKER = re.compile(r" {0,3}([-+*]|[0-9]{1,9}[.)])(?= |\Z)")
_RULE = re.compile(r"([-*_])[ \t]*(?:\1[ \t]*){2,}\Z")
_HEADING = re.compile(r"#{1,6}(?:[ \t]|\Z)")
_UNDERLINE = re.compile(r"(?:=+|-+)[ \t]*\Z")
_PLAIN = re.compile(r"[^\s>*+\-0-9`~#=_]")
"""How most lines begin, which open and close nothing."""


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
    """Takes the lines of a text in their order."""

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
        self._hold(held, opened)
        return self._leaf(indent, rest.lstrip(" "), continues=continues and all_held)

    def _hold(self, held: int, opened: list[_Holder]) -> None:
        kept = self._holders[:held]
        if kept and kept[-1].empty:  # it goes on, so it has text now
            kept = (*kept[:-1], kept[-1]._replace(empty=False))
        self._holders = (*kept, *opened)

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


def fenced(text: str) -> Iterator[tuple[str, bool]]:
    """The lines of a text, and whether they are of a block of code."""
    fences = Fences()
    for line in text.split("\n"):
        yield line, fences.take(line).kind == "fenced"


def begins_fenced(text: str) -> bool:
    return Fences().take(text.lstrip().partition("\n")[0]).kind == "fenced"


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

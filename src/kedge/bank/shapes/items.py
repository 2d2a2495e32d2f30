"""Entries that are items of a list: where each of them ends, and how one is written."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping

from kedge.bank.shapes.fields import INDENT, Style, written
from kedge.bank.shapes.markdown import (
    Cutter,
    Hidden,
    Trouble,
    behind_blank_lines,
    line_end,
    line_of,
    walk,
)
from kedge.bank.shapes.references import LISTED, QUOTED, reference_in, reference_line
from kedge.bank.shapes.spelling import as_body
from kedge.bank.values import Document, Entry, NewEntry, Piece, Reference
from kedge.errors import BankMalformed

Reads = Callable[[re.Match[str], str, int], Entry]
"""The entry that the first line of an item, its text and its line are."""

_EDGE = re.compile(r"^(?=\S)", re.MULTILINE)
"""A line that is not indented: here an item ends."""


def first_item(text: str, first: re.Pattern[str]) -> int | None:
    """Where the first one begins."""
    place = 0
    for found in walk(text):
        if isinstance(found, Hidden):
            if item := first.search(text, place, found.start):
                return item.start()
            place = found.end
    item = first.search(text, place)
    return item.start() if item else None


def read_items(name: str, text: str, item: re.Pattern[str], reads: Reads) -> tuple[Piece, ...]:
    """The blank lines behind an item are its own, whatever follows: otherwise it would be another
    one as soon as its neighbour goes."""
    cutter = Cutter(text)
    open_at: re.Match[str] | None = None

    def close(end: int) -> None:
        nonlocal open_at
        if open_at:
            cutter.leave(open_at.start())
            cutter.put(reads(open_at, *cutter.take(end)))
        open_at = None

    for edge in _edges(name, text):
        close(edge)
        open_at = item.match(text, edge)
        if text.startswith((f"{LISTED}Archived: ", f"{QUOTED}Archived: "), edge):
            end = line_end(text, edge)
            if reference := reference_in(text[edge + len(LISTED) : end]):
                cutter.leave(edge)
                cutter.put_reference(reference, behind_blank_lines(text, end))
    close(len(text))
    return cutter.all()


def item_text(line: str, new: NewEntry, fields: Mapping[str, str], document: Document) -> str:
    """An item by its first line, with its fields and what else is said below it."""
    said = "" if new.text.rstrip(".") == new.title else as_body(new.text)
    body = "\n".join(f"{INDENT}{one}" if one else "" for one in said.split("\n"))
    below = "\n\n".join(filter(None, (written(fields, Style(bullet="  - ")), body)))
    return (f"{line}\n{below}".rstrip("\n") + "\n").replace("\n", document.newline)


def listed_reference(reference: Reference, document: Document) -> str:
    """With a blank line, as what a person wrote behind the list would become part of it."""
    return f"{LISTED}{reference_line(reference)}{document.newline}{document.newline}"


def _edges(name: str, text: str) -> Iterator[int]:
    """Lines that are not indented; of code and comments only the first."""
    place = 0
    for found in walk(text):
        if isinstance(found, Trouble):
            raise BankMalformed(name, line_of(text, found.start), found.why)
        if isinstance(found, Hidden):
            yield from (edge.start() for edge in _EDGE.finditer(text, place, found.start + 1))
            place = found.end
    yield from (edge.start() for edge in _EDGE.finditer(text, place))

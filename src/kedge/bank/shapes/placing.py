"""Where a new entry goes in a file."""

from __future__ import annotations

import re
from itertools import pairwise

from kedge.bank.shapes.checklists import Checklists
from kedge.bank.shapes.dated import Dated
from kedge.bank.shapes.dated_lists import DatedLists
from kedge.bank.shapes.json_lines import JsonLines
from kedge.bank.shapes.markdown import headings
from kedge.bank.shapes.tables import Tables, head_above
from kedge.bank.values import Document, Entry, Other

_HOME = re.compile(
    r"\b(?:entries|log|journal|history|sessions?|updates|changes|decisions|milestones)\b",
    re.IGNORECASE,
)
"""In the title of a section that is there for entries."""
LISTS = (Checklists.name, DatedLists.name)
_BLANK_LINE = ("\n\n", "\n\r\n")


def place_of_new(document: Document) -> int:
    """Before which character of the text. A dated file that has the newest on top gets it there;
    everywhere else an entry goes behind the last one."""
    place = _piece(document)
    if place is None:
        return _without_neighbours(document)
    before = document.pieces[:place]
    length = sum(len(piece.text) for piece in before)
    last = before[-1] if before else None
    if document.shape in LISTS and isinstance(last, Entry) and not is_loose(document):
        # In a list without gaps the blank lines come behind the new item.
        text = last.text
        length -= len(text) - len(text.rstrip()) - len(_end_of_line(text[len(text.rstrip()) :]))
    return length


def is_loose(document: Document) -> bool:
    """Whether the items of a list have blank lines between them."""
    return any(
        isinstance(one, Entry) and isinstance(other, Entry) and one.text.endswith(_BLANK_LINE)
        for one, other in pairwise(document.pieces)
    )


def _end_of_line(blank: str) -> str:
    return blank[: blank.find("\n") + 1]


def _piece(document: Document) -> int | None:
    """Before which piece; None where nothing in the file says it."""
    entries = [n for n, piece in enumerate(document.pieces) if isinstance(piece, Entry)]
    known = [n for n, piece in enumerate(document.pieces) if not isinstance(piece, Other)]
    if not known:
        head = head_above(document) if document.shape == Tables.name else None
        return None if head is None else head + 1
    newest_first = document.order == "newest_first"
    if document.shape == DatedLists.name and entries:
        # Its sections have lists of their own: it goes where the newest is.
        newest = document.by_age()[0]
        return document.pieces.index(newest) + (not newest_first)
    if document.shape in (Dated.name, DatedLists.name) and newest_first:
        return (entries or known)[0]
    return known[-1] + 1


def _without_neighbours(document: Document) -> int:
    """At the end of the section for entries; where there is none, before the first section, behind
    the title and what is said below it: the last section has nothing to do with entries."""
    text = document.text
    if document.shape == JsonLines.name:
        return len(text)
    found = list(headings(text))
    sections = [mark for n, mark in enumerate(found) if mark.level > 1 or n]
    for section in sections:
        if _HOME.search(section.text):
            ends = (m.start for m in found if m.start > section.start and m.level <= section.level)
            return next(ends, len(text))
    return sections[0].start if sections else len(text)

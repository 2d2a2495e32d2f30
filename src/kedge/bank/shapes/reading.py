"""Bank files read into documents, and documents with an entry more."""

from __future__ import annotations

import codecs
import re
from collections.abc import Mapping

import msgspec

from kedge.bank.shapes.checklists import Checklists
from kedge.bank.shapes.dated import Dated
from kedge.bank.shapes.dated_lists import DatedLists
from kedge.bank.shapes.decisions import Decisions
from kedge.bank.shapes.json_lines import ENDINGS, JsonLines
from kedge.bank.shapes.markdown import marked
from kedge.bank.shapes.placing import LISTS, is_loose, place_of_new
from kedge.bank.shapes.prose import Prose
from kedge.bank.shapes.protocol import Shape
from kedge.bank.shapes.tables import Tables, head_above
from kedge.bank.values import (
    ACTIVE,
    DECISIONS,
    INDEX,
    KNOWN,
    PROGRESS,
    Document,
    NewEntry,
    Other,
    known_name,
)
from kedge.errors import BankMalformed, UnknownName

BYTE_ORDER_MARK = codecs.BOM_UTF8.decode()

DATED, DECIDED, TABLES, CHECKLISTS = Dated(), Decisions(), Tables(), Checklists()
LISTED, JSON_LINES, PROSE = DatedLists(), JsonLines(), Prose()
SHAPES: tuple[Shape, ...] = (DATED, DECIDED, TABLES, CHECKLISTS, LISTED, JSON_LINES, PROSE)

_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")
_BY_NAME: Mapping[str, Shape] = {ACTIVE: DATED, DECISIONS: DECIDED, PROGRESS: TABLES}
_IN_ORDER: Mapping[str, tuple[Shape, ...]] = {
    ACTIVE: (DATED, DECIDED, LISTED),
    DECISIONS: (DECIDED, DATED, TABLES, LISTED),
}
"""What a file of that name may be; the first that it has an entry of."""


def shape_named(name: str) -> Shape:
    for shape in SHAPES:
        if shape.name == name:
            return shape
    raise UnknownName("shape", name, known=tuple(shape.name for shape in SHAPES))


def read_document(name: str, data: bytes) -> Document:
    """All of a file in pieces. Raises BankMalformed with the line where it is broken."""
    text = _decoded(name, data)
    mark = BYTE_ORDER_MARK if text.startswith(BYTE_ORDER_MARK) else ""
    text = text.removeprefix(mark)
    document = _shape_of(name, text).read(name, text)
    pieces = (Other(text=mark, line=1), *document.pieces) if mark else document.pieces
    newline = "\r\n" if text.partition("\n")[0].endswith("\r") and "\n" in text else "\n"
    return msgspec.structs.replace(document, pieces=pieces, newline=newline)


def with_entry(document: Document, new: NewEntry) -> str:
    """The whole new text. What stands in the file is not touched."""
    entry = shape_named(document.shape).entry(new, document)
    place = place_of_new(document)
    before, after = document.text[:place], document.text[place:]
    if not before.endswith(("\n", BYTE_ORDER_MARK)) and before:
        before += document.newline
    if _stands_alone(document):
        if not before.endswith(("\n\n", "\n\r\n", BYTE_ORDER_MARK)) and before:
            before += document.newline
        entry = entry.rstrip("\r\n") + document.newline * (2 if after else 1)
    return before + entry + after


def new_file(name: str) -> bytes:
    """How a file begins that is not there yet."""
    return _shape_by_name(name).head(_title(name)).encode()


def _decoded(name: str, data: bytes) -> str:
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise BankMalformed(name, line, "this is no UTF-8") from None
    if (place := text.find("\0")) >= 0:
        raise BankMalformed(name, text.count("\n", 0, place) + 1, "here is a NUL character")
    return text


def _shape_of(name: str, text: str) -> Shape:
    """By what it contains; where that is nothing of ours, by its name.

    A file may have things of several shapes. A file of entries is what its name says, if there is
    one such entry; any other is what comes first in it, as tables and boxes behind a heading with a
    date are part of that entry."""
    if name.endswith(ENDINGS) or JSON_LINES.recognises(text):
        return JSON_LINES
    if INDEX in name:
        return PROSE
    stem = _stem(name)
    if stem in KNOWN and stem != PROGRESS:
        own = (shape for shape in _IN_ORDER.get(stem, (DATED, DECIDED)) if shape.recognises(text))
        return next(own, _shape_by_name(name))
    found, above = _shape_by_name(name), text
    for shape in (DATED, DECIDED, TABLES, CHECKLISTS if stem == PROGRESS else PROSE):
        if (start := shape.starts(above)) is not None:
            found, above = shape, text[:start]
    if above is text and stem == PROGRESS and any(mark.level == 0 for mark in marked(text)):
        return DATED  # its entries had headings, and all of them were moved
    return found


def _shape_by_name(name: str) -> Shape:
    return JSON_LINES if name.endswith(ENDINGS) else _BY_NAME.get(_stem(name), PROSE)


def _stem(name: str) -> str:
    """activeContext, for activeContext.archive.md and active-context.md too."""
    stem = name.partition(".")[0]
    return known_name(stem)


def _title(name: str) -> str:
    return " ".join(word.capitalize() for word in _WORDS.findall(_stem(name)))


def _stands_alone(document: Document) -> bool:
    """Whether blank lines belong around an entry: not in a table, nor in a list that has begun
    without them."""
    if document.shape == TABLES.name:
        return head_above(document) is None
    if document.shape in LISTS:
        return next(document.entries(), None) is None or is_loose(document)
    return document.shape != JSON_LINES.name

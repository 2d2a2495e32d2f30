"""Bank files read into documents, and documents with an entry more."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Mapping
from itertools import pairwise

from msgspec.structs import replace

from kedgeline.bank import jsonl, tables
from kedgeline.bank.markdown import SECTION_LEVELS, headings, marks, visible, walk
from kedgeline.bank.shapes import (
    heading_entry,
    headings_start,
    list_entry,
    lists_start,
    markdown_reference,
    read_headings,
    read_lists,
)
from kedgeline.bank.values import (
    ACTIVE,
    DECISIONS,
    INDEX,
    JSON_ENDINGS,
    KNOWN,
    PROGRESS,
    Document,
    Entry,
    NewEntry,
    Other,
    Reference,
    Shape,
    known_name,
)
from kedgeline.errors import BankMalformed

BYTE_ORDER_MARK = codecs.BOM_UTF8.decode()

Starts = Callable[[str, str], int | None]

_BY_NAME: Mapping[str, Shape] = {ACTIVE: "headings", DECISIONS: "headings", PROGRESS: "tables"}
_STARTS: Mapping[Shape, Starts] = {
    "headings": headings_start,
    "tables": lambda _, text: tables.start(text),
    "lists": lists_start,
}
_IN_ORDER: Mapping[str, tuple[Shape, ...]] = {
    ACTIVE: ("headings", "lists"),
    DECISIONS: ("headings", "tables", "lists"),
}
"""What a file of that name may be; the first that it has an entry of."""
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")
_HOME = re.compile(
    r"\b(?:entries|log|journal|history|sessions?|updates|changes|decisions|milestones)\b",
    re.IGNORECASE,
)
"""In the title of a section that is there for entries."""
_BLANK_LINE = ("\n\n", "\n\r\n")


def read_document(name: str, data: bytes) -> Document:
    """All of a file in pieces. Raises BankMalformed with the line where it is broken."""
    text = _decoded(name, data)
    mark = BYTE_ORDER_MARK if text.startswith(BYTE_ORDER_MARK) else ""
    text = text.removeprefix(mark)
    document = read_as(_shape_of(name, text), name, text)
    pieces = (Other(text=mark, line=1), *document.pieces) if mark else document.pieces
    newline = "\r\n" if text.partition("\n")[0].endswith("\r") and "\n" in text else "\n"
    return replace(document, pieces=pieces, newline=newline)


def understood(name: str, data: bytes) -> Document:
    """A file as it is; where it cannot be understood, it is prose."""
    try:
        return read_document(name, data)
    except BankMalformed:
        text = data.decode("utf-8", "replace")
        return Document(name=name, shape="prose", pieces=(Other(text=text, line=1),))


def read_as(shape: Shape, name: str, text: str) -> Document:
    if shape == "prose":
        pieces = (Other(text=text, line=1),) if text else ()
        return Document(name=name, shape="prose", pieces=pieces)
    readers = {"headings": read_headings, "lists": read_lists, "tables": tables.read}
    return readers.get(shape, jsonl.read)(name, text)


def reference_text(reference: Reference, document: Document) -> str:
    """The line that stands for archived entries, as this file has it."""
    if document.shape == "tables":
        return tables.reference(reference, document)
    if document.shape == "json_lines":
        return jsonl.reference(reference, document)
    return markdown_reference(reference, document)


def with_entry(document: Document, new: NewEntry) -> str:
    """The whole new text. What stands in the file is not touched. An entry in a file without any is
    a dated heading. Raises BankMalformed where an open code block would swallow it."""
    if document.shape == "prose":
        for _ in marks(document.name, document.text):
            pass
    writers = {"lists": list_entry, "tables": tables.entry, "json_lines": jsonl.entry}
    entry = writers.get(document.shape, heading_entry)(new, document)
    place = _place_of_new(document)
    before, after = document.text[:place], document.text[place:]
    if not before.endswith(("\n", BYTE_ORDER_MARK)) and before:
        before += document.newline
    if _stands_alone(document):
        if not before.endswith((*_BLANK_LINE, BYTE_ORDER_MARK)) and before:
            before += document.newline
        entry = entry.rstrip("\r\n") + document.newline * (2 if after else 1)
    return before + entry + after


def new_file(name: str) -> bytes:
    """How a file begins that is not there yet."""
    shape, plain = _shape_by_name(name), known_name(name.partition(".")[0])
    if shape == "json_lines":
        return b""
    title = " ".join(word.capitalize() for word in _WORDS.findall(plain))
    head = tables.head(tables.COLUMNS) if shape == "tables" else ""
    return f"# {title}\n\n{head}".encode()


def is_unrecognised(document: Document) -> bool:
    """Whether there is text other than headings and comments, and nothing that is an entry."""
    if any(not isinstance(piece, Other) for piece in document.pieces) or document.shape == "tables":
        return False
    lines = visible(document.text.removeprefix(BYTE_ORDER_MARK)).splitlines()
    return any(line.strip() and not line.lstrip().startswith("#") for line in lines)


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
    """By what it contains; where that is nothing of ours, by its name. A file may have things of
    several shapes: one of entries is what its name says, if there is one such entry; any other is
    what comes first in it, as tables and boxes behind a heading with a date are of that entry."""
    if name.endswith(JSON_ENDINGS) or jsonl.recognises(text):
        return "json_lines"
    if INDEX in name:
        return "prose"
    plain = known_name(name.partition(".")[0])
    if plain in KNOWN and plain != PROGRESS:
        shapes = _IN_ORDER.get(plain, ("headings",))
        own = (shape for shape in shapes if _STARTS[shape](name, text) is not None)
        return next(own, _shape_by_name(name))
    found, above = _shape_by_name(name), text
    for shape in ("headings", "tables", *(("lists",) if plain == PROGRESS else ())):
        if (start := _STARTS[shape](name, above)) is not None:
            found, above = shape, text[:start]
    if above is text and plain == PROGRESS and any(_is_reference(one) for one in walk(text)):
        return "headings"  # its entries had headings, and all of them were moved
    return found


def _is_reference(found: object) -> bool:
    return getattr(found, "level", None) == 0


def _shape_by_name(name: str) -> Shape:
    plain = known_name(name.partition(".")[0])
    return "json_lines" if name.endswith(JSON_ENDINGS) else _BY_NAME.get(plain, "prose")


def _stands_alone(document: Document) -> bool:
    """Whether blank lines belong around an entry: not in a table, nor in a list that has begun
    without them."""
    if document.shape == "tables":
        return tables.head_above(document) is None
    if document.shape == "lists":
        return next(document.entries(), None) is None or _is_loose(document)
    return document.shape != "json_lines"


def _is_loose(document: Document) -> bool:
    """Whether the items of a list have blank lines between them."""
    return any(
        isinstance(one, Entry) and isinstance(other, Entry) and one.text.endswith(_BLANK_LINE)
        for one, other in pairwise(document.pieces)
    )


def _place_of_new(document: Document) -> int:
    """Before which character of the text. A dated file that has the newest on top gets it there;
    everywhere else an entry goes behind the last one."""
    place = _piece_of_new(document)
    if place is None:
        return _without_neighbours(document)
    before = document.pieces[:place]
    length = sum(len(piece.text) for piece in before)
    last = before[-1] if before else None
    if document.shape == "lists" and isinstance(last, Entry) and not _is_loose(document):
        # in a list without gaps the blank lines come behind the new item
        bare = last.text.rstrip()
        blank = last.text[len(bare) :]
        length -= len(blank) - (blank.find("\n") + 1)
    return length


def _piece_of_new(document: Document) -> int | None:
    """Before which piece; None where nothing in the file says it."""
    entries = [n for n, piece in enumerate(document.pieces) if isinstance(piece, Entry)]
    known = [n for n, piece in enumerate(document.pieces) if not isinstance(piece, Other)]
    if not known:
        head = tables.head_above(document) if document.shape == "tables" else None
        return None if head is None else head + 1
    newest_first = document.order == "newest_first"
    if (
        document.shape == "lists"
        and known_name(document.name.partition(".")[0]) != PROGRESS
        and entries
    ):
        # its sections have lists of their own: it goes where the newest is
        return document.pieces.index(document.by_age()[0]) + (not newest_first)
    return (entries or known)[0] if newest_first else known[-1] + 1


def _without_neighbours(document: Document) -> int:
    """At the end of the section for entries; where there is none, before the first section, behind
    the title and what is said below it: the last section has nothing to do with entries."""
    text = document.text
    if document.shape == "json_lines":
        return len(text)
    found = headings(text)
    # a smaller heading would become the new entry's own
    sections = [m for n, m in enumerate(found) if (m.level > 1 or n) and m.level <= SECTION_LEVELS]
    for section in sections:
        if _HOME.search(section.text):
            ends = (m.start for m in found if m.start > section.start and m.level <= section.level)
            return next(ends, len(text))
    return sections[0].start if sections else len(text)

"""Entries that begin with a heading: where each of them ends, and how a new one is put together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from kedge.bank.shapes.fields import Style, is_known, joined_sources, style_of, written
from kedge.bank.shapes.footers import before_footer
from kedge.bank.shapes.markdown import SECTION_LEVELS, Cutter, Mark, with_blank_lines
from kedge.bank.shapes.references import QUOTED, reference_in, reference_line
from kedge.bank.shapes.spelling import as_body, as_value
from kedge.bank.values import Document, Entry, NewEntry, Piece, Reference

Opens = Callable[[Mark], bool]
"""Whether a heading begins an entry."""
Reads = Callable[[Mark, str, int], Entry]
"""The entry that a heading, its text and its line are."""


def read_blocks(text: str, found: Iterable[Mark], opens: Opens, reads: Reads) -> tuple[Piece, ...]:
    """An entry ends at the next heading of the same or a higher level, at another entry, at a
    reference, or where the file or the section ends, and before the footer that this may have. A
    line that only looks like a reference ends nothing, nor does a small heading."""
    cutter = Cutter(text)
    open_at: Mark | None = None

    def close(end: int, *, last: bool = False) -> None:
        nonlocal open_at
        if open_at:
            cutter.leave(open_at.start)
            if last:
                end = open_at.start + before_footer(text[open_at.start : end])
            cutter.put(reads(open_at, *cutter.take(end)))
        open_at = None

    for mark in found:
        if mark.level == 0:
            end = with_blank_lines(text, mark.end)
            if reference := reference_in(mark.text.removeprefix(QUOTED)):
                close(mark.start)
                cutter.leave(mark.start)
                cutter.put_reference(reference, end)
        elif opens(mark):
            close(mark.start)
            open_at = mark
        elif open_at and mark.level <= min(open_at.level, SECTION_LEVELS):
            close(mark.start, last=True)
    close(len(text), last=True)
    return cutter.all()


def quoted_reference(reference: Reference, document: Document) -> str:
    """A line of its own and a blank one, without which two of them would be one paragraph."""
    newline = document.newline
    return f"{QUOTED}{reference_line(reference)}{newline}{newline}"


def block(heading: str, fields: Mapping[str, str], new: NewEntry, document: Document) -> str:
    """An entry, with a blank line behind it."""
    neighbour = neighbour_of(document)
    style = style_of(neighbour.text.partition("\n")[2]) if neighbour else Style()
    parts = (heading, written(fields, style), as_body(new.text))
    text = "\n\n".join(filter(None, parts)) + "\n\n"
    return text.replace("\n", document.newline)


def usual_fields(new: NewEntry, **first: str) -> dict[str, str]:
    """Those given first, then the entry's further ones, then what all entries have. A further one
    with a name that an entry's own values go by would be read instead of them."""
    own = {name: as_body(value) for name, value in new.fields.items() if not is_known(name)}
    status = new.status or as_value(new.fields.get("Status", ""))
    last = {"Status": status, "Summary": new.summary, "Sources": joined_sources(new.sources)}
    return {**first, **own, **last}


def neighbour_of(document: Document) -> Entry | None:
    """The entry that a new one will stand beside."""
    newest_first = document.order == "newest_first"
    pieces = document.pieces if newest_first else reversed(document.pieces)
    return next((piece for piece in pieces if isinstance(piece, Entry)), None)


def first_line(entry: Entry) -> str:
    return entry.text.partition("\n")[0]


def hashes_of(neighbour: Entry | None) -> str:
    """The marks of a heading beside it; one that is underlined with dashes is of the second
    level."""
    if neighbour is None:
        return "###"
    line = first_line(neighbour).lstrip()
    return "#" * (len(line) - len(line.lstrip("#"))) or "##"

"""Decisions: `### DEC-001: title` with a field for each thing that is said about it.

A new one always goes behind the last: the log is append-only."""

from __future__ import annotations

import re

import msgspec

from kedge.bank.shapes.blocks import (
    block,
    hashes_of,
    neighbour_of,
    quoted_reference,
    read_blocks,
    usual_fields,
)
from kedge.bank.shapes.fields import is_done, read_fields, split_sources
from kedge.bank.shapes.markdown import Mark, heading_text, headings, marks
from kedge.bank.shapes.numbering import next_id
from kedge.bank.shapes.spelling import clean, titled
from kedge.bank.shapes.times import moment, short
from kedge.bank.values import Document, Entry, NewEntry, Reference
from kedge.errors import BadName

PREFIX = "DEC-"
LEVELS = (2, 3)
"""Of headings that a decision may have."""

_ID = r"(?:DEC|ADR)-[0-9]{1,12}(?:-[0-9]{1,12})?[a-z]?"
_DECISION_ID = re.compile(_ID)
_HEADING = re.compile(rf"(?:\[({_ID})\]|({_ID})(?=[\s:,–—-]|$))\s*[-–—:,]*\s*(.*)")
_DAY = re.compile(r"[A-Z]+-([0-9]{4})([0-9]{2})([0-9]{2})-")


class Decisions:
    name = "decisions"

    def recognises(self, text: str) -> bool:
        return self.starts(text) is not None

    def starts(self, text: str) -> int | None:
        """Where the first entry begins."""
        return next((mark.start for mark in headings(text) if _opens(mark)), None)

    def read(self, name: str, text: str) -> Document:
        pieces = read_blocks(text, marks(name, text), _opens, _entry)
        return Document(name=name, shape=self.name, pieces=pieces, order="oldest_first")

    def entry(self, new: NewEntry, document: Document) -> str:
        new = numbered(titled(clean(new)), document)
        heading = f"{new.id}: {new.title}"
        read = _HEADING.match(heading_text(heading))
        kept = read is not None and read[3].strip() == new.title
        fields = usual_fields(
            new,
            Date=short(new.at),
            Agent=new.agent,
            Title="" if kept else new.title,
        )
        return block(
            f"{hashes_of(neighbour_of(document))} {heading if kept else new.id}",
            fields,
            new,
            document,
        )

    def reference(self, reference: Reference, document: Document) -> str:
        return quoted_reference(reference, document)

    def head(self, title: str) -> str:
        return f"# {title}\n\n"


def numbered(new: NewEntry, document: Document) -> NewEntry:
    """With the next number of the file. Raises BadName where one was given that cannot be."""
    if not new.id:
        ids = [entry.id for entry in document.entries()]
        return msgspec.structs.replace(new, id=next_id(ids, new.at, prefix=PREFIX))
    if not _DECISION_ID.fullmatch(new.id):
        raise BadName(
            "decision", new.id, "has no number such as DEC-001, and without one it gets it"
        )
    for entry in document.entries():
        if entry.id == new.id:
            raise BadName(
                "decision",
                new.id,
                f"stands in line {entry.line} of {document.name} already, and without one it gets "
                f"the next",
            )
    return new


def _opens(mark: Mark) -> bool:
    return mark.level in LEVELS and _HEADING.match(mark.text) is not None


def _entry(mark: Mark, text: str, line: int) -> Entry:
    heading = _HEADING.match(mark.text)
    assert heading is not None
    number = heading[1] or heading[2]
    fields = read_fields(text)
    at = moment(fields.get("at", ""))
    if at is None and (day := _DAY.match(number)):
        at = moment("-".join(day.groups()))
    status = fields.get("status", "")
    return Entry(
        text=text,
        line=line,
        id=number,
        at=at,
        agent=fields.get("agent", ""),
        title=heading[3].strip() or fields.get("title", ""),
        status=status,
        done=is_done(status),
        sources=split_sources(fields.get("sources", "")),
        summary=fields.get("summary", ""),
    )

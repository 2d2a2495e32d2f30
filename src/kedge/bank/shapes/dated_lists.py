"""Entries as items with a date: `- [2026-02-23 10:00:00] - what was done`, in the sections of an
active context or a decision log."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import pairwise
from textwrap import dedent

from kedge.bank.shapes.blocks import first_line, neighbour_of, usual_fields
from kedge.bank.shapes.dated import order_of
from kedge.bank.shapes.fields import is_done, read_fields, split_sources
from kedge.bank.shapes.items import first_item, item_text, listed_reference, read_items
from kedge.bank.shapes.spelling import clean, titled
from kedge.bank.shapes.times import day, has_clock, moment, stamp
from kedge.bank.values import Document, Entry, NewEntry, Order, Piece, Reference

_DATE = r"\[(?P<at>[0-9]{4}[-/][0-9]{2}[-/][0-9]{2}(?:[T ][0-9][0-9:.]{3,14}[^\]\n]{0,10})?)\]"
_ITEM = re.compile(
    rf"[-*+] +{_DATE}(?![(\[])(?:[ \t]*[-–—:]+(?=\s))?[ \t]*(?P<title>[^\n]*?)[ \t]*(?=\r?$)",
    re.MULTILINE,
)
_FIRST = re.compile(rf"^(?:[-*+] +{_DATE}(?![(\[])|- Archived: [0-9])", re.MULTILINE)
"""An item, or what is left of a list of which all items were moved."""


class DatedLists:
    name = "dated_lists"

    def recognises(self, text: str) -> bool:
        return self.starts(text) is not None

    def starts(self, text: str) -> int | None:
        """Where the first item begins."""
        return first_item(text, _FIRST)

    def read(self, name: str, text: str) -> Document:
        pieces = read_items(name, text, _ITEM, _entry)
        return Document(name=name, shape=self.name, pieces=pieces, order=_order_of(pieces))

    def entry(self, new: NewEntry, document: Document) -> str:
        new = titled(clean(new))
        neighbour = neighbour_of(document)
        found = _ITEM.match(first_line(neighbour)) if neighbour else None
        clock = found is None or has_clock(found["at"])
        line = f"- [{stamp(new.at) if clock else day(new.at).isoformat()}] - {new.title}"
        read = _ITEM.match(line)
        kept = read is not None and read["title"] == new.title
        fields = usual_fields(
            new,
            Time="" if moment(line[3 : line.index("]")]) == new.at else stamp(new.at),
            Id=new.id,
            Agent=new.agent,
            Title="" if kept else new.title,
        )
        return item_text(line, new, fields, document)

    def reference(self, reference: Reference, document: Document) -> str:
        return listed_reference(reference, document)

    def head(self, title: str) -> str:
        return f"# {title}\n\n"


def _order_of(pieces: Sequence[Piece]) -> Order:
    """By the lists themselves; where they do not tell, by the whole file."""
    rising = 0
    for one, other in pairwise(pieces):
        if isinstance(one, Entry) and isinstance(other, Entry) and one.at and other.at:
            rising += (one.at < other.at) - (one.at > other.at)
    if not rising:
        return order_of(pieces)
    return "oldest_first" if rising > 0 else "newest_first"


def _entry(item: re.Match[str], text: str, line: int) -> Entry:
    below = text.partition("\n")[2].replace("\r\n", "\n")
    fields = read_fields(dedent(below)) if below else {}
    at, exact = moment(item["at"]), moment(fields.get("at", ""))
    if exact and (at is None or (exact.date() == at.date() and not has_clock(item["at"]))):
        at = exact
    status = fields.get("status", "")
    return Entry(
        text=text,
        line=line,
        id=fields.get("id", ""),
        at=at,
        agent=fields.get("agent", ""),
        title=fields.get("title", "") or item["title"],
        status=status,
        done=is_done(status),
        sources=split_sources(fields.get("sources", "")),
        summary=fields.get("summary", ""),
    )

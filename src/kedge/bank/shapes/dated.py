"""Entries under headings with a date: `### [2026-02-23T00:00:00Z] agent`, `### 2026-02-23 - title`.

The newest stands on top or at the end, whichever the file has."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from functools import partial
from itertools import pairwise

from kedge.bank.shapes.blocks import (
    block,
    first_line,
    hashes_of,
    neighbour_of,
    quoted_reference,
    read_blocks,
    usual_fields,
)
from kedge.bank.shapes.date_headings import (
    dated_headings,
    heading_in,
    level_of_entries,
    names_a_date,
)
from kedge.bank.shapes.fields import is_done, read_fields, split_sources
from kedge.bank.shapes.markdown import Mark, heading_text, headings, marks
from kedge.bank.shapes.spelling import clean
from kedge.bank.shapes.times import day, moment, stamp
from kedge.bank.values import Document, Entry, NewEntry, Order, Other, Piece, Reference
from kedge.errors import BankMalformed

SHOWN = 40
"""Characters of a wrong heading in a message."""

_NUMBER = re.compile(r"[0-9]{1,9}")


class Dated:
    name = "dated"

    def recognises(self, text: str) -> bool:
        return self.starts(text) is not None

    def starts(self, text: str) -> int | None:
        """Where the first entry begins."""
        return next((mark.start for mark in dated_headings(headings(text))), None)

    def read(self, name: str, text: str) -> Document:
        found = list(marks(name, text))
        level = level_of_entries(dated_headings(found))
        pieces = read_blocks(
            text,
            found,
            lambda mark: mark.level == level and names_a_date(mark),
            partial(_entry, name),
        )
        return Document(name=name, shape=self.name, pieces=pieces, order=order_of(pieces))

    def entry(self, new: NewEntry, document: Document) -> str:
        new = clean(new)
        neighbour = neighbour_of(document)
        found = heading_in(heading_text(first_line(neighbour))) if neighbour else None
        brackets, clock = (found.brackets, found.clock) if found else (True, True)
        heading, fields = _written(new, brackets=brackets, clock=clock)
        return block(f"{hashes_of(neighbour)} {heading}", fields, new, document)

    def reference(self, reference: Reference, document: Document) -> str:
        return quoted_reference(reference, document)

    def head(self, title: str) -> str:
        return f"# {title}\n\n"


def order_of(pieces: Sequence[Piece]) -> Order:
    """By the times of neighbours; where they say nothing, as all are of one day, by their numbers,
    then by the place of references, which stand for what is older. Newest first if nothing
    tells."""
    entries = [piece for piece in pieces if isinstance(piece, Entry)]
    known = [piece for piece in pieces if not isinstance(piece, Other)]
    times = [entry.at for entry in entries if entry.at]
    rising = (
        _rising(times)
        or _rising([number for entry in entries if (number := _number(entry)) is not None])
        or _rising([times[0], times[-1]] if times else [])
        or isinstance(known[0] if known else None, Reference)
        - isinstance(known[-1] if known else None, Reference)
    )
    return "oldest_first" if rising > 0 else "newest_first"


def _rising(values: Sequence[datetime] | Sequence[int]) -> int:
    """How many more neighbours rise than fall."""
    return sum((a < b) - (a > b) for a, b in pairwise(values))  # type: ignore[operator]


def _number(entry: Entry) -> int | None:
    """Of its id, or the only one in its title: `Step 3`."""
    found = _NUMBER.findall(entry.id)[-1:] if entry.id else _NUMBER.findall(entry.title)
    return int(found[0]) if len(found) == 1 else None


def _written(new: NewEntry, *, brackets: bool, clock: bool) -> tuple[str, dict[str, str]]:
    """The heading, and as fields what it has no place for: read again, it must say the same."""
    when = stamp(new.at) if clock else day(new.at).isoformat()
    when = f"[{when}]" if brackets else when
    separator = " — " if clock else " " if brackets else " - "
    title = f"{separator}{new.title}" if new.title else ""
    agent = f" {new.agent}" if new.agent else ""
    for rest in (f"{agent}{title}", agent, title, ""):
        found = heading_in(heading_text(when + rest))
        if found and found.agent in ("", new.agent) and found.title in ("", new.title):
            break
    assert found is not None
    first = {
        "Time": "" if found.at == new.at else stamp(new.at),
        "Id": new.id,
        "Agent": "" if found.agent == new.agent else new.agent,
        "Title": "" if found.title == new.title else new.title,
    }
    return when + rest, usual_fields(new, **first)


def _entry(name: str, mark: Mark, text: str, line: int) -> Entry:
    """Raises BankMalformed where the date of a heading is none."""
    heading = heading_in(mark.text)
    if heading is None:
        shown = f"{mark.text[:SHOWN]!r} begins with no date such as 2026-02-23"
        raise BankMalformed(name, line, f"{shown} or [2026-02-23T14:05:00Z]")
    fields = read_fields(text)
    exact = moment(fields.get("at", ""))
    same_day = exact is not None and exact.date() == heading.at.date() and not heading.clock
    status = fields.get("status", "")
    return Entry(
        text=text,
        line=line,
        id=fields.get("id", ""),
        at=exact if same_day else heading.at,
        agent=heading.agent or fields.get("agent", ""),
        title=heading.title or fields.get("title", ""),
        status=status,
        done=is_done(status),
        sources=split_sources(fields.get("sources", "")),
        summary=fields.get("summary", ""),
    )

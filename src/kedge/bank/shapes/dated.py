"""Entries under headings with a date: `### [2026-02-23T00:00:00Z] agent`, `### 2026-02-23 - title`.

The newest stands on top or at the end, whichever the file has."""

from __future__ import annotations

import re
from collections.abc import Iterable
from datetime import datetime
from functools import partial
from itertools import pairwise
from typing import NamedTuple

from kedge.bank.shapes.blocks import (
    block,
    first_line,
    hashes_of,
    neighbour_of,
    quoted_reference,
    read_blocks,
    usual_fields,
)
from kedge.bank.shapes.fields import is_done, read_fields, split_sources
from kedge.bank.shapes.markdown import Mark, heading_text, headings, marks
from kedge.bank.shapes.spelling import clean
from kedge.bank.shapes.times import day, has_clock, like_a_date, moment, stamp
from kedge.bank.values import Document, Entry, NewEntry, Order, Reference
from kedge.errors import BankMalformed

SHOWN = 40
"""Characters of a wrong heading in a message."""
LEVELS = (3, 2)
"""Of the headings of entries. Where a file has both, those of the third are entries, and the others
are sections such as `## 2026-02-23`."""

_BRACKETS = re.compile(r"\[([^\]\n]{1,80})\](.*)")
_PLAIN = re.compile(
    r"([0-9]{4}-[0-9]{1,2}-[0-9]{1,2}(?:[T ][0-9]{1,2}:[0-9]\S*)?)((?=[\s:,–—-]).*)?"
)
_SEPARATOR = re.compile(r"\s+[-–—]\s+|:\s+|\s*[–—]\s*")
_LEADING = re.compile(r"\s*[-–—:,]*\s*")


class Heading(NamedTuple):
    at: datetime
    agent: str
    title: str
    brackets: bool
    clock: bool


class Dated:
    name = "dated"

    def recognises(self, text: str) -> bool:
        return self.starts(text) is not None

    def starts(self, text: str) -> int | None:
        """Where the first entry begins."""
        return next((mark.start for mark in headings(text) if _names_a_date(mark)), None)

    def read(self, name: str, text: str) -> Document:
        found = list(marks(name, text))
        level = max((mark.level for mark in found if _names_a_date(mark)), default=0)
        pieces = read_blocks(
            text,
            found,
            lambda mark: mark.level == level and _names_a_date(mark),
            partial(_entry, name),
        )
        order = order_of(piece.at for piece in pieces if isinstance(piece, Entry))
        return Document(name=name, shape=self.name, pieces=pieces, order=order)

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


def heading_in(text: str) -> Heading | None:
    """What a heading says; None where it names no time. A time of day in brackets is followed by
    an agent, a mere date by a title."""
    if found := _BRACKETS.match(text):
        when, brackets = found[1], True
    elif found := _PLAIN.fullmatch(text):
        when, brackets = found[1], False
    else:
        return None
    at = moment(when)
    if at is None:
        return None
    rest, clock = found[2] or "", has_clock(when)
    title = _LEADING.sub("", rest, count=1).strip()
    if not (brackets and clock) or _SEPARATOR.match(rest):
        return Heading(at, "", title, brackets, clock)
    agent, *titles = _SEPARATOR.split(title, maxsplit=1)
    return Heading(at, agent.strip(), "".join(titles).strip(), brackets, clock)


def order_of(times: Iterable[datetime | None]) -> Order:
    """Newest first, unless more neighbours say otherwise."""
    known = [at for at in times if at]
    rising = sum((a < b) - (a > b) for a, b in pairwise(known))
    return "oldest_first" if rising > 0 else "newest_first"


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


def _names_a_date(mark: Mark) -> bool:
    if mark.level not in LEVELS:
        return False
    found = _BRACKETS.match(mark.text) or _PLAIN.fullmatch(mark.text)
    return found is not None and like_a_date(found[1])


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

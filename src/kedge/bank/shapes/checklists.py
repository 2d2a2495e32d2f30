"""Progress as a list of boxes: `- [x] M-1: title (2026-01-02, agent)`, with what belongs to an item
indented below it."""

from __future__ import annotations

import re
from datetime import datetime
from textwrap import dedent
from typing import NamedTuple

from kedge.bank.shapes.blocks import usual_fields
from kedge.bank.shapes.fields import is_done, read_fields, split_sources
from kedge.bank.shapes.items import first_item, item_text, listed_reference, read_items
from kedge.bank.shapes.markdown import visible
from kedge.bank.shapes.spelling import clean, titled
from kedge.bank.shapes.times import moment, stamp
from kedge.bank.values import Document, Entry, NewEntry, Reference

OPEN, DONE = "open", "completed"
"""What a box says, where the item names no status."""

_ITEM = re.compile(r"[-*+] +\[(?P<box>[ xX])\](?: +(?P<rest>[^\n]*))?(?=\r?$)", re.MULTILINE)
_FIRST = re.compile(r"^(?:[-*+] +\[[ xX]\] |- Archived: [0-9])", re.MULTILINE)
"""An item, or what is left of a list of which all items were moved."""
_OPEN_BELOW = re.compile(r"^[ \t]+[-*+] +\[ \] ", re.MULTILINE)
_ID = re.compile(r"(?:\*\*)?(?P<id>[A-Za-z][\w.]*-[0-9][\w.-]*)(?:\*\*)?:(?:\*\*)? +")
_TAIL = re.compile(r"(?:^| )\((?P<at>[0-9][^(),]{7,40})(?:, (?P<agent>[^()]{0,200}))?\)$")
_DAY = r"([0-9]{4}-[0-9]{2}-[0-9]{2})(?![\w-])"
_REACHED = r"(?:done|completed|complete|finished|closed|merged|shipped|on|✅)"
_DATES = (
    re.compile(rf"[\[(*_]*{_DAY}"),
    re.compile(rf"[\[(](?:[^()\[\]]* )?(?:{_REACHED}:? +)?{_DAY}(?:[T ,][^()\[\]]*)?[)\]]\W*$"),
    re.compile(rf"(?<!\w){_REACHED}:?[*_]* +{_DAY}", re.IGNORECASE),
    re.compile(rf" [-–—] +{_DAY}$"),
)
"""A date that says when: at the beginning or the end of an item, or behind a word that says so. Any
other is part of what was done: `Import the 2019-01-01 dump`."""


class Item(NamedTuple):
    id: str
    title: str
    agent: str
    at: datetime | None


class Checklists:
    name = "checklists"

    def recognises(self, text: str) -> bool:
        return self.starts(text) is not None

    def starts(self, text: str) -> int | None:
        """Where the first item begins."""
        return first_item(text, _FIRST)

    def read(self, name: str, text: str) -> Document:
        pieces = read_items(name, text, _ITEM, _entry)
        return Document(name=name, shape=self.name, pieces=pieces, order="oldest_first")

    def entry(self, new: NewEntry, document: Document) -> str:
        new = titled(clean(new))
        status = new.status or new.fields.get("Status", "")
        box = "x" if is_done(status) else " "
        rest, fields = _written(new)
        if status in (OPEN, DONE):
            fields["Status"] = ""
        return item_text(f"- [{box}] {rest}", new, fields, document)

    def reference(self, reference: Reference, document: Document) -> str:
        return listed_reference(reference, document)

    def head(self, title: str) -> str:
        return f"# {title}\n\n"


def _item(rest: str) -> Item:
    rest = rest.strip()
    found, tail = _ID.match(rest), _TAIL.search(rest)
    at = moment(tail["at"]) if tail else None
    end = tail.start() if tail and at else len(rest)
    title = rest[found.end() if found else 0 : end].strip()
    if at is None:
        at = _said_when(rest[found.end() if found else 0 :])
        tail = None
    return Item(found["id"] if found else "", title, (tail["agent"] or "") if tail else "", at)


def _said_when(rest: str) -> datetime | None:
    first, *others = _DATES
    found = first.match(rest) or next(filter(None, (one.search(rest) for one in others)), None)
    return moment(found[1]) if found else None


def _written(new: NewEntry) -> tuple[str, dict[str, str]]:
    """The item's line, and as fields what it has no place for: read again, it must say the same."""
    agent = f", {new.agent}" if new.agent else ""
    name = f"{new.id}: " if new.id else ""
    for rest in (
        f"{name}{new.title} ({stamp(new.at)}{agent})",
        f"{new.title} ({stamp(new.at)}{agent})",
        f"{name}{new.title} ({stamp(new.at)})",
        f"({stamp(new.at)})",
    ):
        found = _item(rest)
        if all(a in ("", b) for a, b in zip(found, (new.id, new.title, new.agent), strict=False)):
            break
    first = {
        "Id": "" if found.id == new.id else new.id,
        "Agent": "" if found.agent == new.agent else new.agent,
        "Title": "" if found.title == new.title else new.title,
    }
    return rest, usual_fields(new, **first)


def _entry(item: re.Match[str], text: str, line: int) -> Entry:
    found = _item(item["rest"] or "")
    below = text.partition("\n")[2].replace("\r\n", "\n")
    fields = read_fields(dedent(below)) if below else {}
    done = item["box"] in "xX" and not _OPEN_BELOW.search(visible(below))
    return Entry(
        text=text,
        line=line,
        id=found.id or fields.get("id", ""),
        at=found.at or moment(fields.get("at", "")),
        agent=found.agent or fields.get("agent", ""),
        title=found.title or fields.get("title", ""),
        status=fields.get("status", DONE if done else OPEN),
        done=done,
        sources=split_sources(fields.get("sources", "")),
        summary=fields.get("summary", ""),
    )

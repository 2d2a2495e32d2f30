"""Progress as a list of boxes: `- [x] M-1: title (2026-01-02, agent)`, with what belongs to an item
indented below it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from textwrap import dedent
from typing import NamedTuple

from kedge.bank.shapes.blocks import usual_fields
from kedge.bank.shapes.fields import INDENT, Style, is_done, read_fields, split_sources, written
from kedge.bank.shapes.markdown import Cutter, Hidden, Trouble, line_end, line_of, walk
from kedge.bank.shapes.references import LISTED, QUOTED, reference_in, reference_line
from kedge.bank.shapes.spelling import as_body, clean, titled
from kedge.bank.shapes.times import moment, stamp
from kedge.bank.values import Document, Entry, NewEntry, Reference
from kedge.errors import BankMalformed

OPEN, DONE = "open", "completed"
"""What a box says, where the item names no status."""

_EDGE = re.compile(r"^(?=\S)", re.MULTILINE)
"""A line that is not indented: here an item ends."""
_ITEM = re.compile(r"[-*+] +\[(?P<box>[ xX])\](?: +(?P<rest>[^\n]*))?(?=\r?$)", re.MULTILINE)
_FIRST = re.compile(r"^[-*+] +\[[ xX]\] ", re.MULTILINE)
_ID = re.compile(r"(?:\*\*)?(?P<id>[A-Za-z][\w.]*-[0-9][\w.-]*)(?:\*\*)?:(?:\*\*)? +")
_TAIL = re.compile(r"(?:^| )\((?P<at>[0-9][^(),]{7,40})(?:, (?P<agent>[^()]{0,200}))?\)$")
_DATE = re.compile(r"(?<![\w-])[0-9]{4}-[0-9]{2}-[0-9]{2}(?![\w-])")


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
        place = 0
        for found in walk(text):
            if isinstance(found, Hidden):
                if item := _FIRST.search(text, place, found.start):
                    return item.start()
                place = found.end
        item = _FIRST.search(text, place)
        return item.start() if item else None

    def read(self, name: str, text: str) -> Document:
        cutter = Cutter(text)
        open_at: re.Match[str] | None = None

        def close(end: int, *, item_follows: bool) -> None:
            nonlocal open_at
            if open_at:
                start = open_at.start()
                if not item_follows:  # blank lines before something else are its own
                    end = line_end(text, start + len(text[start:end].rstrip()))
                cutter.leave(start)
                cutter.put(_entry(open_at, *cutter.take(end)))
            open_at = None

        for edge in _edges(name, text):
            item = _ITEM.match(text, edge)
            close(edge, item_follows=item is not None)
            open_at = item
            if text.startswith((f"{LISTED}Archived: ", f"{QUOTED}Archived: "), edge):
                end = line_end(text, edge)
                if reference := reference_in(text[edge + len(LISTED) : end]):
                    cutter.leave(edge)
                    cutter.put_reference(reference, end)
        close(len(text), item_follows=False)
        return Document(name=name, shape=self.name, pieces=cutter.all(), order="oldest_first")

    def entry(self, new: NewEntry, document: Document) -> str:
        new = titled(clean(new))
        status = new.status or new.fields.get("Status", "")
        box = "x" if is_done(status) else " "
        rest, fields = _written(new)
        if status in (OPEN, DONE):
            fields["Status"] = ""
        said = "" if new.text.rstrip(".") == new.title else as_body(new.text)
        body = [f"{INDENT}{line}" if line else "" for line in said.split("\n")]
        parts = (written(fields, Style(bullet="  - ")), "\n".join(body))
        below = "\n\n".join(filter(None, parts))
        text = f"- [{box}] {rest}\n{below}".rstrip("\n") + "\n"
        return text.replace("\n", document.newline)

    def reference(self, reference: Reference, document: Document) -> str:
        return f"{LISTED}{reference_line(reference)}{document.newline}"

    def head(self, title: str) -> str:
        return f"# {title}\n\n"


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


def _item(rest: str) -> Item:
    rest = rest.strip()
    found, tail = _ID.match(rest), _TAIL.search(rest)
    at = moment(tail["at"]) if tail else None
    end = tail.start() if tail and at else len(rest)
    title = rest[found.end() if found else 0 : end].strip()
    if at is None and (date := _DATE.search(rest)):
        at = moment(date[0])
        tail = None
    return Item(found["id"] if found else "", title, (tail["agent"] or "") if tail else "", at)


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
    done = item["box"] in "xX"
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

"""Progress or decisions as tables: every row is an entry. Columns stand in any order; those that
nobody knows stay as they are. What a table has no column for is not written."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import zip_longest
from typing import NamedTuple

from msgspec.structs import replace

from kedgeline.bank.fields import (
    NAMES,
    as_value,
    clean,
    is_done,
    joined_sources,
    moment,
    next_id,
    reference_in,
    reference_line,
    short,
    split_sources,
    titled,
)
from kedgeline.bank.markdown import Cutter, Hidden, hidden_in, line_end, line_of
from kedgeline.bank.values import Document, Entry, NewEntry, Other, Reference
from kedgeline.errors import BankMalformed

COLUMNS = (
    *("task_id", "title", "status", "agent", "milestone_severity", "updated_at"),
    *("sources", "summary_128", "notes"),
)
"""Of a new table: the seed's, and a place for the rest of what an entry has."""

_MEANT: Mapping[str, str] = {
    **{name.replace(" ", "_"): field for field, names in NAMES.items() for name in names},
    **dict.fromkeys(("task", "milestone", "name", "item", "feature"), "title"),
    "decision": "title",
    **dict.fromkeys(("last_updated", "completed_at", "completed_on", "done_at"), "at"),
    **dict.fromkeys(("owner", "assignee", "assigned_to"), "agent"),
    **dict.fromkeys(("notes", "note", "details", "description", "comment", "comments"), "text"),
    **dict.fromkeys(("rationale", "reason"), "text"),
}
_SAID = ("decision", "rationale")
"""Columns that say what a field of the same name says, rather than the title and the text."""
_DELIMITER = re.compile(
    r"^ {0,3}(?=[|:-])\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*+\|?[ \t]*(?=\r?$)",
    re.MULTILINE,
)
_CELL = re.compile(r"(?:[^|\\]|\\.|\\)*+")
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
_ID_AND_TITLE = re.compile(r"([\w.-]*[0-9][\w.-]*): (.+)")
_GAP = re.compile(r"(?:[ \t]*\r?\n| {0,3}<!--(?:(?!-->)[^\n])*-->[ \t]*\r?\n)*+(?=\|)")
"""A comment or blank lines that a person put between two rows."""


class Head(NamedTuple):
    """Of a table: where it begins, where its rows do, and what its columns mean."""

    start: int
    end: int
    columns: tuple[str, ...]
    """As they are named, in lower case and without blanks."""

    @property
    def fields(self) -> dict[str, int]:
        """What an entry has, and in which column."""
        found: dict[str, int] = {}
        for place, name in enumerate(self.columns):
            found.setdefault(_MEANT.get(name, ""), place)
        return found


def start(text: str) -> int | None:
    """Where the first table of ours begins."""
    return next((one.start for one in heads(text, hidden_in("", text))), None)


def read(name: str, text: str) -> Document:
    cutter = Cutter(text)
    found = list(heads(text, hidden_in(name, text)))
    for one, following in zip_longest(found, found[1:]):
        cutter.leave(one.end)
        _read_rows(name, text, one, following.start if following else len(text), cutter)
    return Document(name=name, shape="tables", pieces=cutter.all())


def entry(new: NewEntry, document: Document) -> str:
    new, place = titled(clean(new)), head_above(document)
    if place is None:
        text = head(COLUMNS) + _row(_cells_of(new, COLUMNS, document))
    else:
        found = _last_head(document.pieces[place].text)
        assert found is not None
        text = _row(_cells_of(new, found.columns, document))
    return text.replace("\n", document.newline)


def reference(reference: Reference, document: Document) -> str:
    """A row: a line of another kind would end the table."""
    place = head_above(document)
    found = _last_head(document.pieces[place].text) if place is not None else None
    width = len(found.columns) if found else len(COLUMNS)
    cells = [_escaped(reference_line(reference)), *[""] * (width - 1)]
    return _row(cells).replace("\n", document.newline)


def heads(text: str, hidden: Sequence[Hidden]) -> Iterator[Head]:
    """Heads of the tables that have a status and something that has it, or decisions."""
    behind = iter(hidden)
    code = next(behind, None)
    for found in _DELIMITER.finditer(text):
        while code and code.end <= found.start():
            code = next(behind, None)
        if code and code.start <= found.start():
            continue
        start = text.rfind("\n", 0, max(found.start() - 1, 0)) + 1
        if head := _head_at(text, start, found):
            yield head


def head_above(document: Document) -> int | None:
    """The piece that ends with the head of the table that a new row goes into."""
    for place in reversed(range(len(document.pieces))):
        piece = document.pieces[place]
        if isinstance(piece, Other) and _last_head(piece.text):
            return place
    return None


def cells(line: str) -> list[str]:
    """Of a row, as they stand there."""
    line = line.strip().removeprefix("|")
    if "\\" not in line:
        found = line.split("|")
    else:
        found, place = [], 0
        while place <= len(line) and (match := _CELL.match(line, place)):
            found.append(match[0])
            place = match.end() + 1
    if len(found) > 1 and not found[-1].strip():
        found.pop()
    return found


def _head_at(text: str, start: int, delimiter: re.Match[str]) -> Head | None:
    line = text[start : delimiter.start()]
    if start == delimiter.start() or "|" not in line:
        return None
    columns = tuple(map(_column, cells(line)))
    fields = {_MEANT.get(name) for name in columns}
    known = "status" in fields and fields & {"id", "title"}
    decided = "decision" in columns and fields & {"at", "id"}
    if not (known or decided) or len(cells(delimiter[0])) != len(columns):
        return None
    return Head(start, line_end(text, delimiter.start()), columns)


def _column(cell: str) -> str:
    return "_".join(cell.strip(" \t*`_").lower().replace("-", " ").split())


def _last_head(text: str) -> Head | None:
    """The head that a text ends with."""
    lines = text[text.rstrip().rfind("\n", 0, len(text.rstrip())) + 1 :]
    delimiter = _DELIMITER.search(text, len(text) - len(lines))
    if not delimiter or line_end(text, delimiter.start()) != len(text):
        return None
    start = text.rfind("\n", 0, max(delimiter.start() - 1, 0)) + 1
    return _head_at(text, start, delimiter)


def _read_rows(name: str, text: str, head: Head, limit: int, cutter: Cutter) -> None:
    place, fields = head.end, head.fields
    while place < limit:
        end = line_end(text, place)
        line = text[place:end]
        if "|" not in line:
            gap = _GAP.match(text, place, limit)
            if not gap or gap.end() >= limit or gap.end() == place:
                return
            following = text[gap.end() : line_end(text, gap.end())]
            if len(cells(following)) != len(head.columns):
                return
            place = gap.end()
            cutter.leave(place)
            continue
        found = cells(line)
        if len(found) > len(head.columns):
            why = f"this row has {len(found)} cells, and its table {len(head.columns)} columns"
            raise BankMalformed(name, line_of(text, place), why)
        found += [""] * (len(head.columns) - len(found))
        _put_row(found, fields, end, cutter)
        place = end


def _put_row(found: Sequence[str], fields: Mapping[str, int], end: int, cutter: Cutter) -> None:
    row = [_unescaped(cell) for cell in found]
    # As it stands there: where a value only says so, a backslash stands before its colon.
    said = found[0].lstrip().startswith("Archived: ")
    if said and (reference := reference_in(row[0])):
        cutter.put_reference(reference, end)
        return
    has = {field: row[place] for field, place in fields.items()}
    name, title, status = (has.get(field, "") for field in ("id", "title", "status"))
    if "title" not in has and (both := _ID_AND_TITLE.fullmatch(name)):
        name, title = both.groups()
    text, line = cutter.take(end)
    cutter.put(
        Entry(
            text=text,
            line=line,
            id=name,
            at=moment(has.get("at", "")),
            agent=has.get("agent", ""),
            title=title,
            status=status,
            done=is_done(status),
            sources=split_sources(has.get("sources", "")),
            summary=has.get("summary", ""),
        )
    )


def _cells_of(new: NewEntry, columns: Sequence[str], document: Document) -> list[str]:
    fields = {_MEANT.get(name) for name in columns}
    if not new.id and "id" in fields:
        ids = [entry.id for entry in document.entries()]
        new = replace(new, id=next_id(ids, new.at))
    both = ": ".join(filter(None, (new.id, new.title)))
    values = {
        "id": new.id if "title" in fields else both,
        "title": new.title,
        "at": short(new.at),
        "agent": new.agent,
        "status": new.status or as_value(new.fields.get("Status", "")),
        "sources": joined_sources(new.sources),
        "summary": new.summary,
        "text": "" if as_value(new.text).rstrip(".") == new.title else as_value(new.text),
    }
    further = {_column(name): as_value(value) for name, value in new.fields.items()}
    row, used = [], set()
    for name in columns:
        field = _MEANT.get(name, "")
        value = further.get(name, "") if field not in values or field in used else values[field]
        if name in _SAID and further.get(name):
            value = further[name]
        used.add(field)
        row.append(_escaped(value))
    if row and row[0].startswith("Archived:"):
        row[0] = row[0].replace(":", "\\:", 1)
    return row


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace("|", "\\|")


def _unescaped(cell: str) -> str:
    return _ESCAPED.sub(r"\1", cell.strip()) if "\\" in cell else cell.strip()


def _row(row: Sequence[str]) -> str:
    return f"| {' | '.join(row)} |\n"


def head(columns: Sequence[str]) -> str:
    """How a table begins."""
    return f"{_row(columns)}|{'---|' * len(columns)}\n"

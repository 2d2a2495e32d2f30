"""Entries on one line each: rows of Markdown tables, and JSON Lines, where every line has the hash
of the line before it.

Columns of a table stand in any order; those that nobody knows stay as they are, and what a table
has no column for is not written."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from hashlib import sha256
from itertools import zip_longest
from typing import NamedTuple

import msgspec
from msgspec.structs import replace

from kedgeline.bank.fields import (
    NAMES,
    as_value,
    clean,
    entry_of,
    joined_sources,
    moment,
    next_id,
    numbered,
    reference_in,
    reference_line,
    short,
    since_epoch,
    stamp,
    titled,
)
from kedgeline.bank.markdown import Cutter, Hidden, hidden_in, line_end, line_of
from kedgeline.bank.values import (
    DECISIONS,
    Document,
    Entry,
    NewEntry,
    Other,
    Piece,
    Reference,
    known_name,
)
from kedgeline.errors import BankMalformed

COLUMNS = (
    *("task_id", "title", "status", "agent", "milestone_severity", "updated_at"),
    *("sources", "summary_128", "notes"),
)
"""Of a new table: the seed's, and a place for the rest of what an entry has."""
BEGINNING = "0" * 64
"""The predecessor of the first line of a file that has none to show how it names it."""
PREDECESSOR, SPELT = "predecessor_hash", "sha256:"
"""The key of a line that names the one before it, and what some files write before the hash."""
KEYS: Mapping[str, tuple[str, ...]] = {
    "id": ("id", "task_id"),
    "at": ("ts", "timestamp", "updated_at"),
    "agent": ("source_agent", "proposer_agent", "agent"),
    "title": ("title",),
    "status": ("status",),
    "sources": ("source_chunks", "sources"),
    "summary": ("summary_128", "summary"),
}
"""What is read of a line, by the keys that files have for it."""

_MEANT: Mapping[str, str] = {
    **{name.replace(" ", "_"): field for field, names in NAMES.items() for name in names},
    **dict.fromkeys(("task", "milestone", "name", "item", "feature", "decision"), "title"),
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
_CELL = re.compile(r"((?:[^|\\]|\\.|\\)*+)(?:\||$)")
_ESCAPED = re.compile(r"\\([!-/:-@\[-`{-~])")
_ID_AND_TITLE = re.compile(r"([\w.-]*[0-9][\w.-]*): (.+)")
_GAP = re.compile(r"(?:[ \t]*\r?\n| {0,3}<!--(?:(?!-->)[^\n])*-->[ \t]*\r?\n)*+(?=\|)")
"""A comment or blank lines that a person put between two rows."""
_OWN = {key for keys in KEYS.values() for key in keys} | {"archived", "Rationale"}
"""Keys that nobody may bring along: they would be read instead of an entry's own values."""
_OBJECT = re.compile(r"\s*\{[ \t]*(?:[\"}]|\r?$)", re.MULTILINE)
_CONFLICT = re.compile(r"<{7}|={7}|>{7}")
_TRUTH = {"true": True, "yes": True, "false": False, "no": False}

Line = dict[str, object]


# Tables


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


def table_start(text: str) -> int | None:
    """Where the first table of ours begins."""
    return next((one.start for one in heads(text, hidden_in("", text))), None)


def read_table(name: str, text: str) -> Document:
    cutter = Cutter(text)
    found = list(heads(text, hidden_in(name, text)))
    for one, following in zip_longest(found, found[1:]):
        cutter.leave(one.end)
        _read_rows(name, text, one, following.start if following else len(text), cutter)
    return Document(name=name, shape="tables", pieces=cutter.all())


def heads(text: str, hidden: Sequence[Hidden]) -> Iterator[Head]:
    """Heads of the tables that have a status and something that has it, or decisions."""
    for found in _DELIMITER.finditer(text):
        if any(one.start <= found.start() < one.end for one in hidden):
            continue
        if head := _head_at(text, found):
            yield head


def _head_at(text: str, delimiter: re.Match[str]) -> Head | None:
    start = text.rfind("\n", 0, max(delimiter.start() - 1, 0)) + 1
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


def _last_head(piece: Piece) -> Head | None:
    """The head that a piece ends with."""
    text = piece.text
    bare = text.rstrip()
    delimiter = _DELIMITER.search(text, bare.rfind("\n") + 1)
    if not isinstance(piece, Other) or not delimiter:
        return None
    return _head_at(text, delimiter) if line_end(text, delimiter.start()) == len(text) else None


def head_above(document: Document) -> int | None:
    """The piece that ends with the head of the table that a new row goes into."""
    places = reversed(range(len(document.pieces)))
    return next((place for place in places if _last_head(document.pieces[place])), None)


def cells(line: str) -> list[str]:
    """Of a row, as they stand there."""
    line = line.strip().removeprefix("|")
    found = line.split("|") if "\\" not in line else _CELL.findall(line)
    if len(found) > 1 and not found[-1].strip():
        found.pop()
    return found


def _column(cell: str) -> str:
    return "_".join(cell.strip(" \t*`_").lower().replace("-", " ").split())


def _read_rows(name: str, text: str, head: Head, limit: int, cutter: Cutter) -> None:
    place, width = head.end, len(head.columns)
    while place < limit:
        end = line_end(text, place)
        line = text[place:end]
        if "|" not in line:
            gap = _GAP.match(text, place, limit)
            if not gap or gap.end() >= limit or gap.end() == place:
                return
            place = gap.end()
            if len(cells(text[place : line_end(text, place)])) != width:
                return
            cutter.leave(place)
            continue
        found = cells(line)
        if len(found) > width:
            why = f"this row has {len(found)} cells, and its table {width} columns"
            raise BankMalformed(name, line_of(text, place), why)
        _put_row([*found, *[""] * (width - len(found))], head.fields, end, cutter)
        place = end


def _put_row(found: Sequence[str], fields: Mapping[str, int], end: int, cutter: Cutter) -> None:
    row = [_ESCAPED.sub(r"\1", cell.strip()) for cell in found]
    # As it stands there: where a value only says so, a backslash stands before its colon.
    said = found[0].lstrip().startswith("Archived: ")
    if said and (reference := reference_in(row[0])):
        cutter.put_reference(reference, end)
        return
    has = {field: row[place] for field, place in fields.items()}
    if "title" not in has and (both := _ID_AND_TITLE.fullmatch(has.get("id", ""))):
        has["id"], has["title"] = both.groups()
    cutter.put(entry_of(*cutter.take(end), has, at=moment(has.get("at", ""))))


def table_row(new: NewEntry, document: Document) -> str:
    new, place = titled(clean(new)), head_above(document)
    found = _last_head(document.pieces[place]) if place is not None else None
    columns = found.columns if found else COLUMNS
    text = _row(_cells_of(new, columns, document))
    return (text if found else table_head(COLUMNS) + text).replace("\n", document.newline)


def table_reference(reference: Reference, document: Document) -> str:
    """A row: a line of another kind would end the table."""
    place = head_above(document)
    found = _last_head(document.pieces[place]) if place is not None else None
    width = len(found.columns) if found else len(COLUMNS)
    return _row([_escaped(reference_line(reference)), *[""] * (width - 1)]).replace(
        "\n", document.newline
    )


def _cells_of(new: NewEntry, columns: Sequence[str], document: Document) -> list[str]:
    fields = {_MEANT.get(name) for name in columns}
    if not new.id and "id" in fields:
        new = replace(new, id=next_id([entry.id for entry in document.entries()], new.at))
    text = as_value(new.text)
    values = {
        "id": new.id if "title" in fields else ": ".join(filter(None, (new.id, new.title))),
        "title": new.title,
        "at": short(new.at),
        "agent": new.agent,
        "status": new.status or as_value(new.fields.get("Status", "")),
        "sources": joined_sources(new.sources),
        "summary": new.summary,
        "text": "" if text.rstrip(".") == new.title else text,
    }
    further = {_column(name): as_value(value) for name, value in new.fields.items()}
    row = []
    for name in columns:
        # of two columns that mean the same, the second is a field of somebody's own
        value = values.pop(_MEANT.get(name, ""), further.get(name, ""))
        row.append(_escaped(further.get(name) or value if name in _SAID else value))
    if row and row[0].startswith("Archived:"):
        row[0] = row[0].replace(":", "\\:", 1)
    return row


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace("|", "\\|")


def _row(row: Sequence[str]) -> str:
    return f"| {' | '.join(row)} |\n"


def table_head(columns: Sequence[str]) -> str:
    """How a table begins."""
    return f"{_row(columns)}|{'---|' * len(columns)}\n"


# JSON Lines


def is_json(text: str) -> bool:
    return _OBJECT.match(text) is not None


def read_json(name: str, text: str) -> Document:
    cutter, place = Cutter(text), 0
    while place < len(text):
        end = line_end(text, place)
        if text[place:end].strip():
            cutter.leave(place)
            _put_line(name, text, place, end, cutter)
        place = end
    return Document(name=name, shape="json_lines", pieces=cutter.all())


def _put_line(name: str, text: str, place: int, end: int, cutter: Cutter) -> None:
    line = _checked(name, text, place, end)
    if "archived" in line:
        if reference := _reference_of(line):
            cutter.put_reference(reference, end)
        else:
            cutter.leave(end)
        return
    said = {
        field: next((line[key] for key in keys if line.get(key) is not None), None)
        for field, keys in KEYS.items()
    }
    at, sources = said.pop("at"), said.pop("sources")
    time = moment(at) if isinstance(at, str) else since_epoch(at)
    if at is not None and time is None:
        raise BankMalformed(name, line_of(text, place), f"{str(at)[:40]!r} is no time")
    fields = {
        field: value if isinstance(value, str) else "" if value is None else json.dumps(value)
        for field, value in said.items()
    }
    listed: Sequence[object] = sources if isinstance(sources, list) else (sources,)
    named = tuple(source for source in listed if isinstance(source, str) and source)
    cutter.put(replace(entry_of(*cutter.take(end), fields, at=time), sources=named))


def _checked(name: str, text: str, place: int, end: int) -> Line:
    """The object in a line. Raises BankMalformed where there is none."""
    line = text[place:end].strip()
    try:
        return msgspec.json.decode(line, type=Line)
    except msgspec.ValidationError:
        why = "this line is JSON and no object that can be read"
    except msgspec.DecodeError as error:
        why = f"this line is no JSON object ({error})"
        if _CONFLICT.match(line):
            why = "a merge conflict was left here"
    except RecursionError:
        why = "this line is nested too deeply"
    raise BankMalformed(name, line_of(text, place), why)


def _decoded(piece: Piece | None) -> Line:
    return msgspec.json.decode(piece.text.strip(), type=Line) if isinstance(piece, Entry) else {}


def _reference_of(line: Line) -> Reference | None:
    """Read as the line of text that stands for archived entries in Markdown: what cannot stand
    there is somebody else's line."""
    count, summary = line["archived"], line.get("summary_128") or ""
    times = [line.get(key) for key in ("first", "last")]
    known = [moment(time) if isinstance(time, str) else None for time in times]
    wrong_time = any(time is not None and at is None for time, at in zip(times, known, strict=True))
    if isinstance(count, bool) or not isinstance(count, int) or not isinstance(summary, str):
        return None
    end = f", end:{line['end']}" if line.get("end") else ""
    found = reference_in(
        f"Archived: {count} entries: ({line.get('archive')}, sha256:{line.get('sha256')}{end})"
    )
    if found is None or wrong_time:
        return None
    return replace(found, summary=summary, first=known[0], last=known[1])


def json_reference(reference: Reference, document: Document) -> str:
    line = {
        "archived": reference.entries,
        "first": stamp(reference.first) if reference.first else None,
        "last": stamp(reference.last) if reference.last else None,
        "summary_128": as_value(reference.summary),
        "archive": reference.archive,
        "sha256": reference.sha256,
        "end": reference.end,
    }
    return json.dumps(line, ensure_ascii=False) + document.newline


def json_line(new: NewEntry, document: Document) -> str:
    new = clean(new)
    last = next((p for p in reversed(document.pieces) if not isinstance(p, Other)), None)
    known = _decoded(last)
    is_log = known_name(document.name.partition(".")[0]) == DECISIONS
    if "proposer_agent" in known or "source_agent" in known:
        is_log = "source_agent" not in known
    rationale = new.fields.get("Rationale", "")
    if is_log:
        new = numbered(new, document)
        rationale = rationale or new.text
    line: Line = {"id": new.id, "ts": stamp(new.at)} if new.id else {"ts": stamp(new.at)}
    line["proposer_agent" if is_log else "source_agent"] = new.agent
    text = "" if is_log and new.text == rationale else new.text
    given: Line = {"title": new.title, "status": new.status, "text": text}
    if is_log:
        line["rationale"] = rationale
        line["diff_hash"] = new.fields.get("diff_hash")
        line["tests_passed"] = _TRUTH.get(new.fields.get("tests_passed", "").lower())
        given |= {"source_chunks": list(new.sources), "summary_128": new.summary}
    else:
        line |= {"source_chunks": list(new.sources), "summary_128": new.summary}
        given["rationale"] = rationale
    line |= {key: value for key, value in given.items() if value}
    line = {_key_like(known, key): value for key, value in line.items()}
    further = {key: value for key, value in new.fields.items() if key not in {*line, *_OWN}}
    line = {**line, **further, PREDECESSOR: _predecessor(last)}
    return json.dumps(line, ensure_ascii=False) + document.newline


def _key_like(known: Line, key: str) -> str:
    """The key that the line before has for the same thing."""
    for keys in KEYS.values():
        if key in keys and key not in known:
            return next((other for other in keys if other in known), key)
    return key


def end_of(piece: Piece) -> str:
    """What the next line must name: the hash of this one without its newline, or of the last that a
    reference stands for."""
    if isinstance(piece, Reference) and piece.end:
        return piece.end
    return sha256(piece.text.rstrip("\r\n").encode()).hexdigest()


def named_by(entry: Entry) -> str:
    """The hash of the line before, as an entry names it; empty where it names none."""
    named = _decoded(entry).get(PREDECESSOR)
    return named.removeprefix(SPELT) if isinstance(named, str) else ""


def _predecessor(last: Piece | None) -> str:
    """What the next line names, spelt as the file spells it."""
    if last is None:
        return BEGINNING
    named = _decoded(last).get(PREDECESSOR)
    prefix = SPELT if isinstance(named, str) and named.startswith(SPELT) else ""
    return prefix + end_of(last)

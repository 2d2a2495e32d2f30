"""The text of a bank's files: blocks of Markdown, and entries on one line each."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from hashlib import sha256
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import msgspec
from msgspec.structs import replace

from kedgeline.bank.entries import (
    ALIASES,
    DECISIONS,
    BankEntry,
    Document,
    NewEntry,
    Other,
    Piece,
    Reference,
    entry_of,
    field_key,
    next_id,
    reference_in,
    short,
    stamp,
    with_number,
)
from kedgeline.errors import BankMalformed
from kedgeline.text.prose import foreign, one_line

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token

# The blocks of a Markdown text, as markdown-it-py finds them.

Kind = Literal["heading", "item", "head", "row", "quote", "code", "html", "rule", "text"]

FRONT_MATTER = re.compile(r"\ufeff?---[ \t]*\r?\n(.*?)^---[ \t]*\r?$", re.DOTALL | re.MULTILINE)


class MarkdownBlock(NamedTuple):
    """A block that lies in no other; of a list each item, of a table each row."""

    kind: Kind
    start: int
    end: int
    text: str
    """Of a heading without its marks; of all others their first line."""
    level: int = 0
    """Of a heading; 0 where it is underlined, as such a one begins no entry."""
    depth: int = 0
    """Of any heading."""
    cells: tuple[str, ...] = ()
    lead: str = ""
    """Of a row, the head of its table."""
    unclosed: str = ""
    """What a code block or a comment lacks at its end."""


@cache
def _parser() -> MarkdownIt:
    from markdown_it import MarkdownIt

    parser = MarkdownIt("commonmark").enable("table")
    parser.core.ruler.enableOnly(["block"])
    return parser


def blocks(text: str) -> list[MarkdownBlock]:
    # every character keeps its place
    tokens = _parser().parse(re.sub("[\r\0\ufeff]", " ", text) + "\n")
    lines = text.split("\n")
    places = [0]
    for line in lines:
        places.append(places[-1] + len(line) + 1)
    places[-1] = len(text)
    found: list[MarkdownBlock] = []
    lead = ""
    for number, token in enumerate(tokens):
        kind = _KINDS.get((token.type, token.level))
        if kind is None or token.map is None:
            continue
        first, behind = token.map[0], min(token.map[1], len(lines))
        start, end = places[first], places[behind]
        block = MarkdownBlock(kind, start, end, lines[first].strip())
        if kind == "heading":
            depth = int(token.tag[1])
            level = depth if token.markup.startswith("#") else 0
            block = block._replace(
                text=tokens[number + 1].content.strip(), level=level, depth=depth
            )
        elif kind == "row":
            cells = tuple(_cells(tokens[number + 1 :]))
            if tokens[number + 1].type == "th_open":
                end = places[min(behind + 1, len(lines))]
                lead = text[start:end]
                block = block._replace(kind="head", end=end)
            block = block._replace(cells=cells, lead=lead)
        elif kind == "code" and token.markup:
            closed = token.content.count("\n") == token.map[1] - first - 2
            block = block._replace(unclosed="" if closed else token.markup)
        elif kind == "quote":  # any of its lines may be a reference
            found += (
                MarkdownBlock(kind, places[n], places[n + 1], lines[n].strip())
                for n in range(first, behind)
            )
            continue
        elif kind == "html" and block.text.startswith("<!--") and "-->" not in token.content:
            block = block._replace(unclosed="-->")
        found.append(block)
    return found


_KINDS: dict[tuple[str, int], Kind] = {
    ("heading_open", 0): "heading",
    ("list_item_open", 1): "item",
    ("tr_open", 2): "row",
    ("blockquote_open", 0): "quote",
    ("fence", 0): "code",
    ("code_block", 0): "code",
    ("html_block", 0): "html",
    ("hr", 0): "rule",
    ("paragraph_open", 0): "text",
}


def _cells(tokens: Sequence[Token]) -> Iterator[str]:
    for token in tokens:
        if token.type == "inline":
            yield token.content
        elif token.type == "tr_close":
            return


# Entries on one line each: rows of Markdown tables, and JSON Lines, where every line has the hash
# of the line before it.
#
# Columns of a table stand in any order; a column that nobody knows stays as it is, and what a table
# has no column for is not written.

COLUMNS = (
    *("task_id", "title", "status", "agent", "milestone_severity", "updated_at"),
    *("sources", "summary_128", "notes"),
)
"""Of a new table: the seed's, and a place for the rest of what an entry has."""
BEGINNING = "0" * 64
"""What the first line of a file names as the one before it."""
PREDECESSOR = "predecessor_hash"
_NAMES = {**ALIASES, **dict.fromkeys(("name", "item", "decision"), "title")}
_NAMES |= dict.fromkeys(("notes", "note", "details", "description", "comment", "comments"), "text")
_NAMES |= dict.fromkeys(("rationale", "reason"), "text")
"""What columns hold."""
_OBJECT = re.compile(r"\s*\{[ \t]*(?:[\"}]|\r?$)", re.MULTILINE)
_ID_AND_TITLE = re.compile(r"([\w.-]*\d[\w.-]*): (.+)")

Line = dict[str, Any]


# Tables.


def is_known(cells: Sequence[str]) -> bool:
    """Whether a table with these columns holds entries: something with a status, or decisions."""
    columns = [field_key(cell) for cell in cells]
    fields = {_NAMES.get(column) for column in columns}
    has_status = "status" in fields and bool(fields & {"id", "title"})
    return has_status or ("decision" in columns and bool(fields & {"at", "id"}))


def row_fields(lead: str, cells: Sequence[str]) -> dict[str, object] | None:
    """The cells of a row by what their columns are called; None in a table of somebody else."""
    columns = [cell.strip() for cell in lead.partition("\n")[0].strip().strip("|").split("|")]
    if not is_known(columns):
        return None
    named: dict[str, object] = {}
    for column, cell in zip(map(field_key, columns), cells, strict=False):
        named.setdefault(column, cell.strip())
    titles = [key for key in named if _NAMES.get(key) == "title"]
    if titles and "title" not in named:
        named["title"] = named[titles[0]]
    elif not titles and (both := _ID_AND_TITLE.fullmatch(_id_of(named))):
        named |= {"id": both[1], "title": both[2]}
    return named


def _id_of(named: Mapping[str, object]) -> str:
    return next((str(value) for key, value in named.items() if ALIASES.get(key) == "id"), "")


def table_row(cells: Sequence[str]) -> str:
    escaped = (cell.replace("|", "\\|") for cell in cells)
    return f"| {' | '.join(escaped)} |"


def table_head(columns: Sequence[str]) -> str:
    return f"{table_row(columns)}\n|{'---|' * len(columns)}\n"


def new_row(new: NewEntry, cells: Sequence[str], document: Document) -> str:
    columns = [field_key(cell) for cell in cells]
    fields = {_NAMES.get(column, "") for column in columns}
    if not new.id and "id" in fields:
        new = replace(new, id=next_id([entry.id for entry in document.entries()], new.at))
    text = one_line(new.text)
    values = {
        "id": new.id if "title" in fields else ": ".join(filter(None, (new.id, new.title))),
        "title": new.title,
        "at": short(new.at),
        "agent": new.agent,
        "status": new.status,
        "sources": ", ".join(new.sources),
        "summary": new.summary,
        "text": "" if text.rstrip(".") == new.title else text,
    }
    further = {field_key(name): value for name, value in new.fields.items()}
    row = []
    for column in columns:
        # of two columns that mean the same, the second is somebody's own
        known = values.pop(_NAMES.get(column, ""), "")
        row.append(further.get(column) or known)
    if row[0].startswith("Archived:"):
        row[0] = f"\\{row[0]}"
    return table_row(row)


# JSON Lines.


def is_json(text: str) -> bool:
    return _OBJECT.match(text) is not None


def read_json(name: str, text: str) -> tuple[Piece, ...]:
    pieces: list[Piece] = []
    for number, line in enumerate(re.findall(r"[^\n]*\n|[^\n]+", text), start=1):
        bare = line.strip().lstrip("\ufeff")
        pieces.append(_piece(name, bare, line, number) if bare else Other(text=line, line=number))
    return tuple(pieces)


def _piece(name: str, bare: str, text: str, number: int) -> Piece:
    try:
        said = msgspec.json.decode(bare, type=Line)
    except (msgspec.DecodeError, RecursionError) as error:
        conflict = re.match(r"<{7}|={7}|>{7}", bare)
        why = (
            "a merge conflict is left here" if conflict else f"this is not a JSON object ({error})"
        )
        raise BankMalformed(name, number, why) from None
    if "archived" in said:
        reference = _reference_of(said)
        if reference is None:
            return Other(text=text, line=number)
        return replace(reference, text=text, line=number)
    fields = {key.lower(): value for key, value in said.items() if isinstance(value, str)}
    for key, value in said.items():
        if isinstance(value, list) and ALIASES.get(key.lower()) == "sources":
            fields[key.lower()] = ", ".join(one for one in value if isinstance(one, str))
    return entry_of(text, number, fields)


def _reference_of(said: Line) -> Reference | None:
    """Checked as the line of text that stands for archived entries in Markdown."""
    entries, summary, end = said["archived"], said.get("summary_128") or "", said.get("end")
    first, last = said.get("first"), said.get("last")
    times = f", {first} to {last}" if first is not None or last is not None else ""
    ends = f", end:{end}" if end else ""
    if isinstance(entries, bool) or not isinstance(summary, str):
        return None
    place = f"{said.get('archive')}, sha256:{said.get('sha256')}{ends}"
    found = reference_in(f"Archived: {entries} entries{times}: ({place})")
    return replace(found, summary=summary) if found else None


def json_reference(reference: Reference) -> str:
    line = {
        "archived": reference.entries,
        "first": stamp(reference.first) if reference.first else None,
        "last": stamp(reference.last) if reference.last else None,
        "summary_128": foreign(reference.summary),
        "archive": reference.archive,
        "sha256": reference.sha256,
        "end": reference.end,
    }
    return json.dumps(line, ensure_ascii=False)


def json_line(new: NewEntry, document: Document) -> str:
    """With the keys of the seed's schema, and the hash of the line before."""
    line: Line
    if document.stem == DECISIONS:
        new = with_number(new, document)
        line = {"id": new.id, "ts": stamp(new.at), "proposer_agent": new.agent}
        line["rationale"] = new.fields.get("Rationale", "") or new.text
    else:
        line = {"id": new.id, "ts": stamp(new.at), "source_agent": new.agent}
    line |= {"title": new.title, "status": new.status}
    line |= {"source_chunks": list(new.sources), "summary_128": new.summary}
    if new.text and new.text != line.get("rationale"):
        line["text"] = new.text
    own = {*line, *ALIASES, "archived", "Rationale" * (document.stem == DECISIONS)}
    line |= {name: value for name, value in new.fields.items() if name not in own}
    line = {key: value for key, value in line.items() if value}
    return json.dumps({**line, PREDECESSOR: _predecessor(document)}, ensure_ascii=False)


def _predecessor(document: Document) -> str:
    last = next((one for one in reversed(document.pieces) if not isinstance(one, Other)), None)
    return line_hash(last) if last else BEGINNING


def line_hash(piece: Piece) -> str:
    """What the next line names: the hash of this one without its newline, or of the last one that a
    reference stands for."""
    if isinstance(piece, Reference) and piece.end:
        return piece.end
    return sha256(piece.text.rstrip("\r\n").encode()).hexdigest()


def named_by(entry: BankEntry) -> str:
    """The hash of the line before, as an entry names it; empty where it names none."""
    return entry.fields.get(PREDECESSOR, "").removeprefix("sha256:")

"""Bank files read into documents, and documents with an entry more. The shapes: entries under
headings with a date or an id and items of lists here, rows of tables and JSON Lines in `rows`."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from datetime import datetime
from itertools import pairwise
from textwrap import dedent

from msgspec.structs import replace

from kedgeline.bank import rows
from kedgeline.bank.fields import (
    ID,
    INDENT,
    QUOTED,
    Style,
    as_body,
    as_value,
    aware,
    clean,
    dated_headings,
    entry_of,
    heading_in,
    is_done,
    is_known,
    joined_sources,
    level_of_entries,
    moment,
    names_a_date,
    numbered,
    read_fields,
    reference_in,
    reference_line,
    short,
    stamp,
    style_of,
    titled,
    written,
)
from kedgeline.bank.markdown import (
    SECTION_LEVELS,
    Cutter,
    Mark,
    before_footer,
    behind_blank_lines,
    heading_text,
    headings,
    hidden_in,
    line_end,
    marks,
    visible,
    walk,
)
from kedgeline.bank.values import (
    ACTIVE,
    DECISIONS,
    INDEX,
    JSON_ENDINGS,
    KNOWN,
    PROGRESS,
    Document,
    Entry,
    NewEntry,
    Order,
    Other,
    Piece,
    Reference,
    Shape,
    known_name,
)
from kedgeline.errors import BankMalformed

BYTE_ORDER_MARK = codecs.BOM_UTF8.decode()

Starts = Callable[[str, str], int | None]

_BY_NAME: Mapping[str, Shape] = {ACTIVE: "headings", DECISIONS: "headings", PROGRESS: "tables"}
_STARTS: Mapping[Shape, Starts] = {
    "headings": lambda name, text: headings_start(name, text),
    "tables": lambda _, text: rows.table_start(text),
    "lists": lambda name, text: lists_start(name, text),
}
_IN_ORDER: Mapping[str, tuple[Shape, ...]] = {
    ACTIVE: ("headings", "lists"),
    DECISIONS: ("headings", "tables", "lists"),
}
"""What a file of that name may be; the first that it has an entry of."""
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|[0-9]+")
_HOME = re.compile(
    r"\b(?:entries|log|journal|history|sessions?|updates|changes|decisions|milestones)\b",
    re.IGNORECASE,
)
"""In the title of a section that is there for entries."""
_BLANK_LINE = ("\n\n", "\n\r\n")


def read_document(name: str, data: bytes) -> Document:
    """All of a file in pieces. Raises BankMalformed with the line where it is broken."""
    text = _decoded(name, data)
    mark = BYTE_ORDER_MARK if text.startswith(BYTE_ORDER_MARK) else ""
    text = text.removeprefix(mark)
    document = read_as(_shape_of(name, text), name, text)
    pieces = (Other(text=mark, line=1), *document.pieces) if mark else document.pieces
    newline = "\r\n" if text.partition("\n")[0].endswith("\r") and "\n" in text else "\n"
    return replace(document, pieces=pieces, newline=newline)


def understood(name: str, data: bytes) -> Document:
    """A file as it is; where it cannot be understood, it is prose."""
    try:
        return read_document(name, data)
    except BankMalformed:
        text = data.decode("utf-8", "replace")
        return Document(name=name, shape="prose", pieces=(Other(text=text, line=1),))


def read_as(shape: Shape, name: str, text: str) -> Document:
    if shape == "prose":
        pieces = (Other(text=text, line=1),) if text else ()
        return Document(name=name, shape="prose", pieces=pieces)
    readers = {"headings": read_headings, "lists": read_lists, "tables": rows.read_table}
    return readers.get(shape, rows.read_json)(name, text)


def reference_text(reference: Reference, document: Document) -> str:
    """The line that stands for archived entries, as this file has it."""
    if document.shape == "tables":
        return rows.table_reference(reference, document)
    if document.shape == "json_lines":
        return rows.json_reference(reference, document)
    return markdown_reference(reference, document)


def with_entry(document: Document, new: NewEntry) -> str:
    """The whole new text. What stands in the file is not touched. An entry in a file without any is
    a dated heading. Raises BankMalformed where an open code block would swallow it."""
    if document.shape == "prose":
        for _ in marks(document.name, document.text):
            pass
    writers = {"lists": list_entry, "tables": rows.table_row, "json_lines": rows.json_line}
    entry = writers.get(document.shape, heading_entry)(new, document)
    place = _place_of_new(document)
    before, after = document.text[:place], document.text[place:]
    if not before.endswith(("\n", BYTE_ORDER_MARK)) and before:
        before += document.newline
    if _stands_alone(document):
        if not before.endswith((*_BLANK_LINE, BYTE_ORDER_MARK)) and before:
            before += document.newline
        entry = entry.rstrip("\r\n") + document.newline * (2 if after else 1)
    return before + entry + after


def new_file(name: str) -> bytes:
    """How a file begins that is not there yet."""
    shape, plain = _shape_by_name(name), known_name(name.partition(".")[0])
    if shape == "json_lines":
        return b""
    title = " ".join(word.capitalize() for word in _WORDS.findall(plain))
    head = rows.table_head(rows.COLUMNS) if shape == "tables" else ""
    return f"# {title}\n\n{head}".encode()


def is_unrecognised(document: Document) -> bool:
    """Whether there is text other than headings and comments, and nothing that is an entry."""
    if any(not isinstance(piece, Other) for piece in document.pieces) or document.shape == "tables":
        return False
    lines = visible(document.text.removeprefix(BYTE_ORDER_MARK)).splitlines()
    return any(line.strip() and not line.lstrip().startswith("#") for line in lines)


def _decoded(name: str, data: bytes) -> str:
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise BankMalformed(name, line, "this is no UTF-8") from None
    if (place := text.find("\0")) >= 0:
        raise BankMalformed(name, text.count("\n", 0, place) + 1, "here is a NUL character")
    return text


def _shape_of(name: str, text: str) -> Shape:
    """By what it contains; where that is nothing of ours, by its name. A file may have things of
    several shapes: one of entries is what its name says, if there is one such entry; any other is
    what comes first in it, as tables and boxes behind a heading with a date are of that entry."""
    if name.endswith(JSON_ENDINGS) or rows.is_json(text):
        return "json_lines"
    if INDEX in name:
        return "prose"
    plain = known_name(name.partition(".")[0])
    if plain in KNOWN and plain != PROGRESS:
        shapes = _IN_ORDER.get(plain, ("headings",))
        own = (shape for shape in shapes if _STARTS[shape](name, text) is not None)
        return next(own, _shape_by_name(name))
    found, above = _shape_by_name(name), text
    for shape in ("headings", "tables", *(("lists",) if plain == PROGRESS else ())):
        if (start := _STARTS[shape](name, above)) is not None:
            found, above = shape, text[:start]
    if (
        above is text
        and plain == PROGRESS
        and any(getattr(one, "level", 1) == 0 for one in walk(text))
    ):
        return "headings"  # its entries had headings, and all of them were moved
    return found


def _shape_by_name(name: str) -> Shape:
    plain = known_name(name.partition(".")[0])
    return "json_lines" if name.endswith(JSON_ENDINGS) else _BY_NAME.get(plain, "prose")


def _stands_alone(document: Document) -> bool:
    """Whether blank lines belong around an entry: not in a table, nor in a list that has begun
    without them."""
    if document.shape == "tables":
        return rows.head_above(document) is None
    if document.shape == "lists":
        return next(document.entries(), None) is None or _is_loose(document)
    return document.shape != "json_lines"


def _is_loose(document: Document) -> bool:
    """Whether the items of a list have blank lines between them."""
    return any(
        isinstance(one, Entry) and isinstance(other, Entry) and one.text.endswith(_BLANK_LINE)
        for one, other in pairwise(document.pieces)
    )


def _place_of_new(document: Document) -> int:
    """Before which character of the text. A dated file that has the newest on top gets it there;
    everywhere else an entry goes behind the last one."""
    place = _piece_of_new(document)
    if place is None:
        return _without_neighbours(document)
    before = document.pieces[:place]
    length = sum(len(piece.text) for piece in before)
    last = before[-1] if before else None
    if document.shape == "lists" and isinstance(last, Entry) and not _is_loose(document):
        # in a list without gaps the blank lines come behind the new item
        bare = last.text.rstrip()
        blank = last.text[len(bare) :]
        length -= len(blank) - (blank.find("\n") + 1)
    return length


def _piece_of_new(document: Document) -> int | None:
    """Before which piece; None where nothing in the file says it."""
    entries = [n for n, piece in enumerate(document.pieces) if isinstance(piece, Entry)]
    known = [n for n, piece in enumerate(document.pieces) if not isinstance(piece, Other)]
    if not known:
        head = rows.head_above(document) if document.shape == "tables" else None
        return None if head is None else head + 1
    newest_first = document.order == "newest_first"
    if (
        document.shape == "lists"
        and known_name(document.name.partition(".")[0]) != PROGRESS
        and entries
    ):
        # its sections have lists of their own: it goes where the newest is
        return document.pieces.index(document.by_age()[0]) + (not newest_first)
    return (entries or known)[0] if newest_first else known[-1] + 1


def _without_neighbours(document: Document) -> int:
    """At the end of the section for entries; where there is none, before the first section, behind
    the title and what is said below it: the last section has nothing to do with entries."""
    text = document.text
    if document.shape == "json_lines":
        return len(text)
    found = headings(text)
    # a smaller heading would become the new entry's own
    sections = [m for n, m in enumerate(found) if (m.level > 1 or n) and m.level <= SECTION_LEVELS]
    for section in sections:
        if _HOME.search(section.text):
            ends = (m.start for m in found if m.start > section.start and m.level <= section.level)
            return next(ends, len(text))
    return sections[0].start if sections else len(text)


ID_LEVELS = (2, 3)
"""Of headings that a decision may have."""
OPEN, DONE = "open", "completed"
"""What a box says, where the item names no status."""
SHOWN = 40
"""Characters of a wrong heading in a message."""

_ID_HEADING = re.compile(rf"(?:\[({ID})\]|({ID})(?=[\s:,–—-]|$))\s*[-–—:,]*\s*(.*)")
_ID_DAY = re.compile(r"[A-Z]+-([0-9]{4})([0-9]{2})([0-9]{2})-")
_NUMBER = re.compile(r"[0-9]{1,9}")

_BOX = re.compile(r"[-*+] +\[(?P<box>[ xX])\](?: +(?P<rest>[^\n]*))?(?=\r?$)", re.MULTILINE)
_DATE = r"\[(?P<at>[0-9]{4}[-/][0-9]{2}[-/][0-9]{2}(?:[T ][0-9][0-9:.]{3,14}[^\]\n]{0,10})?)\]"
_DATED = re.compile(
    rf"[-*+] +{_DATE}(?![(\[])(?:[ \t]*[-–—:]+(?=\s))?[ \t]*(?P<title>[^\n]*?)[ \t]*(?=\r?$)",
    re.MULTILINE,
)
_LISTED = "- "
_EDGE = re.compile(r"^(?=\S)", re.MULTILINE)
"""A line that is not indented: here an item ends."""
_OPEN_BELOW = re.compile(r"^[ \t]+[-*+] +\[ \] ", re.MULTILINE)
_TASK = re.compile(r"(?:\*\*)?(?P<id>[A-Za-z][\w.]*-[0-9][\w.-]*)(?:\*\*)?:(?:\*\*)? +")
_TAIL = re.compile(r"(?:^| )\((?P<at>[0-9][^(),]{7,40})(?:, (?P<agent>[^()]{0,200}))?\)$")
_DAY = r"([0-9]{4}-[0-9]{2}-[0-9]{2})(?![\w-])"
_REACHED = r"(?:done|completed|complete|finished|closed|merged|shipped|on|✅)"
_DATES = (
    re.compile(rf"\A[\[(*_]*{_DAY}"),
    re.compile(rf"[\[(](?:[^()\[\]]* )?(?:{_REACHED}:? +)?{_DAY}(?:[T ,][^()\[\]]*)?[)\]]\W*$"),
    re.compile(rf"(?<!\w){_REACHED}:?[*_]* +{_DAY}", re.IGNORECASE),
    re.compile(rf" [-–—] +{_DAY}$"),
)
"""A date that says when: at the beginning or the end of an item, or behind a word that says so. Any
other is part of what was done: `Import the 2019-01-01 dump`."""


def neighbour_of(document: Document) -> Entry | None:
    """The entry that a new one will stand beside."""
    newest_first = document.order == "newest_first"
    pieces = document.pieces if newest_first else reversed(document.pieces)
    return next((piece for piece in pieces if isinstance(piece, Entry)), None)


def markdown_reference(reference: Reference, document: Document) -> str:
    """A line of its own, and a blank one: without it two of them would be one paragraph, and what a
    person wrote behind a list would become part of it."""
    lead = _LISTED if document.shape == "lists" else QUOTED
    return f"{lead}{reference_line(reference)}{document.newline * 2}"


def usual_fields(new: NewEntry, **first: str) -> dict[str, str]:
    """Those given first, then the entry's further ones, then what all entries have. A further one
    with a name that an entry's own values go by would be read instead of them."""
    own = {name: as_body(value) for name, value in new.fields.items() if not is_known(name)}
    status = new.status or as_value(new.fields.get("Status", ""))
    last = {"Status": status, "Summary": new.summary, "Sources": joined_sources(new.sources)}
    return {**first, **own, **last}


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


def _exact(at: datetime | None, fields: Mapping[str, str], *, clock: bool) -> datetime | None:
    """The time of a field, where the first line has only its day."""
    exact = moment(fields.get("at", ""))
    if exact and (at is None or (exact.date() == at.date() and not clock)):
        return exact
    return at


# Entries under headings


def headings_start(name: str, text: str) -> int | None:
    """Where the first entry begins."""
    found = headings(text)
    opens = _opening(name, found)
    return next((mark.start for mark in found if opens(mark)), None)


def read_headings(name: str, text: str) -> Document:
    """An entry ends at the next heading of the same or a higher level, at another entry, at a
    reference, or where the file or the section ends, and before the footer that this may have. A
    line that only looks like a reference ends nothing, nor does a small heading."""
    found = list(marks(name, text))
    opens = _opening(name, found)
    cutter = Cutter(text)
    open_at: Mark | None = None

    def close(end: int, *, last: bool = False) -> None:
        nonlocal open_at
        if open_at:
            cutter.leave(open_at.start)
            if last:
                end = open_at.start + before_footer(text[open_at.start : end])
            cutter.put(_under_heading(name, open_at, *cutter.take(end)))
        open_at = None

    for mark in found:
        if mark.level == 0:
            if reference := reference_in(mark.text.removeprefix(QUOTED)):
                close(mark.start)
                cutter.leave(mark.start)
                end = behind_blank_lines(text, line_end(text, mark.start))
                cutter.put_reference(reference, end)
        elif opens(mark):
            close(mark.start)
            open_at = mark
        elif open_at and mark.level <= min(open_at.level, SECTION_LEVELS):
            close(mark.start, last=True)
    close(len(text), last=True)
    pieces = cutter.all()
    order = "oldest_first" if opens is _has_id else order_of(pieces)
    return Document(name=name, shape="headings", pieces=pieces, order=order)


def _opening(name: str, found: Sequence[Mark]) -> Callable[[Mark], bool]:
    """Whether headings with an id or those with a date begin entries: what the name of the file
    says where both are there, else what comes first."""
    dated, ids = dated_headings(found), [mark for mark in found if _has_id(mark)]
    plain = known_name(name.partition(".")[0])
    if ids and (not dated or plain == DECISIONS):
        return _has_id
    if ids and (plain not in KNOWN or plain == PROGRESS) and ids[0].start < dated[0].start:
        return _has_id
    if not dated and plain == DECISIONS:
        return _has_id
    level = level_of_entries(dated)
    return lambda mark: mark.level == level and names_a_date(mark)


def _has_id(mark: Mark) -> bool:
    return mark.level in ID_LEVELS and _ID_HEADING.match(mark.text) is not None


def _under_heading(name: str, mark: Mark, text: str, line: int) -> Entry:
    """Raises BankMalformed where the date of a heading is none."""
    fields = read_fields(text)
    if decision := _ID_HEADING.match(mark.text):
        number = decision[1] or decision[2]
        at, day = moment(fields.get("at", "")), _ID_DAY.match(number)
        at = moment("-".join(day.groups())) if at is None and day else at
        return entry_of(text, line, fields, id=number, at=at, title=decision[3].strip())
    heading = heading_in(mark.text)
    if heading is None:
        shown = f"{mark.text[:SHOWN]!r} begins with no date such as 2026-02-23"
        raise BankMalformed(name, line, f"{shown} or [2026-02-23T14:05:00Z]")
    at = _exact(heading.at, fields, clock=heading.clock)
    return entry_of(text, line, fields, at=at, agent=heading.agent, title=heading.title)


def heading_entry(new: NewEntry, document: Document) -> str:
    """An entry as the file has them, with a blank line behind it."""
    new, neighbour = clean(new), neighbour_of(document)
    line = neighbour.text.partition("\n")[0].lstrip() if neighbour else "###"
    # a heading that is underlined with dashes is of the second level
    hashes = "#" * (len(line) - len(line.lstrip("#"))) or "##"
    beside = heading_text(line) if neighbour else ""
    plain = known_name(document.name.partition(".")[0])
    if _ID_HEADING.match(beside) or (not neighbour and plain == DECISIONS):
        new = numbered(titled(new), document)
        read = _ID_HEADING.match(heading_text(f"{new.id}: {new.title}"))
        kept = read is not None and read[3].strip() == new.title
        heading = f"{new.id}: {new.title}" if kept else new.id
        title = "" if kept else new.title
        fields = usual_fields(new, Date=short(new.at), Agent=new.agent, Title=title)
    else:
        heading, fields = _dated_heading(new, beside)
    style = style_of(neighbour.text.partition("\n")[2]) if neighbour else Style()
    parts = (f"{hashes} {heading}", written(fields, style), as_body(new.text))
    return ("\n\n".join(filter(None, parts)) + "\n\n").replace("\n", document.newline)


def _dated_heading(new: NewEntry, beside: str) -> tuple[str, dict[str, str]]:
    """The heading, and as fields what it has no place for: read again, it must say the same."""
    known = heading_in(beside)
    brackets, clock = (known.brackets, known.clock) if known else (True, True)
    when = stamp(new.at) if clock else aware(new.at).date().isoformat()
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


# Entries that are items of a list: boxes of a progress file, items with a date of any other


def _item(name: str) -> re.Pattern[str]:
    return _BOX if known_name(name.partition(".")[0]) == PROGRESS else _DATED


def lists_start(name: str, text: str) -> int | None:
    """Where the first item begins, or what is left of a list of which all items were moved."""
    pattern = _item(name).pattern
    first = re.compile(rf"^(?:{pattern}|- Archived: [0-9])", re.MULTILINE)
    place = 0
    for found in hidden_in("", text):
        if item := first.search(text, place, found.start):
            return item.start()
        place = found.end
    item = first.search(text, place)
    return item.start() if item else None


def read_lists(name: str, text: str) -> Document:
    """The blank lines behind an item are its own, whatever follows: otherwise it would be another
    one as soon as its neighbour goes."""
    cutter, pattern = Cutter(text), _item(name)
    open_at: re.Match[str] | None = None

    def close(end: int) -> None:
        nonlocal open_at
        if open_at:
            cutter.leave(open_at.start())
            cutter.put(_listed(open_at, *cutter.take(end)))
        open_at = None

    for edge in _edges(name, text):
        close(edge)
        open_at = pattern.match(text, edge)
        if text.startswith((f"{_LISTED}Archived: ", f"{QUOTED}Archived: "), edge):
            end = line_end(text, edge)
            if reference := reference_in(text[edge + len(_LISTED) : end]):
                cutter.leave(edge)
                cutter.put_reference(reference, behind_blank_lines(text, end))
    close(len(text))
    pieces = cutter.all()
    order: Order = "oldest_first"
    if pattern is _DATED:
        beside = [
            (a.at, b.at)
            for a, b in pairwise(pieces)
            if isinstance(a, Entry) and isinstance(b, Entry)
        ]
        rising = sum(_rising([a, b]) for a, b in beside if a and b)
        order = order_of(pieces) if not rising else "oldest_first" if rising > 0 else "newest_first"
    return Document(name=name, shape="lists", pieces=pieces, order=order)


def _edges(name: str, text: str) -> Iterable[int]:
    """Lines that are not indented; of code and comments only the first."""
    place = 0
    for found in hidden_in(name, text):
        yield from (edge.start() for edge in _EDGE.finditer(text, place, found.start + 1))
        place = found.end
    yield from (edge.start() for edge in _EDGE.finditer(text, place))


def _listed(item: re.Match[str], text: str, line: int) -> Entry:
    below = text.partition("\n")[2].replace("\r\n", "\n")
    fields = read_fields(dedent(below)) if below else {}
    if item.re is _BOX:
        found = _box(item["rest"] or "")
        done = item["box"] in "xX" and not _OPEN_BELOW.search(visible(below))
        found["at"] = found["at"] or moment(fields.get("at", ""))
        status = fields.get("status") or (DONE if done else OPEN)
        return entry_of(text, line, fields, **(found | {"done": done, "status": status}))
    at = _exact(moment(item["at"]), fields, clock=":" in item["at"])
    title = fields.get("title", "") or item["title"]
    return entry_of(text, line, fields, at=at, title=title)


def _box(rest: str) -> dict[str, object]:
    """What the first line of an item with a box says."""
    rest = rest.strip()
    task, tail = _TASK.match(rest), _TAIL.search(rest)
    at = moment(tail["at"]) if tail else None
    begin = task.end() if task else 0
    title = rest[begin : tail.start() if tail and at else len(rest)].strip()
    agent = (tail["agent"] or "") if tail and at else ""
    if at is None:
        said = next(filter(None, (one.search(rest[begin:]) for one in _DATES)), None)
        at = moment(said[1]) if said else None
    return {"id": task["id"] if task else "", "title": title, "agent": agent, "at": at}


def list_entry(new: NewEntry, document: Document) -> str:
    """An item, with its fields and what else is said below it."""
    new = titled(clean(new))
    boxes = _item(document.name) is _BOX
    line, fields = _box_line(new) if boxes else _dated_line(new, neighbour_of(document))
    said = "" if new.text.rstrip(".") == new.title else as_body(new.text)
    body = "\n".join(f"{INDENT}{one}" if one else "" for one in said.split("\n"))
    below = "\n\n".join(filter(None, (written(fields, Style(bullet="  - ")), body)))
    return (f"{line}\n{below}".rstrip("\n") + "\n").replace("\n", document.newline)


def _box_line(new: NewEntry) -> tuple[str, dict[str, str]]:
    """The item's line, and as fields what it has no place for: read again, it must say the same."""
    agent = f", {new.agent}" if new.agent else ""
    name = f"{new.id}: " if new.id else ""
    own = {"id": new.id, "title": new.title, "agent": new.agent}
    for rest in (
        f"{name}{new.title} ({stamp(new.at)}{agent})",
        f"{new.title} ({stamp(new.at)}{agent})",
        f"{name}{new.title} ({stamp(new.at)})",
        f"({stamp(new.at)})",
    ):
        found = _box(rest)
        if all(found[key] in ("", value) for key, value in own.items()):
            break
    first = {key.title(): "" if found[key] == value else value for key, value in own.items()}
    fields = usual_fields(new, **first)
    status = new.status or new.fields.get("Status", "")
    if status in (OPEN, DONE):
        fields["Status"] = ""
    return f"- [{'x' if is_done(status) else ' '}] {rest}", fields


def _dated_line(new: NewEntry, neighbour: Entry | None) -> tuple[str, dict[str, str]]:
    beside = _DATED.match(neighbour.text.partition("\n")[0]) if neighbour else None
    when = stamp(new.at) if not beside or ":" in beside["at"] else aware(new.at).date().isoformat()
    line = f"- [{when}] - {new.title}"
    read = _DATED.match(line)
    fields = usual_fields(
        new,
        Time="" if moment(when) == new.at else stamp(new.at),
        Id=new.id,
        Agent=new.agent,
        Title="" if read is not None and read["title"] == new.title else new.title,
    )
    return line, fields

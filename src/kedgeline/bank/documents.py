"""Bank files read into documents, and documents with an entry more.

Markdown has entries under headings with a date or an id, items of lists with a date or a box, and
rows of tables; JSON Lines are in `rows`. markdown-it-py says what is a heading, an item, a row,
code or a comment."""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from textwrap import dedent
from typing import NamedTuple

from msgspec.structs import replace

from kedgeline.bank import rows
from kedgeline.bank.entries import (
    ACTIVE,
    DECISIONS,
    ID,
    JSON_ENDINGS,
    PROGRESS,
    BankEntry,
    Document,
    NewEntry,
    Order,
    Other,
    Piece,
    Reference,
    Shape,
    entry_of,
    is_done,
    read_fields,
    reference_in,
    reference_line,
    short,
    stamp,
    stem,
    time_in,
    titled,
    with_number,
)
from kedgeline.bank.rows import MarkdownBlock, blocks
from kedgeline.errors import BankMalformed, UserError

BYTE_ORDER_MARK = codecs.BOM_UTF8.decode()
ENTRY_LEVEL = 3
"""Of the heading of a first entry."""
OPEN, DONE = "open", "completed"
"""What a box says, where the item names no status."""
_SHAPES: dict[str, Shape] = {ACTIVE: "headings", DECISIONS: "headings", PROGRESS: "tables"}
"""Of files without any entry."""
_SHAPES_OF: dict[str, tuple[Shape, ...]] = {
    "heading": ("headings",),
    "quote": ("headings",),
    "item": ("lists",),
    "head": ("tables",),
}
"""What a file may be by its blocks."""


# What a block says.

_DATED = re.compile(
    r"(?:(?:session|update|entry|log)\b[ #:,–—-]*(?:\d{1,4}\b[ :,–—-]+)?)?"
    r"(?P<open>[\[(*_ ]*)"
    r"(?P<at>\d{4}[-/]\d\d[-/]\d\d"
    r"(?:[T ]\d\d:\d\d(?::\d\d)?(?:\.\d+)?(?: ?(?:Z|UTC|[+-]\d\d:?\d\d))?)?)"
    r"(?![\w/-])[\])*_]*(?P<rest>.*)",
    re.IGNORECASE,
)
_DECIDED = re.compile(rf"\[?({ID})\]?(?=[\s:,–—-]|$)[\s:,–—-]*(.*)")
_LEADING = re.compile(r"[\s:,–—-]*")
_SEPARATOR = re.compile(r"\s+[-–—]\s+|:\s+")
_BOX = re.compile(r"[-*+] +\[([ xX])\](?: +(.*))?")
_LISTED = re.compile(r"[-*+] +(?=\[\d{4})(?!\[[^\]]*\]\()(.*)")
_TASK = re.compile(r"\**([A-Za-z][\w.]*-\d[\w.-]*)(?:\*\*)?:(?:\*\*)? +")
_BEHIND = re.compile(
    r"\s*[\[(](?:[a-z ]*:? )?(\d{4}-\d\d-\d\d[^(),\]]{0,22})(?:, ([^()]{0,100}))?[)\]]$",
    re.IGNORECASE,
)
"""When, and by whom, at the end of an item."""
_OPEN_BELOW = re.compile(r"^[ \t]+[-*+] +\[ \] ", re.MULTILINE)
_CONFLICT = re.compile(r"^(?:<{7}|>{7})(?= |\r?$)", re.MULTILINE)
_NO_DATE = re.compile(r"\[?\d{4}-\d\d-\d\d(?![\d-])")


def _heading_of(text: str) -> dict[str, object] | None:
    """What the heading of an entry says; None where it names neither an id nor a date."""
    if decided := _DECIDED.match(text):
        return {"id": decided[1], "title": decided[2].strip()}
    dated = _DATED.match(text)
    at = time_in(dated["at"]) if dated else None
    if dated is None or at is None:
        return None
    rest, title = dated["rest"], _LEADING.sub("", dated["rest"], count=1).strip(" *")
    if "[" in dated["open"] and ":" in dated["at"] and not re.match(r"\s*[:–—-]", rest):
        agent, *titles = _SEPARATOR.split(title, maxsplit=1)
        return {"at": at, "agent": agent.strip(), "title": "".join(titles).strip()}
    return {"at": at, "title": title}


def _item_of(block: MarkdownBlock, *, boxes: bool) -> dict[str, object] | None:
    """What an item with a box or a date says; None where it has none."""
    if boxes:
        box = _BOX.fullmatch(block.text)
        if not box:
            return None
        rest = box[2] or ""
        task = _TASK.match(rest)
        rest = rest[task.end() :] if task else rest
        tail = _BEHIND.search(rest)
        at = time_in(tail[1]) if tail else None
        if tail and at:
            rest = rest[: tail.start()]
        elif (begun := _DATED.match(rest)) and (at := time_in(begun["at"])):
            rest = _LEADING.sub("", begun["rest"], count=1)
        agent = tail[2] or "" if tail and tail[2] and at else ""
        found = {"id": task[1] if task else "", "title": rest.strip(), "agent": agent, "at": at}
        return found | {"done": box[1] != " "}
    listed = _LISTED.fullmatch(block.text)
    dated = _DATED.match(listed[1]) if listed else None
    at = time_in(dated["at"]) if dated else None
    if dated is None or at is None:
        return None
    return {"at": at, "title": _LEADING.sub("", dated["rest"], count=1).strip()}


def _reference_of(block: MarkdownBlock) -> Reference | None:
    lead = {"quote": "> ", "item": "- "}.get(block.kind)
    if lead is not None:
        return reference_in(block.text[2:]) if block.text.startswith(f"{lead}Archived: ") else None
    said = block.cells[0] if block.kind == "row" and block.cells else ""
    return reference_in(said) if said.startswith("Archived: ") else None


# Reading.


def read_document(name: str, data: bytes) -> Document:
    """All of a file in pieces. Raises BankMalformed with the line where it is broken."""
    text = _decoded(name, data)
    newline = "\r\n" if text.partition("\n")[0].endswith("\r") and "\n" in text else "\n"
    if name.endswith(JSON_ENDINGS) or rows.is_json(text.removeprefix(BYTE_ORDER_MARK)):
        pieces = rows.read_json(name, text)
        return Document(name=name, shape="json_lines", pieces=pieces, newline=newline)
    mark = BYTE_ORDER_MARK if text.startswith(BYTE_ORDER_MARK) else ""
    shape, pieces, order = _read_markdown(name, text.removeprefix(mark))
    if mark:
        pieces = (Other(text=mark, line=1), *pieces)
    return Document(name=name, shape=shape, pieces=pieces, order=order, newline=newline)


def understood(name: str, data: bytes) -> Document:
    """The same, where a file that is broken is prose."""
    try:
        return read_document(name, data)
    except BankMalformed:
        text = data.decode("utf-8", "replace")
        return Document(name=name, shape="prose", pieces=(Other(text=text, line=1),))


def _decoded(name: str, data: bytes) -> str:
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise BankMalformed(name, line, "this is not UTF-8") from None
    if (place := text.find("\0")) >= 0:
        raise BankMalformed(name, text.count("\n", 0, place) + 1, "this line has a NUL character")
    return text


class _Layout(NamedTuple):
    """How a file writes its entries, from what stands in it."""

    shape: Shape
    by_id: bool
    """Whether headings with an id begin entries, or those with a date."""
    level: int
    """Of headings with a date that begin entries."""
    boxes: bool

    def fields(self, block: MarkdownBlock) -> dict[str, object] | None:
        """What a block says that begins an entry."""
        if self.shape == "headings" and block.level:
            said = _heading_of(block.text)
            if said and ("id" in said) == self.by_id and (self.by_id or block.level == self.level):
                return said
            return None
        if self.shape == "lists" and block.kind == "item":
            return _item_of(block, boxes=self.boxes)
        if self.shape == "tables" and block.kind == "row":
            return rows.row_fields(block.lead, block.cells)
        return None


def _layout(name: str, found: Sequence[MarkdownBlock]) -> _Layout:
    """Headings with a date or an id count before lists and tables, which are of these entries; in a
    progress file what comes first. Deeper headings with a date are an entry's own."""
    headings = [(one, said) for one in found if one.level and (said := _heading_of(one.text))]
    ids = [one.start for one, said in headings if "id" in said]
    dated = [one for one, said in headings if "id" not in said]
    if [one.level for one in dated].count(1) == 1:  # the title
        dated = [one for one in dated if one.level > 1]
    first_id, first_date = min(ids, default=-1), min((one.start for one in dated), default=-1)
    by_id = bool(ids) and (stem(name) == DECISIONS or not dated or first_id < first_date)
    level = min((one.level for one in dated), default=ENTRY_LEVEL)
    boxes = stem(name) == PROGRESS
    starts: dict[Shape, int] = {}
    for block in found:
        for shape in _SHAPES_OF.get(block.kind, ()):
            layout = _Layout(shape, by_id, level, boxes)
            known = block.kind == "head" and rows.is_known(block.cells)
            if known or layout.fields(block) is not None or _reference_of(block):
                starts.setdefault(shape, block.start)
    shape = min(starts, key=lambda one: starts[one], default="prose")
    if "headings" in starts and not boxes:
        shape = "headings"
    return _Layout(shape, by_id, level, boxes)


def _read_markdown(name: str, text: str) -> tuple[Shape, tuple[Piece, ...], Order]:
    found = blocks(text)
    layout = _layout(name, found)
    shape = _SHAPES.get(stem(name), "prose") if layout.shape == "prose" else layout.shape
    if shape != "prose":
        _check(name, text, found)
    if layout.shape == "prose":
        return shape, (Other(text=text, line=1),) if text else (), "oldest_first"
    cutter = Cutter(text)
    if layout.shape == "headings":
        _cut_headings(found, layout, cutter)
    else:
        for block in found:
            fields = layout.fields(block)
            if reference := _reference_of(block):
                cutter.leave(block.start)
                end = block.end if block.kind == "row" else _behind_blanks(text, block.end)
                cutter.put_reference(replace(reference, lead=block.lead), end)
            elif fields is not None:
                cutter.leave(block.start)
                cutter.put(_listed(fields, block, *cutter.take(block.end)))
    pieces = cutter.all()
    dated = any(isinstance(piece, BankEntry) and not piece.id for piece in pieces)
    newest = layout.shape == "headings" and (dated or stem(name) == ACTIVE)
    return layout.shape, pieces, _order(pieces, "newest_first" if newest else "oldest_first")


def _check(name: str, text: str, found: Sequence[MarkdownBlock]) -> None:
    """What makes it impossible to say what belongs to what: guessing would move the wrong text."""

    def broken(place: int, why: str) -> BankMalformed:
        return BankMalformed(name, text.count("\n", 0, place) + 1, why)

    for place in _conflicts(text, found):
        raise broken(place, "an unresolved merge conflict")
    for block in found:
        if block.unclosed:
            what = "code block" if block.kind == "code" else "comment"
            raise broken(block.start, f"this {what} is never closed")
        if block.level and _NO_DATE.match(block.text) and _heading_of(block.text) is None:
            raise broken(
                block.start, f"{block.text[:40]!r} does not begin with a date such as 2026-02-23"
            )


def _conflicts(text: str, found: Sequence[MarkdownBlock]) -> list[int]:
    """Where a merge has left its marks, code apart."""
    code = [(one.start, one.end) for one in found if one.kind == "code"]
    places = [one.start() for one in _CONFLICT.finditer(text)]
    return [one for one in places if not any(start <= one < end for start, end in code)]


def _cut_headings(found: Sequence[MarkdownBlock], layout: _Layout, cutter: Cutter) -> None:
    """An entry ends at the next one, at a reference, and at a heading of its level or above."""
    opened: tuple[MarkdownBlock, dict[str, object]] | None = None
    own: list[MarkdownBlock] = []

    def close(end: int, *, last: bool = False) -> None:
        nonlocal opened
        if opened is None:
            return
        block, fields = opened
        if last:
            end = _without_footer(cutter.text, own, end)
        cutter.leave(block.start)
        text, line = cutter.take(end)
        shown = (one for one in own if one.kind not in ("code", "html") and one.start < end)
        said = "".join(cutter.text[one.start : min(one.end, end)] for one in shown)
        cutter.put(entry_of(text, line, read_fields(said), **fields))
        opened = None

    for block in found:
        fields = layout.fields(block)
        if block.kind == "quote" and (reference := _reference_of(block)):
            close(block.start)
            cutter.leave(block.start)
            cutter.put_reference(reference, _behind_blanks(cutter.text, block.end))
        elif fields is not None:
            close(block.start)
            opened, own = (block, fields), []
        elif opened and block.depth and block.depth <= opened[0].level:
            close(block.start, last=True)
        else:
            own.append(block)
    close(len(cutter.text), last=True)


def _without_footer(text: str, own: list[MarkdownBlock], end: int) -> int:
    """Where the footer of a file or a section begins, in the last entry of it: a rule with
    something behind it, or comments at the end. A rule alone is what people put between entries."""
    for n, block in enumerate(own):
        if (
            block.kind == "rule"
            and text[block.end : end].strip()
            and not any(one.depth for one in own[n:])
        ):
            del own[n:]
            end = block.start
            break
    while own and own[-1].kind == "html" and text[: own[-1].start].endswith(("\n\n", "\n\r\n")):
        end = own.pop().start
    return end


def _listed(fields: dict[str, object], block: MarkdownBlock, text: str, line: int) -> BankEntry:
    if block.kind == "row":
        said = {key: str(value) for key, value in fields.items()}
        return entry_of(text, line, said, lead=block.lead)
    below = text.partition("\n")[2]
    said = read_fields(dedent(below)) if below.strip() else {}
    if "done" in fields:
        done = bool(fields["done"]) and not _OPEN_BELOW.search(below)
        fields |= {"done": done, "status": said.get("status") or (DONE if done else OPEN)}
    return entry_of(text, line, said, **fields)


def _order(pieces: Sequence[Piece], default: Order) -> Order:
    """By the times of neighbours; else by where references stand, which are older than all."""
    times = [one.at for one in pieces if isinstance(one, BankEntry) and one.at]
    known = [one for one in pieces if not isinstance(one, Other)]
    rising = sum((a < b) - (a > b) for a, b in pairwise(times))
    if not rising and times:
        rising = (times[0] < times[-1]) - (times[0] > times[-1])
    if not rising and known:
        rising = isinstance(known[0], Reference) - isinstance(known[-1], Reference)
    return "oldest_first" if rising > 0 else "newest_first" if rising < 0 else default


def _behind_blanks(text: str, start: int) -> int:
    found = re.compile(r"(?:[ \t]*\r?\n)*").match(text, start)
    return found.end() if found else start


class Cutter:
    """Cuts a text into pieces from its beginning to its end, and counts lines."""

    def __init__(self, text: str) -> None:
        self.text, self._place, self._line = text, 0, 1
        self._pieces: list[Piece] = []

    def leave(self, end: int) -> None:
        """What stands before `end` and was not taken is nobody's."""
        if end > self._place:
            text, line = self.take(end)
            self.put(Other(text=text, line=line))

    def take(self, end: int) -> tuple[str, int]:
        """The text up to there, and the number of its first line."""
        text, line = self.text[self._place : end], self._line
        self._place = end
        self._line += text.count("\n")
        return text, line

    def put(self, piece: Piece) -> None:
        self._pieces.append(piece)

    def put_reference(self, reference: Reference, end: int) -> None:
        text, line = self.take(end)
        self.put(replace(reference, text=text, line=line))

    def all(self) -> tuple[Piece, ...]:
        self.leave(len(self.text))
        return tuple(self._pieces)


def is_unrecognised(document: Document) -> bool:
    """Whether it has text besides headings and comments, and nothing that is an entry."""
    if any(not isinstance(one, Other) for one in document.pieces) or document.shape == "json_lines":
        return False
    return any(one.kind not in ("heading", "html", "head") for one in blocks(document.text))


# Writing.

_TITLE_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+(?![a-z])|\d+")


def new_file(name: str) -> bytes:
    """How a file begins."""
    if name.endswith(JSON_ENDINGS):
        return b""
    title = " ".join(word.capitalize() for word in _TITLE_WORDS.findall(stem(name)))
    head = rows.table_head(rows.COLUMNS) if stem(name) == PROGRESS else ""
    return f"# {title}\n\n{head}".encode()


def reference_text(reference: Reference, document: Document) -> str:
    """The line that stands for archived entries, as the file has it. A blank line behind it keeps
    two of them, or what a person wrote there, from becoming one paragraph."""
    if document.shape == "json_lines":
        return rows.json_reference(reference) + document.newline
    line = reference_line(reference)
    if document.shape == "tables":
        return rows.table_row([line]) + document.newline
    lead = "- " if document.shape == "lists" else "> "
    return f"{lead}{line}{document.newline * 2}"


def with_entry(document: Document, new: NewEntry) -> tuple[Document, BankEntry]:
    """The document with an entry more, and that entry. Nothing that stands in the file is touched.
    Raises BankMalformed or UserError where it would not be found again."""
    entry = _text_of(new, document).rstrip("\r\n").replace("\n", document.newline)
    text = document.text
    # at the end, where it would swallow what stands behind its place
    for place in dict.fromkeys((_place_of_new(document), len(text))):
        grown = read_document(document.name, _put(document, entry, place).encode())
        if found := _added(document, grown, entry):
            return grown, found
    raise UserError(
        f"the entry could not be read back from {document.name}, so nothing was written; look "
        f"for an unclosed code block or comment, or a last entry unlike the others"
    )


def _put(document: Document, entry: str, place: int) -> str:
    before, after, newline = document.text[:place], document.text[place:], document.newline
    if before and not before.endswith(("\n", BYTE_ORDER_MARK)):
        before += newline
    entry += newline
    if _stands_alone(document):
        if before and not before.endswith(("\n\n", "\n\r\n", BYTE_ORDER_MARK)):
            before += newline
        entry += newline if after else ""
    return before + entry + after


def _added(before: Document, after: Document, entry: str) -> BankEntry | None:
    """The one entry that is new, where all others are as they were."""
    old, texts = [one.text.strip() for one in before.entries()], list(after.entries())
    for n, one in enumerate(texts):
        said = one.text.strip().lstrip(BYTE_ORDER_MARK)
        others = [other.text.strip() for other in (*texts[:n], *texts[n + 1 :])]
        if entry.strip().endswith(said) and others == old:
            return one
    return None


def _stands_alone(document: Document) -> bool:
    """Whether blank lines belong around an entry: not around rows and items of a list."""
    if document.shape in ("tables", "lists"):
        return _piece_of_new(document) is None and _table_end(document) is None
    return document.shape != "json_lines"


def _place_of_new(document: Document) -> int:
    """Before which character: on top where the newest is on top, else behind the last entry; in a
    file without any, before the first section, or at the end."""
    number = _piece_of_new(document)
    if number is not None:
        before = document.pieces[:number]
        length = sum(len(piece.text) for piece in before)
        last = before[-1] if before else None
        if document.shape == "lists" and isinstance(last, BankEntry):
            blank = last.text[len(last.text.rstrip()) :]  # stays behind the list
            length -= len(blank) - (blank.find("\n") + 1)
        return length
    if (end := _table_end(document)) is not None:
        return end
    found = [] if document.shape == "json_lines" else blocks(document.text)
    headings = [one for one in found if one.depth]
    sections = [one for n, one in enumerate(headings) if one.depth > 1 or n]
    return sections[0].start if sections else len(document.text)


def _piece_of_new(document: Document) -> int | None:
    places = [n for n, one in enumerate(document.pieces) if isinstance(one, BankEntry)]
    known = [n for n, one in enumerate(document.pieces) if not isinstance(one, Other)]
    if not known:
        return None
    newest_first = document.order == "newest_first"
    if document.shape == "lists" and places and document.stem != PROGRESS:
        # its sections have lists of their own: beside the newest
        return document.pieces.index(document.by_age()[0]) + (not newest_first)
    return (places or known)[0] if newest_first else known[-1] + 1


def _table_end(document: Document) -> int | None:
    """Behind the head of a table without rows."""
    if document.shape != "tables":
        return None
    return max((one.end for one in _heads(document)), default=None)


def _heads(document: Document) -> list[MarkdownBlock]:
    """Of the tables that hold entries."""
    found = (one for one in blocks(document.text) if one.kind == "head")
    return [one for one in found if rows.is_known(one.cells)]


def _neighbour(document: Document) -> BankEntry | None:
    """The entry that a new one will stand beside."""
    known = list(document.entries())
    return (known[0] if document.order == "newest_first" else known[-1]) if known else None


def _text_of(new: NewEntry, document: Document) -> str:
    if document.shape == "json_lines":
        return rows.json_line(new, document)
    if document.shape == "tables":
        return _row(new, document)
    if document.shape == "lists":
        return _item(new, document)
    return _under_heading(new, document)


def _row(new: NewEntry, document: Document) -> str:
    known = [one for one in document.pieces if isinstance(one, BankEntry | Reference)]
    heads = _heads(document)
    if not heads:
        return rows.table_head(rows.COLUMNS) + rows.new_row(titled(new), rows.COLUMNS, document)
    lead = known[0 if document.order == "newest_first" else -1].lead if known else heads[-1].lead
    columns = next(one.cells for one in heads if one.lead == lead)
    return rows.new_row(titled(new), columns, document)


def _under_heading(new: NewEntry, document: Document) -> str:
    beside = _neighbour(document)
    first = blocks(beside.text)[0] if beside else None
    level = first.level if first else ENTRY_LEVEL
    if (beside and _DECIDED.match(first.text if first else "")) or (
        not beside and document.stem == DECISIONS
    ):
        new = with_number(titled(new), document)
        heading = f"{new.id}: {new.title}"
        fields = {"Date": short(new.at), "Agent": new.agent}
    else:
        title = f" — {new.title}" if new.title else ""
        heading = f"[{stamp(new.at)}] {new.agent}{title}"
        fields = {"Id": new.id}
    lines = "\n".join(_field_lines(fields | _usual(new), "- "))
    body = as_body(new.text, level)
    return "\n\n".join(filter(None, (f"{'#' * level} {heading}", lines, body)))


def _usual(new: NewEntry) -> dict[str, str]:
    last = {"Status": new.status, "Summary": new.summary, "Sources": ", ".join(new.sources)}
    return {**new.fields, **last}


def _field_lines(fields: dict[str, str], bullet: str) -> Iterable[str]:
    return (f"{bullet}**{name}**: {value}" for name, value in fields.items() if value)


def _item(new: NewEntry, document: Document) -> str:
    new, fields = titled(new), _usual(new)
    if document.stem == PROGRESS:
        agent = f", {new.agent}" if new.agent else ""
        name = f"{new.id}: " if new.id else ""
        box = "x" if is_done(new.status) else " "
        line = f"- [{box}] {name}{new.title} ({stamp(new.at)}{agent})"
        fields["Status"] = "" if new.status in (OPEN, DONE) else new.status
    else:
        line = f"- [{stamp(new.at)}] {new.title}"
        fields = {"Id": new.id, "Agent": new.agent, **fields}
    said = "" if new.text.rstrip(".") == new.title else new.text
    below = [*_field_lines(fields, "  - "), *([""] if said else [])]
    # four blanks: nothing in it can begin a heading or a code block
    below += [f"    {one}" if one else "" for one in said.split("\n")] if said else []
    return "\n".join((line, *below))


def as_body(text: str, level: int) -> str:
    """Text for the body of an entry: nothing in it begins or ends one. Lines that would get a
    backslash, and a code block that is left open is closed."""
    while True:
        found = blocks(text)
        places = [place for one in found if (place := _forbidden(one, text, level)) is not None]
        places += _conflicts(text, found)
        for place in sorted(places, reverse=True):
            text = f"{text[:place]}\\{text[place:]}"
        if not places and (unclosed := [one.unclosed for one in found if one.unclosed]):
            text = f"{text}\n{unclosed[0]}"
        elif not places:
            return text


def _forbidden(block: MarkdownBlock, text: str, level: int) -> int | None:
    """Where a backslash is needed; None where the block may stay."""
    ends = block.depth and (block.depth <= level or _heading_of(block.text) is not None)
    if ends and not block.level:  # its underline
        place = text.rstrip("\n").rfind("\n", 0, block.end - 1) + 1
    elif ends or block.kind in ("html", "rule") or (block.kind == "quote" and _reference_of(block)):
        place = block.start
    else:
        return None
    return place + len(text[place:]) - len(text[place:].lstrip(" "))

"""The anchored summary as Markdown, and back."""

from __future__ import annotations

import re
import zlib
from base64 import b64decode, b64encode
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from hashlib import blake2b
from typing import NamedTuple

from kedgeline.model.summary import Entry, SectionName
from kedgeline.summary.sections import SECTIONS
from kedgeline.summary.state import Item, cited
from kedgeline.text.prose import foreign, neutral, one_line, without_tags

NOTHING = "N/A"
REST = "The other {} sections: N/A"
"""In place of empty sections, where there is little room."""
TABLE: SectionName = "Files Modified"
COLUMNS = ("File", "Action", "What Changed")
_TABLE = (f"| {' | '.join(COLUMNS)} |", "|---|---|---|")
NUMBERED: dict[str, tuple[SectionName, ...]] = {
    "##": ("Next Steps",),
    "###": ("Decisions Made", "Next Steps"),
}
"""Sections whose entries have numbers, by heading: a session file numbers decisions too."""
INDEX: SectionName = "Index"
WHERE_ELSE = "kedgeline facts shows them, kedgeline recall finds the originals"
WIDEST = 100_000
"""Turns of a span that are told one by one; a session with more has no line about all of them."""

_TURN = r"t\d{1,9}(?:-\d{1,9})?"
_MARKS = re.compile(rf"^(.*?) ?\[({_TURN}(?:, {_TURN})*)\]$", re.DOTALL)
_BREAK = re.compile("\r\n|[\n\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_MOVED_IN = re.compile("(?<=[\r\v\f\x1c-\x1e\x85\u2028\u2029])  ")
"""Behind a break that is not the one between our lines."""
_REST = re.compile(REST.format(r"(\d{1,2})"))
_MORE = re.compile(r"\(([\d,]+) more left out(?:: [^()\n]{1,80})?\)")
_SEVERAL = re.compile(r"((?:.*/)?)\{(.+, .+)\}", re.DOTALL)
"""Files of one folder in a row."""
_ROW = re.compile(r"(?<!\\)\|")
_NAME = re.compile(r"`[^`]+`|[^\s`]\S*")
_LOOSE = re.compile(r"\s|,$")
"""In a name: what would make it two, or shorter. It stands in back-ticks then."""
UNSEEN = "\N{REPLACEMENT CHARACTER}"
"""Stands for a name of which nothing can be seen."""


def render(
    items: Iterable[Item],
    left_out: int = 0,
    *,
    heading: str = "##",
    brief: bool = False,
) -> str:
    """Every section, `N/A` where it has nothing; or, in brief, the empty ones in one line."""
    sections: dict[SectionName, list[Item]] = {name: [] for name in SECTIONS}
    for item in items:
        sections[item.section].append(item)
    told = "\n\n".join(
        "\n".join([f"{heading} {name}", *body(name, found, heading)])
        for name, found in sections.items()
        if found or not brief
    )
    if brief and not all(sections.values()):
        empty = sum(not found for found in sections.values())
        told = f"{told}\n\n{REST.format(empty)}".strip()
    where = "" if brief else f": {WHERE_ELSE}"
    return f"{told}\n({left_out:,} more left out{where})" if left_out else told


def parse(text: str) -> tuple[list[Item], int]:
    """The items of a rendering, and how many it says were left out."""
    items: list[Item] = []
    for name, lines in _sections(text):
        for line in lines:
            if line != NOTHING and unshown(line) is None and not _MORE.fullmatch(line):
                items.extend(_read(name, line))
    counts = (more[1] for line in text.split("\n") if (more := _MORE.fullmatch(line)))
    return items, sum(int(count.replace(",", "")) for count in counts)


def unshown(line: str) -> int | None:
    """How many sections a line says have nothing, where it is the one that does."""
    found = _REST.fullmatch(line)
    return int(found[1]) if found else None


def entries_of(text: str) -> tuple[Entry, ...]:
    """What a rendering says, entry by entry."""
    return tuple(map(as_entry, parse(text)[0]))


def as_entry(item: Item) -> Entry:
    return Entry(
        section=item.section,
        text=item.text,
        turns=item.turns,
        action=item.action,
        detail=item.detail,
    )


def body(name: SectionName, items: Sequence[Item], heading: str = "##") -> Iterator[str]:
    """The lines of one section, its heading left off."""
    if not items:
        yield NOTHING
        return
    if name == TABLE:
        yield from _table([item for item in items if item.action])
        for item in items:
            if not item.action:  # words about a file, below the table
                yield f"- {_with_marks(foreign(item.text), item.turns)}"
    elif name == INDEX:
        yield from _grouped(items)
    else:
        for number, item in enumerate(items, 1):
            mark = f"{number}." if name in NUMBERED[heading] else "-"
            yield f"{mark} {_with_marks(said(item.section, _told(item)), item.turns)}"


def _table(rows: Sequence[Item]) -> Iterator[str]:
    if rows:
        yield from _TABLE
        yield from map(_row, (row for row in rows if row.turns or row.detail))
        bare: dict[tuple[str, str], list[str]] = {}
        for row in rows:
            if not (row.turns or row.detail):
                folder, _, name = row.text.rpartition("/")
                bare.setdefault((folder, row.action), []).append(name)
        for (folder, action), names in bare.items():
            told = names[0] if len(names) == 1 else "{" + ", ".join(names) + "}"
            yield _row(Item(TABLE, f"{folder}/{told}" if folder else told, action=action))


def said(section: SectionName, text: str) -> str:
    """Text as it may stand in a section: no words can begin one, or an entry, or end it all."""
    return _inside(neutral(text)) if SECTIONS[section].said else foreign(text)


def _told(item: Item) -> str:
    return f"{item.text}: {item.detail}" if item.detail else item.text


def _row(item: Item) -> str:
    detail = without_tags(one_line(item.detail))  # its marks are ours: each change has its own
    detail = detail if "[t" in detail else _with_marks(detail, item.turns)
    cells = (foreign(item.text), foreign(item.action), detail)
    return "| " + " | ".join(" ".join(cell.replace("|", "\\|").split()) for cell in cells) + " |"


def _grouped(items: Sequence[Item]) -> Iterator[str]:
    """Names with the same turns on one line, parted by blanks."""
    lines: dict[str, list[str]] = {}
    for item in items:
        lines.setdefault(cited(item.turns), []).append(_bound(item.text))
    for marks, names in lines.items():
        yield f"- {' '.join(names)} {marks}".rstrip()


def _bound(name: str) -> str:
    """A name as one word."""
    word = " ".join(foreign(name).replace("`", "'").split()) or (UNSEEN if name else "")
    return f"`{word}`" if _LOOSE.search(word) else word


def _unbound(word: str) -> str:
    return word[1:-1] if word.startswith("`") else word


def _with_marks(text: str, turns: Iterable[int]) -> str:
    return f"{text} {cited(turns)}".strip()


def _inside(text: str) -> str:
    """Lines behind the first are moved in."""
    return _BREAK.sub(r"\g<0>  ", text)


def _sections(text: str) -> Iterator[tuple[SectionName, list[str]]]:
    """Each section with its entries, continued lines joined."""
    known: dict[str, SectionName] = {
        f"{heading} {name}": name for name in SECTIONS for heading in ("##", "###")
    }
    name: SectionName | None = None
    entries: list[str] = []
    for line in text.split("\n"):
        if line in known:
            if name is not None:
                yield name, entries
            name, entries = known[line], []
        elif line.startswith("  ") and entries:
            entries[-1] += "\n" + line[2:]
        elif line.strip() and name is not None:
            entries.append(line)
    if name is not None:
        yield name, entries


def _read(name: SectionName, line: str) -> Iterator[Item]:
    if name == TABLE and line.startswith("|"):
        cells = [cell.strip().replace("\\|", "|") for cell in _ROW.split(line)[1:-1]]
        ruled = all(set(cell) <= {"-", ":"} for cell in cells)
        if len(cells) == len(COLUMNS) and cells != list(COLUMNS) and not ruled:
            row = Item(name, cells[0], _turns(cells[2]), action=cells[1], detail=cells[2])
            several = _SEVERAL.fullmatch(row.text) if not row.detail else None
            for end in several[2].split(", ") if several else ():
                yield row._replace(text=f"{several[1]}{end}" if several else end)
            if several is None:
                yield row
        return
    text = re.sub(r"^(?:-|\d+\.) ", "", line)
    found = _MARKS.match(text)
    text, turns = (found[1], _turns(f"[{found[2]}]")) if found else (text, ())
    if name == INDEX:
        yield from _names(text, turns)
    else:
        yield Item(name, _MOVED_IN.sub("", text), turns)


def _names(text: str, turns: tuple[int, ...]) -> Iterator[Item]:
    """Blanks part names; a comma behind one is by hand."""
    for name in _NAME.findall(text):
        yield Item(INDEX, _unbound(name.rstrip(",")), turns)


def _turns(text: str) -> tuple[int, ...]:
    """The turns that marks name."""
    turns: list[int] = []
    for marks in re.findall(rf"\[((?:{_TURN}(?:, )?)+)\]", text):
        for first, last in re.findall(r"t(\d{1,9})(?:-(\d{1,9}))?", marks):
            span = range(int(first), int(last or first) + 1)
            turns.extend(span if len(span) <= WIDEST else (span[0], span[-1]))
    return tuple(dict.fromkeys(turns))


# A session file written again, with all that a person changed in it since.

MARK = 6
"""Characters that stand for a line in the record, 36 bits: a line by hand is taken for one of a
hundred of ours once in hundreds of millions, and a longer mark would cost every reader tokens."""
EARLIER = "### Earlier Session"
"""Heading of what an earlier session of the task left; below it everything counts as by hand."""

_HEADINGS = {f"### {name}" for name in SECTIONS}
_NUMBER = re.compile(r"\d{1,4}\. ")
_RECORDED = rf"((?:[A-Za-z0-9+/]{{{MARK}}})*)"
_RECORD = re.compile(
    rf"<!-- kedgeline: written last time, leave as it is: {_RECORDED}; "
    rf"{_RECORDED}; {_RECORDED} -->\r?"
)


_TAKEN = re.compile(r"<!-- kedgeline: what was here before: ([A-Za-z0-9+/=]{1,400000}) -->\r?")
_ANY_HEADING = re.compile(r"#{2,3} (.+?)(?: \(if any\))?\s*")
MOST_TAKEN = 1_000_000
"""Characters that are taken up of a file."""


class _Record(NamedTuple):
    session: str = ""
    """Mark of the session that wrote last."""
    written: tuple[str, ...] = ()
    """Marks of the lines, in their order; blank ones are not counted."""
    removed: tuple[str, ...] = ()
    """Marks of lines that a person took out."""


class _Block(NamedTuple):
    """A heading of ours, or the title, with the lines below it."""

    heading: str
    lines: list[str]


class _Found(NamedTuple):
    """A file on the disk, told apart."""

    by_hand: dict[str, list[str]]
    """By heading: lines that are not ours, blank ones between two of them included."""
    ours: dict[str, list[str]]
    """By heading: lines that stand as they were written."""
    record: _Record


def rewritten(fresh: str, before: str | None, *, session: str = "") -> str:
    """A fresh rendering with what a person changed in the one before, and a new record.

    Where another session wrote last, what it wrote is kept too, under a heading of its own."""
    blocks = _blocks(fresh)
    found = _compared(before or "", blocks)
    if found.record.session and session and found.record.session != _mark(session):
        last = found.by_hand.setdefault(blocks[-1].heading, [])
        if earlier := _earlier(found, blocks):
            last.extend([*([""] if last else ()), *earlier])
    left = Counter(found.record.removed)
    out: list[str] = []
    written: list[str] = []
    for heading, lines in blocks:
        by_hand = found.by_hand.get(heading, [])
        ours = [heading, *_still_wanted(heading, lines, by_hand, left)]
        written.extend(map(_mark, ours))
        out.extend([*ours, *_gap(ours[-1], by_hand), *by_hand, ""])
    mark = _mark(session) if session else found.record.session
    return "\n".join([*out, _line(_Record(mark, tuple(written), found.record.removed)), ""])


class TakenUp(NamedTuple):
    """What others wrote into a session file before it was ours."""

    sections: str = ""
    """In sections of ours, headings as we write them."""
    rest: str = ""
    """All else; only the first time, as it is by hand from then on."""
    is_new: bool = False

    def line(self) -> str:
        """As it is kept in the file."""
        data = b64encode(zlib.compress(self.sections.encode("utf-8", "replace"), 9)).decode()
        return f"<!-- kedgeline: what was here before: {data} -->\n" if self.sections else ""


def taken_up(text: str) -> TakenUp:
    """What is kept in a file of ours, or what a file says that is not ours yet."""
    lines = text[:MOST_TAKEN].replace("\r\n", "\n").removeprefix("\ufeff").split("\n")
    if kept := next((found for line in lines if (found := _TAKEN.fullmatch(line))), None):
        try:
            unpacked = zlib.decompressobj().decompress(b64decode(kept[1]), MOST_TAKEN)
            return TakenUp(unpacked.decode("utf-8", "replace"))
        except (ValueError, zlib.error):
            return TakenUp()
    if _place_of_record(lines) is not None:
        return TakenUp()
    ours: list[str] = []
    rest: list[str] = []
    into = rest
    for line in lines:
        if heading := _ANY_HEADING.fullmatch(line):
            known = f"### {heading[1]}"
            into = ours if known in _HEADINGS else rest
            line = known if into is ours else line
        if not line.startswith("## Session Summary"):
            into.append(line)
    return TakenUp("\n".join(ours).strip(), "\n".join(rest).strip(), bool(ours))


def without_record(text: str) -> str:
    """What a reader needs of a session file."""
    lines = [line for line in text.split("\n") if not _TAKEN.fullmatch(line)]
    place = _place_of_record(lines)
    kept = lines if place is None else [*lines[:place], *lines[place + 1 :]]
    return "\n".join(kept).strip("\r\n") + "\n"


def _blocks(text: str) -> list[_Block]:
    """A rendering of ours by headings; the first line is the title."""
    blocks: list[_Block] = []
    for line in text.split("\n"):
        if not blocks or line in _HEADINGS:
            blocks.append(_Block(line, []))
        elif line:
            blocks[-1].lines.append(line)
    return blocks


def _compared(text: str, blocks: Sequence[_Block]) -> _Found:
    headings = [block.heading for block in blocks]
    if text.startswith(f"\ufeff{headings[0]}"):  # an editor marked the encoding
        text = text[1:]
    lines = [line for line in text.split("\n") if not _TAKEN.fullmatch(line)]
    place = _place_of_record(lines)
    record = _Record(written=tuple(map(_mark, headings)))  # of a file that is not ours: headings
    if place is not None:
        record = _hand_edits_read(lines.pop(place))
    ended = all(line.endswith("\r") for line in lines if line)  # an editor changed all line ends
    bare = [line.removesuffix("\r") if ended else line for line in lines]
    left = Counter(record.written)
    ours: set[int] = set()
    for number, line in enumerate(bare):
        if line and left[mark := _mark(line)]:
            left[mark] -= 1
            ours.add(number)
    kept = {_mark(line) for line in (*headings, *_TABLE, NOTHING)}
    removed = () if place is None else tuple(mark for mark in left.elements() if mark not in kept)
    by_hand, as_written = _sorted_out(lines, bare, ours, headings)
    return _Found(by_hand, as_written, record._replace(removed=(*record.removed, *removed)))


def _sorted_out(
    lines: Sequence[str], bare: Sequence[str], ours: set[int], headings: Sequence[str]
) -> tuple[dict[str, list[str]], dict[str, list[str]]]:
    """Lines by hand and lines of ours, under the heading of ours that stands above them."""
    by_hand: dict[str, list[str]] = {}
    as_written: dict[str, list[str]] = {}
    heading, blank, after_hand = headings[0], list[str](), False
    for number, line in enumerate(lines):
        if not bare[number]:
            blank.append(line)
            continue
        if number not in ours:
            by_hand.setdefault(heading, []).extend([*(blank if after_hand else ()), line])
        elif bare[number] in headings:
            heading = bare[number]
        else:
            as_written.setdefault(heading, []).append(bare[number])
        blank, after_hand = [], number not in ours
    return by_hand, as_written


def _still_wanted(
    heading: str, lines: Sequence[str], by_hand: Sequence[str], left: Counter[str]
) -> Iterator[str]:
    """Lines of a section without those that a person took out or wrote too."""
    known = set(by_hand)
    entries = []
    for line in lines:
        if _of_form(line):
            continue
        mark = next((mark for mark in _marks(line, len(lines)) if left[mark]), None)
        if mark is not None:
            left[mark] -= 1
        elif line not in known:
            entries.append(line)
    more = [line for line in lines if _MORE.fullmatch(line)]
    if entries and lines[: len(_TABLE)] == [*_TABLE]:
        yield from _TABLE
    yield from (*entries, *more)
    filled = entries or more or (by_hand and not by_hand[0].startswith("#"))
    if heading in _HEADINGS and not filled:
        yield NOTHING


def _of_form(line: str) -> bool:
    """Lines that belong to the form and are no entry."""
    return line == NOTHING or line in _TABLE or _MORE.fullmatch(line) is not None


def _marks(line: str, most: int) -> Iterator[str]:
    """Of the line; of a numbered one with other numbers too, as what stands before it may go."""
    yield _mark(line)
    if number := _NUMBER.match(line):
        rest = line[number.end() :]
        yield from (_mark(f"{other}. {rest}") for other in range(1, 2 * most + 1))


def _earlier(found: _Found, blocks: Sequence[_Block]) -> list[str]:
    """What the session before left and this one does not say."""
    said = {line for block in blocks for line in block.lines}
    told: list[str] = []
    for heading, lines in found.ours.items():
        kept = [line for line in lines if line not in said and not _of_form(line)]
        if kept:
            table = _TABLE if kept[0].startswith("| ") else ()
            told.extend(["", f"#{heading}", *table, *kept])
    return [EARLIER, "Its turn marks are those of another session.", *told] if told else []


def _gap(last: str, by_hand: Sequence[str]) -> list[str]:
    """A blank line, unless what is by hand stands alone or continues the list or table above."""
    if not by_hand or (last in _HEADINGS and not by_hand[0].startswith("#")):
        return []
    goes_on = last[:2] == by_hand[0][:2] and last[:2] in ("- ", "| ")
    return [] if goes_on and by_hand[0] != _TABLE[0] else [""]


def _mark(line: str) -> str:
    data = line.encode("utf-8", "surrogatepass")
    return b64encode(blake2b(data, digest_size=MARK).digest()).decode()[:MARK]


def _line(record: _Record) -> str:
    written, removed = "".join(record.written), "".join(record.removed)
    told = f"{record.session}; {written}; {removed}"
    return f"<!-- kedgeline: written last time, leave as it is: {told} -->"


def _place_of_record(lines: Sequence[str]) -> int | None:
    return next((n for n in reversed(range(len(lines))) if _RECORD.fullmatch(lines[n])), None)


def _hand_edits_read(line: str) -> _Record:
    found = _RECORD.fullmatch(line)
    session, written, removed = found.groups() if found else ("", "", "")
    return _Record(session, _cut(written), _cut(removed))


def _cut(marks: str) -> tuple[str, ...]:
    return tuple(marks[place : place + MARK] for place in range(0, len(marks), MARK))

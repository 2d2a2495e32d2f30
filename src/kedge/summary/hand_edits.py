"""A session file written again, with all that a person changed in it since.

The last line of the file is a record of the lines written last time. What stands in the file and
not in the record is by hand and stays; what stands in the record and no longer in the file was
taken out by hand and stays out."""

from __future__ import annotations

import re
from base64 import b64encode
from collections import Counter
from collections.abc import Iterator, Sequence
from difflib import SequenceMatcher
from hashlib import blake2b
from typing import NamedTuple

from kedge.summary.items import SECTIONS
from kedge.summary.markdown import COLUMNS, NOTHING

MARK = 6
"""Characters that stand for a line in the record, 36 bits: a line by hand is taken for one of a
hundred of ours once in hundreds of millions, and a longer mark would cost every reader tokens."""
EARLIER = "### Earlier Session"
"""Heading of what an earlier session of the task left; below it everything counts as by hand."""

_HEADINGS = {f"### {name}" for name in SECTIONS}
_TABLE = (f"| {' | '.join(COLUMNS)} |", "|---|---|---|")
_MORE = re.compile(r"\([\d,]+ more left out(?:: kedge facts FILE --kind [a-z]+)?\)")
_NUMBER = re.compile(r"\d{1,4}\. ")
_MARKS = rf"((?:[A-Za-z0-9+/]{{{MARK}}})*)"
_RECORD = re.compile(
    rf"<!-- kedge: written last time, leave as it is: {_MARKS}; {_MARKS}; {_MARKS} -->\r?"
)


class Record(NamedTuple):
    session: str = ""
    """Mark of the session that wrote last."""
    written: tuple[str, ...] = ()
    """Marks of the lines, in their order; blank ones are not counted."""
    removed: tuple[str, ...] = ()
    """Marks of lines that a person took out."""


class Block(NamedTuple):
    """A heading of ours, or the title, with the lines below it."""

    heading: str
    lines: list[str]


class Found(NamedTuple):
    """A file on the disk, told apart."""

    by_hand: dict[str, list[str]]
    """By heading: lines that are not ours, blank ones between two of them included."""
    ours: dict[str, list[str]]
    """By heading: lines that stand as they were written."""
    record: Record


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
    return "\n".join([*out, _line(Record(mark, tuple(written), found.record.removed)), ""])


def without_record(text: str) -> str:
    """What a reader needs of a session file."""
    lines = text.split("\n")
    place = _place_of_record(lines)
    kept = lines if place is None else [*lines[:place], *lines[place + 1 :]]
    return "\n".join(kept).strip("\r\n") + "\n"


def _blocks(text: str) -> list[Block]:
    """A rendering of ours by headings; the first line is the title."""
    blocks: list[Block] = []
    for line in text.split("\n"):
        if not blocks or line in _HEADINGS:
            blocks.append(Block(line, []))
        elif line:
            blocks[-1].lines.append(line)
    return blocks


def _compared(text: str, blocks: Sequence[Block]) -> Found:
    headings = [block.heading for block in blocks]
    if text.startswith(f"\ufeff{headings[0]}"):  # an editor marked the encoding
        text = text[1:]
    lines = text.split("\n")
    place = _place_of_record(lines)
    record = Record(written=tuple(map(_mark, headings)))  # of a file that is not ours: headings
    if place is not None:
        record = _read(lines.pop(place))
    ended = all(line.endswith("\r") for line in lines if line)  # an editor changed all line ends
    bare = [line.removesuffix("\r") if ended else line for line in lines]
    there = [number for number, line in enumerate(bare) if line]
    matched, gone = _aligned(record.written, [_mark(bare[number]) for number in there])
    ours = {there[position] for position in matched}
    kept = {_mark(line) for line in (*headings, *_TABLE, NOTHING)}
    removed = () if place is None else tuple(mark for mark in gone if mark not in kept)
    by_hand, as_written = _sorted_out(lines, bare, ours, headings)
    return Found(by_hand, as_written, record._replace(removed=(*record.removed, *removed)))


def _aligned(written: Sequence[str], there: Sequence[str]) -> tuple[set[int], list[str]]:
    """Which lines of a file are those that were written, and which of these are gone."""
    same = [one == other for one, other in zip(written, there, strict=False)]
    start = [*same, False].index(False)  # most of a file is as it was: only the rest is compared
    rest = SequenceMatcher(None, written[start:], there[start:], autojunk=False)
    blocks = [(0, 0, start), *((a + start, b + start, n) for a, b, n in rest.get_matching_blocks())]
    matched = {place + step for _, place, size in blocks for step in range(size)}
    known = {place + step for place, _, size in blocks for step in range(size)}
    return matched, [mark for place, mark in enumerate(written) if place not in known]


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


def _earlier(found: Found, blocks: Sequence[Block]) -> list[str]:
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


def _line(record: Record) -> str:
    written, removed = "".join(record.written), "".join(record.removed)
    return (
        f"<!-- kedge: written last time, leave as it is: {record.session}; {written}; {removed} -->"
    )


def _place_of_record(lines: Sequence[str]) -> int | None:
    return next((n for n in reversed(range(len(lines))) if _RECORD.fullmatch(lines[n])), None)


def _read(line: str) -> Record:
    found = _RECORD.fullmatch(line)
    session, written, removed = found.groups() if found else ("", "", "")
    return Record(session, _cut(written), _cut(removed))


def _cut(marks: str) -> tuple[str, ...]:
    return tuple(marks[place : place + MARK] for place in range(0, len(marks), MARK))

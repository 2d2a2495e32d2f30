"""Lines of bytes with their positions, and JSON records out of them, damaged or not."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator
from math import inf, isfinite
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from kedgeline.model import Source

if TYPE_CHECKING:
    from kedgeline.formats.intake.documents import Log

Lines = Iterable[bytes]
Record = dict[str, Any]

SCANS = 8
"""How many times over the characters of one broken line may be looked at in search of the next
whole record; a bound, so that a torn line of 100 MB cannot cost minutes."""

FEWEST = 262_144
"""Characters that may be looked at even in a short line, whose records can be nested deeply."""
STEP_BACK = 8
"""A record that follows a torn text begins at most an escape before the place where it is noticed.
"""
COUNTED_AT_ONCE = 64
"""How much quicker line ends are counted than JSON is read, about: an error of the JSON reader says
in which line it is, and counts all lines before it."""
GAP = 64
"""How far to look over blanks beside an object for what stands around it; writers put one or none.
"""

_RECORD_START = re.compile(r'\{\s*"')
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def _whole(digits: str) -> float:
    try:
        return int(digits)
    except ValueError:  # Python refuses to read thousands of digits
        return inf


TOLERANT = json.JSONDecoder(strict=False, parse_int=_whole)
"""Reads control characters in strings, and numbers that are none, which `sound` takes out."""
_BOM = b"\xef\xbb\xbf"


class Line(NamedTuple):
    number: int
    """Counted from 0. In documents and lists: the item's number."""
    start: int = -1
    end: int = -1
    data: bytes = b""
    last: int = -1
    """Number of the last line, where a message covers several; -1 where it is one line."""

    @property
    def source(self) -> Source:
        return Source(
            first=self.number, last=max(self.number, self.last), start=self.start, end=self.end
        )


class Position:
    """How far lines were read, where they are not all read at once."""

    def __init__(self) -> None:
        self.number = 0
        """Of the next line."""
        self.end = 0
        """Bytes before it."""


decode_object = msgspec.json.Decoder(dict).decode


def json_records(
    lines: Lines,
    log: Log,
    *,
    decode: Callable[[bytes], Any] = decode_object,
    known: Callable[[Record], bool],
    shape: Callable[[Record, Line, Log], Any] = lambda record, line, log: record,
    at: Position | None = None,
) -> Iterator[tuple[Line, Any]]:
    """Every readable record of a JSON Lines file.

    `decode` is the fast way and may be typed. A line it cannot take is taken apart by hand:
    `known` says which recovered objects are records of the format (and not an inner object of a
    torn one), `shape` turns such a plain object into what `decode` would have given. `at` is where
    the lines begin that are given, and then where they end.
    """
    at = at or Position()
    for data in lines:
        start, number = at.end, at.number
        at.end, at.number = start + len(data), number + 1
        # What is handed on does not hold the bytes: turns wait with their lines.
        place = Line(number, start, at.end)
        try:
            record = decode(data)
        except (ValueError, RecursionError):
            if data.isspace() or not data:
                continue
            line = place._replace(data=data)
            for one in recovered(line, log, known):
                yield place, shape(one, line, log)
            continue
        del data  # it may be large, and who takes the record needs the room
        yield place, record


def recovered(line: Line, log: Log, known: Callable[[Record], bool]) -> Iterator[Record]:
    """What can be read of a line that does not decode, with its damage reported."""
    text = decoded(line.data, line, log).strip()
    behind = found = 0
    torn = False
    for start, end, value in _objects(text, line, log):
        if value is not None and (start == 0 or (known(value) and not _is_inner(text, start, end))):
            torn = torn or not _is_blank(text[behind:start])
            found, behind = found + 1, end
            if found == 2:
                log.broken("fused", line, "more than one record on the line")
            if (whole := _sound_record(value, line, log)) is not None:
                yield whole
        else:
            torn = True
    if not found:
        _report_nothing_found(text, line, log)
    elif torn or not _is_blank(text[behind:]):
        log.broken("torn", line, "part of the line is not a whole record")


def _objects(text: str, line: Line, log: Log) -> Iterator[tuple[int, int, Record | None]]:
    """The whole objects of a text that stand in no other whole one, and None for what is torn."""
    patience = max(SCANS * len(text), FEWEST)
    position = broken_at = 0
    while patience > 0 and (match := _RECORD_START.search(text, position)):
        start = match.start()
        value, end = _value_at(text, start, line, log)
        yield start, end, value
        patience -= end - start
        if value is not None:
            position = end
            continue
        position, broken_at = start + 1, max(broken_at, end)
        patience -= end // COUNTED_AT_ONCE
        if patience <= 0 and position < broken_at < len(text):
            # Torn objects inside torn ones all break off at the same place: go on from there.
            position, patience = max(position, broken_at - STEP_BACK), len(text)
            broken_at = len(text)


def decoded(data: bytes, line: Line, log: Log) -> str:
    """Bytes as text, without BOM and NUL bytes, broken bytes replaced."""
    if b"\0" in data:
        log.broken("nul", line, f"{data.count(0)} NUL bytes")
        data = data.replace(b"\0", b"")
    data = data.removeprefix(_BOM)
    try:
        return data.decode()
    except UnicodeDecodeError as error:
        log.broken("utf8", line, f"byte {error.start} is not UTF-8")
        return data.decode(errors="replace")


def _is_blank(text: str) -> bool:
    return not text.strip("\ufeff \t\r\n")


def _is_inner(text: str, start: int, end: int) -> bool:
    """Whether an object belongs to the torn record before it: it stands where a value would, and
    neither the line nor another record's beginning follows."""
    before = text[max(start - GAP, 0) : start].rstrip()[-1:]
    after = text[end : end + GAP].lstrip()[:1]
    return before in (":", ",", "[") and after not in ("", "{")


def _value_at(text: str, start: int, line: Line, log: Log) -> tuple[Record | None, int]:
    """The object that begins here, and where it ends or breaks off."""
    try:
        return TOLERANT.raw_decode(text, start)
    except RecursionError:
        log.broken("too_deep", line, "nested deeper than can be read")
        return None, len(text)
    except json.JSONDecodeError as error:
        return None, len(text) if error.msg.startswith("Unterminated") else error.pos


def _sound_record(record: Record, line: Line, log: Log) -> Record | None:
    try:
        whole: Record = sound(record, line, log)
    except RecursionError:
        log.broken("too_deep", line, "nested deeper than can be read")
        return None
    return whole


def _report_nothing_found(text: str, line: Line, log: Log) -> None:
    if not text:
        return
    if not text.startswith("{"):
        try:
            value = TOLERANT.decode(text)
        except (ValueError, RecursionError):
            log.broken("json", line, f"not JSON: {text[:40]!r}")
        else:
            log.broken("shape", line, f"a {type(value).__name__}, not an object")
    elif line.data.endswith(b"\n"):
        log.broken("torn", line, "the record is not complete")
    else:
        log.broken("torn", line, "the file ends inside this record")


def sound(value: Any, line: Line, log: Log) -> Any:
    """The same value without what cannot be written again: halves of surrogate pairs are replaced,
    fields whose number is none are left out."""
    if isinstance(value, str):
        if not _LONE_SURROGATE.search(value):
            return value
        log.broken("surrogate", line, "half of a surrogate pair")
        return _LONE_SURROGATE.sub("\ufffd", value)
    # Loops, because a comprehension would reach the depth that Python allows twice as soon.
    if isinstance(value, dict):
        fields: Record = {}
        for name, item in value.items():
            if _is_number_if_any(item, line, log):
                fields[sound(name, line, log)] = sound(item, line, log)
        return fields
    if isinstance(value, list):
        items: list[Any] = []
        for item in value:
            if _is_number_if_any(item, line, log):
                items.append(sound(item, line, log))  # noqa: PERF401
        return items
    return value


def _is_number_if_any(value: Any, line: Line, log: Log) -> bool:
    if not isinstance(value, float) or isfinite(value):
        return True
    log.broken("shape", line, "a number that is none, or too large")
    return False

"""Bytes into records: JSON Lines, JSON documents and lines of text, damaged or not."""

from __future__ import annotations

import json
import re
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from itertools import chain, islice
from math import inf, isfinite
from typing import Any

import msgspec

from kedgeline.formats.log import Line, Log
from kedgeline.model.turn import MOST_TOKENS

Lines = Iterable[bytes]
Record = dict[str, Any]


# Fields of records that nobody vouches for: the value, or an empty one where its type is wrong.

LARGEST = 2**63 - 1
"""Integers beyond 64 bits can be neither stored nor written by most readers; no count is one."""


def string(value: Any) -> str:
    return value if isinstance(value, str) else ""


def maybe_whole(value: Any) -> int | None:
    return value if type(value) is int and abs(value) <= LARGEST else None


def maybe_tokens(value: Any) -> int | None:
    """A number of tokens that one message can have; None for what is negative, too large or no
    whole number."""
    return value if type(value) is int and 0 <= value <= MOST_TOKENS else None


def mapping(value: Any) -> Record:
    return value if isinstance(value, dict) else {}


def mappings(value: Any) -> list[Record]:
    """The objects of a list; anything else is skipped."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def at(record: Any, path: str) -> Any:
    """What stands at a path of names such as `result.content`; None where nothing does."""
    for name in path.split("."):
        record = mapping(record).get(name)
    return record


_TEXTS = ("type", "text", "thinking")


def misshapen(content: Any, *, texts: bool = False) -> str:
    """What is wrong with a text or a list of blocks (with `texts`, of texts too); empty when
    nothing is."""
    if content is None or isinstance(content, str):
        return ""
    if not isinstance(content, list):
        return f"a {type(content).__name__} in place of a list"
    for block in content:
        if texts and isinstance(block, str):
            continue
        if not isinstance(block, dict):
            return f"a {type(block).__name__} in place of a block"
        for name in _TEXTS:
            text = block.get(name)
            if text.__class__ is not str and text is not None:
                return mistyped(text)
    return ""


def mistyped(text: Any) -> str:
    """What is wrong with what should be a text, if it is there; empty when nothing is."""
    fine = text is None or isinstance(text, str)
    return "" if fine else f"a {type(text).__name__} in place of a text"


def mislisted(blocks: Any) -> str:
    """What is wrong with what should be a list of blocks; empty when nothing is."""
    return "a str in place of a list" if isinstance(blocks, str) else misshapen(blocks)


# Records of JSON Lines files, damaged or not.

SCANS, FEWEST = 8, 262_144
"""How many times over the characters of one broken line may be looked at in search of whole
records, and how many at least; so that a torn line of 100 MB cannot cost minutes."""
STEP_BACK = 8
"""A record that follows a torn text begins at most an escape before the place where it is noticed.
"""
COUNTED_AT_ONCE = 64
"""How much quicker line ends are counted than JSON is read, about: an error of the JSON reader says
in which line it is, and counts all lines before it."""
GAP = 64
"""How far to look over blanks beside an object for what stands around it."""

_BOM = b"\xef\xbb\xbf"
_RECORD_START = re.compile(r'\{\s*"')
_LONE_SURROGATE = re.compile("[\ud800-\udfff]")


def _whole(digits: str) -> float:
    try:
        return int(digits)
    except ValueError:  # Python refuses to read thousands of digits
        return inf


TOLERANT = json.JSONDecoder(strict=False, parse_int=_whole)
"""Reads control characters in strings, and numbers that are none, which `sound` takes out."""
decode_object = msgspec.json.Decoder(dict).decode
_decode_raw = msgspec.json.Decoder(msgspec.Raw).decode


def json_records(
    lines: Lines,
    log: Log,
    *,
    decode: Callable[[bytes], Any] = decode_object,
    known: Callable[[Record], bool],
    shape: Callable[[Record, Line, Log], Any] = lambda record, line, log: record,
) -> Iterator[tuple[Line, Any]]:
    """Every readable record of a JSON Lines file.

    `decode` is the fast way and may be typed. A line it cannot take is taken apart by hand:
    `known` says which recovered objects are records of the format (and not an inner object of a
    torn one), `shape` turns such a plain object into what `decode` would have given."""
    end = 0
    for number, data in enumerate(lines):
        line = Line(number, end, end + len(data))
        end = line.end
        try:
            record = decode(data)
        except (ValueError, RecursionError):
            if not data.isspace():
                for one in recovered(data, line, log, known):
                    yield line, shape(one, line, log)
            continue
        del data  # it may be large, and who takes the record needs the room
        yield line, record


def recovered(
    data: bytes, line: Line, log: Log, known: Callable[[Record], bool]
) -> Iterator[Record]:
    """What can be read of a line that does not decode, with its damage reported."""
    text = decoded(data, line, log).strip()
    behind = found = 0
    torn = False
    for start, end, value in _objects(text, line, log):
        if value is None or (start and not (known(value) and not _is_inner(text, start, end))):
            torn = True
            continue
        torn = torn or not _is_blank(text[behind:start])
        found, behind = found + 1, end
        if found == 2:
            log.broken("fused", line, "more than one record on the line")
        yield sound(value, line, log)
    if not found:
        _report_nothing_found(text, line, log, ends=not data.endswith(b"\n"))
    elif torn or not _is_blank(text[behind:]):
        log.broken("torn", line, "part of the line is not a whole record")


def _report_nothing_found(text: str, line: Line, log: Log, *, ends: bool) -> None:
    if text.startswith("{"):
        told = "the file ends inside this record" if ends else "the record is not complete"
        log.broken("torn", line, told)
    elif text:
        try:
            value = TOLERANT.decode(text)
        except (ValueError, RecursionError):
            log.broken("json", line, f"not JSON: {text[:40]!r}")
        else:
            log.broken("shape", line, f"a {type(value).__name__}, not an object")


def _objects(text: str, line: Line, log: Log) -> Iterator[tuple[int, int, Record | None]]:
    """The whole objects of a text that stand in no other whole one, and None for what is torn."""
    patience = max(SCANS * len(text), FEWEST)
    position = broken_at = 0
    while patience > 0 and (match := _RECORD_START.search(text, position)):
        start, value = match.start(), None
        try:
            value, end = TOLERANT.raw_decode(text, start)
        except RecursionError:
            log.broken("too_deep", line, "nested deeper than can be read")
            end = len(text)
        except json.JSONDecodeError as error:
            end = len(text) if error.msg.startswith("Unterminated") else error.pos
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


def sound(value: Any, line: Line, log: Log) -> Any:
    """A value that was just decoded, without what cannot be written again: halves of surrogates
    are replaced, numbers that are none are left out."""
    root = [value]
    left: list[Any] = [root]
    while left:
        inner = left.pop()
        for key, item in reversed(
            [*(inner.items() if isinstance(inner, dict) else enumerate(inner))]
        ):
            if isinstance(item, (dict, list)):
                left.append(item)
            elif isinstance(item, float) and not isfinite(item):
                log.broken("shape", line, "an invalid number, or one that is too large")
                del inner[key]
            elif isinstance(item, str) and _LONE_SURROGATE.search(item):
                log.broken("surrogate", line, "half of a surrogate pair")
                inner[key] = _LONE_SURROGATE.sub("\ufffd", item)
            if isinstance(key, str) and key in inner and _LONE_SURROGATE.search(key):
                log.broken("surrogate", line, "half of a surrogate pair")
                inner[_LONE_SURROGATE.sub("\ufffd", key)] = inner.pop(key)
    return root[0]


# JSON documents: read whole, and as far as they go when they are cut off.

_WHOLE = Line(0, 0, 0)
ATTEMPTS = 8
"""How often a text is cut before what cannot be read in it."""
DEEPEST = 200
"""Brackets inside each other in a document that is nested deeper than can be read; records have
a dozen."""
_TEXT = r'"(?:[^"\\]|\\.)*+"'
_TOKEN = re.compile(
    rf'{_TEXT}|\{{(?:{_TEXT}|[^"{{}}\[\]])*+\}}|[\[\]{{}},:]|[^\s"\[\]{{}},:]++', re.DOTALL
)
"""Objects that hold no others are one; most are such."""
_BRACKET = re.compile(rf"{_TEXT}|[\[\]{{}},]", re.DOTALL)
_NUMBER = re.compile(r"-?\d[\d.eE+-]*(?=[\s,\]}])")
_WORDS = ("true", "false", "null", "NaN", "Infinity", "-Infinity")
_SKIPPED = b"\xef\xbb\xbf\0"
NOTHING = _SKIPPED + b" \t\r\n"
OPENING_LINES = 8
"""Written lines looked at to tell a document from records; a few of them may be damaged."""


def document(lines: Lines, log: Log) -> Any:
    """The JSON value a file holds; of a cut-off file, the part that is complete."""
    data = b"".join(lines)
    try:
        return msgspec.json.decode(data)
    except (ValueError, RecursionError):
        text = decoded(data, _WHOLE, log)
    try:
        value = TOLERANT.decode(text)
    except (ValueError, RecursionError) as error:
        if isinstance(error, ValueError):
            log.broken("torn", _WHOLE, f"not complete: {error}")
        value = closed(text, log)
    return sound(value, _WHOLE, log)


def documented(lines: Lines) -> tuple[bytes, Iterator[bytes]]:
    """How a file begins that is one JSON document, empty where each line is one, and all its lines
    again. None is held when it was given: each may be large."""
    iterator = iter(lines)
    taken: deque[bytes] = deque()
    written = 0
    for line in iterator:
        taken.append(line)
        written += bool(line.lstrip(NOTHING))
        if written == OPENING_LINES:
            break
    opening = b"".join(islice(taken, 1)).lstrip(NOTHING)[:16].rstrip()
    return (opening if is_document(taken) else b""), chain(given_back(taken), iterator)


def given_back(taken: deque[bytes]) -> Iterator[bytes]:
    """Each line once; none is held when it was given."""
    while taken:
        yield taken.popleft()


def is_document(opened: Iterable[bytes]) -> bool:
    """Whether a file is one JSON value rather than one on each line, also when it is damaged."""
    written = [line.lstrip(_SKIPPED) for line in opened if line.lstrip(NOTHING)]
    first, *others = written or [b""]
    begins = first.lstrip()[:1]
    if begins not in (b"{", b"[") or not others:
        return begins in (b"{", b"[")
    if _is_whole(first):
        return begins == b"[" and not any(line.startswith(b'{"') for line in others)
    if begins == b"{" and others[0].startswith(b'{"'):
        return False  # a torn record and the next one; a document would go on with a key
    # Inside a document a whole object at the beginning of a line has a comma behind it, but for
    # the last one of a list.
    return sum(line.startswith(b'{"') and _is_whole(line) for line in others) < 2


def _is_whole(line: bytes) -> bool:
    try:
        _decode_raw(line)
    except (ValueError, RecursionError):
        return False
    return True


def closed(text: str, log: Log) -> Any:
    """The longest readable beginning of a JSON text, its open brackets closed, with null for
    values nested deeper than can be read; None if nothing is readable."""
    for _ in range(ATTEMPTS):
        end, brackets = _whole_part(text)
        try:
            return TOLERANT.decode(text[:end] + brackets) if end else None
        except RecursionError:
            text = _shallow(text, log)
        except json.JSONDecodeError as error:
            text = text[: min(error.pos, end)]
    return None


def _whole_part(text: str) -> tuple[int, str]:
    """Where the last value ends that is whole, and what closes the brackets open there."""
    closing: list[str] = []
    end = behind = 0
    before = ""
    for found in _TOKEN.finditer(text):
        token = found[0]
        if text[behind : found.start()].strip():
            break
        behind = found.end()
        if token in "{[":
            closing.append("}" if token == "{" else "]")
        elif token in "}]":
            if not closing or closing.pop() != token:
                break
        elif token in ",:" or (token[0] == '"' and closing[-1:] == ["}"] and before in ("{", ",")):
            before = token  # a name is nothing without its value
            continue
        elif not (token[0] in '"{' or token in _WORDS or _NUMBER.match(text, found.start())):
            break  # a number may go on behind the cut
        end, before = behind, token
        if not closing:
            break
    return end, "".join(reversed(closing))


def _shallow(text: str, log: Log) -> str:
    """The text with null in place of values nested deeper than can be read, each reported with the
    number of the item of the first list that it stands in."""
    kept: list[str] = []
    start = depth = number = level = 0
    for found in _BRACKET.finditer(text):
        if found[0] in "{[":
            depth += 1
            level = level or (depth if found[0] == "[" else 0)
            if depth == DEEPEST:
                kept.append(text[start : found.start()])
                start = len(text)
        elif found[0] in "}]":
            if depth == DEEPEST:
                log.broken("too_deep", Line(number), "nested deeper than can be read")
                kept.append("null")
                start = found.end()
            depth -= 1
        elif found[0] == ",":
            number += depth == level
    return "".join([*kept, text[start:]])


def numbered_items(
    value: Any, log: Log, *, what: str = "an object", place: Line | None = None
) -> Iterator[tuple[Line, Record]]:
    """The objects of a list with their number, or all at one place; anything else is reported."""
    for number, item in enumerate(value if isinstance(value, list) else ()):
        line = place or Line(number)
        if isinstance(item, dict):
            yield line, item
        else:
            log.broken("shape", line, f"a {type(item).__name__}, not {what}")


def text_lines(lines: Lines, log: Log) -> Iterator[tuple[Line, str]]:
    """Every line of a text without its line end, blank ones too; damaged bytes are replaced."""
    start = 0
    for number, data in enumerate(lines):
        line = Line(number, start, start + len(data))
        start = line.end
        yield line, decoded(data, line, log).rstrip("\r\n")

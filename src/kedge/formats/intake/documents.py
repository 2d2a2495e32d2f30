"""JSON documents: read whole, and as far as they go when they are cut off."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from typing import Any

import msgspec

from kedge.formats.intake.lines import TOLERANT, Line, Lines, sound
from kedge.formats.intake.log import Log

_WHOLE = Line(0, 0, 0)
_BETWEEN = re.compile(r"[\s,]*")
_COLON = re.compile(r"\s*:\s*")
_WHOLE_NUMBER = re.compile(r"\d[\s,\]}]|[el]")
"""The last letter of a number, or of a word such as true, and what may stand behind it."""
_SKIPPED = b"\xef\xbb\xbf\0"
_NOTHING = _SKIPPED + b" \t\r\n"
OPENING_LINES = 8
"""Written lines looked at to tell a document from records; a few of them may be damaged."""
_decode_raw = msgspec.json.Decoder(msgspec.Raw).decode


def document(lines: Lines, log: Log) -> Any:
    """The JSON value a file holds; of a cut-off file, the part that is complete."""
    data = b"".join(lines)
    try:
        return msgspec.json.decode(data)
    except (ValueError, RecursionError):
        return _recovered(data, log)


def first_lines(lines: Lines) -> tuple[list[bytes], Iterator[bytes]]:
    """The first lines, enough to tell a document from records, and the rest."""
    iterator = iter(lines)
    taken: list[bytes] = []
    written = 0
    for line in iterator:
        taken.append(line)
        written += bool(line.strip(_NOTHING))
        if written == OPENING_LINES:
            break
    return taken, iterator


def is_document(opened: Sequence[bytes]) -> bool:
    """Whether a file is one JSON value rather than one on each line, also when it is damaged."""
    written = [line.lstrip(_SKIPPED) for line in opened if line.strip(_NOTHING)]
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


def _recovered(data: bytes, log: Log) -> Any:
    if b"\0" in data:
        log.broken("nul", _WHOLE, f"{data.count(0)} NUL bytes")
        data = data.replace(b"\0", b"")
    data = data.removeprefix(b"\xef\xbb\xbf")
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        log.broken("utf8", _WHOLE, f"byte {error.start} is not UTF-8")
        text = data.decode(errors="replace")
    try:
        return sound(_whole_or_closed(text, log), _WHOLE, log)
    except RecursionError:
        log.broken("too_deep", _WHOLE, "nested deeper than can be read")
        return None


def _whole_or_closed(text: str, log: Log) -> Any:
    try:
        return TOLERANT.decode(text)
    except ValueError as error:
        log.broken("torn", _WHOLE, f"not complete: {error}")
        return closed(text)


def closed(text: str) -> Any:
    """The longest readable beginning of a JSON text, its open brackets closed; None if none is."""
    root: list[Any] = []
    open_ones: list[Any] = [root]
    position = 0
    try:
        while position >= 0 and not (root and len(open_ones) == 1):
            position = _read_on(text, position, open_ones)
    except RecursionError:
        return None
    return root[0] if root else None


def _read_on(text: str, position: int, open_ones: list[Any]) -> int:
    """Read the next thing into the innermost open value; where it ends, or -1 if it is not whole.

    Of what cannot be read whole, only the bracket is taken: what stands in it comes next."""
    inner = open_ones[-1]
    position = _behind(_BETWEEN, text, position)
    if text[position : position + 1] == ("}" if isinstance(inner, dict) else "]"):
        open_ones.pop()
        return position + 1 if open_ones else -1
    name = ""
    if isinstance(inner, dict):
        name, position = _name_at(text, position)
        if position < 0:
            return -1
    try:
        value, end = TOLERANT.raw_decode(text, position)
    except json.JSONDecodeError:
        if text[position : position + 1] not in ("{", "["):
            return -1
        value, end = {} if text[position] == "{" else [], position + 1
        open_ones.append(value)
    if isinstance(value, (int, float)) and not _WHOLE_NUMBER.match(text, end - 1):
        return -1  # it may go on behind the cut
    if isinstance(inner, dict):
        inner[name] = value
    else:
        inner.append(value)
    return end


def _name_at(text: str, position: int) -> tuple[str, int]:
    """The name of a field, and where its value begins; -1 if no name stands here."""
    try:
        name, end = TOLERANT.raw_decode(text, position)
    except json.JSONDecodeError:
        return "", -1
    begins = _behind(_COLON, text, end)
    return (name, begins) if isinstance(name, str) and begins > end else ("", -1)


def _behind(pattern: re.Pattern[str], text: str, position: int) -> int:
    found = pattern.match(text, position)
    return found.end() if found else position

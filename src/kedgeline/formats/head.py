"""The beginning of a file, as much of it as a format needs to recognise itself."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from functools import cached_property
from itertools import islice
from typing import Any

import msgspec

from kedgeline.formats.log import Log
from kedgeline.formats.records import NOTHING, Record, closed, documented

HEAD_BYTES = 256 * 1024
"""Enough for twenty ordinary records. A head ends with a line: records are seen whole."""
MOST_BYTES = 64 << 20
"""Of a file in which no format is seen yet: a system prompt or a list of tools may come before the
first message, and have any size."""
HEAD_LINES = 20
"""One odd line must not decide, and twenty always hold an ordinary one."""

LONG_TEXT, ESCAPE = 4_096, 6
"""Bytes of a text in a record that is larger than a head should be; and of the longest escape."""
_STRING = re.compile(rb'"(?:[^"\\]++|\\.)*+"', re.DOTALL)


class Head:
    """Formats look at `text`, `document` or `records`; each is worked out once, when asked for."""

    def __init__(self, data: bytes) -> None:
        self.data = data

    @cached_property
    def text(self) -> str:
        """As much of it as tells what kind of text it is."""
        return _plain(self.data[:HEAD_BYTES])

    @property
    def is_json(self) -> bool:
        """Whether it begins like a JSON object or list; Markdown formats need not look further."""
        return self.text[:1] in ("{", "[")

    @cached_property
    def document(self) -> Any:
        """The file as one JSON value, as far as the head goes; None when it is lines or no JSON."""
        if not self.is_json or len(self.lines) > 1:
            return None
        text = _plain(self.data)
        try:
            return json.loads(text, strict=False)
        except RecursionError:
            return closed(text, Log())
        except ValueError:
            return None if self.lines else _whole_items(closed(text, Log()))

    @cached_property
    def lines(self) -> tuple[Record, ...]:
        """Objects that stand alone on one of the first lines; an indented one is part of a
        document."""
        if not self.text.startswith("{") and "\n{" not in self.text:
            return ()
        if self.text.startswith("[") and documented(self.data.split(b"\n"))[0]:
            return ()
        lines = islice(_lines(self.data.lstrip(NOTHING)), HEAD_LINES)
        return tuple(filter(None, map(_object, lines)))

    @cached_property
    def records(self) -> tuple[Record, ...]:
        """The objects of a JSON Lines file; a file of one record is a document too."""
        if self.lines:
            return self.lines
        return (self.document,) if isinstance(self.document, dict) else ()

    def described(self) -> str:
        """What the file seems to be, for the one who asked to read it."""
        if not self.data.strip(b" \t\r\n\0"):
            return "an empty file"
        if b"\0" in self.data[:1024] and self.document is None and not self.lines:
            return "binary data"
        if isinstance(self.document, dict):
            return f"a JSON object with the keys {_some(self.document)}"
        if isinstance(self.document, list):
            inner = next((i for i in self.document if isinstance(i, dict)), None)
            return "a JSON list" + (f" of objects with the keys {_some(inner)}" if inner else "")
        if self.lines:
            return f"JSON Lines with the keys {_some(self.lines[0])}"
        return f"text that begins {self.text[:40]!r}"


def _whole_items(value: Any) -> Any:
    """A cut-off document without the item the cut went through; it lacks fields it really has."""
    if isinstance(value, list) and len(value) > 1:
        return value[:-1]
    if isinstance(value, dict) and value:
        key = next(reversed(value))
        return {**value, key: _whole_items(value[key])} if isinstance(value[key], list) else value
    return value


def _lines(data: bytes) -> Iterator[bytes]:
    """One after the other: together they would be the data once more."""
    at = 0
    while at < len(data):
        end = data.find(b"\n", at) + 1 or len(data)
        yield data[at:end]
        at = end


def _object(line: bytes) -> Record | None:
    if not line.startswith((b"{", b"\0")):
        return None
    if len(line) > HEAD_BYTES:
        line = _abridged(line)
    try:
        value = msgspec.json.decode(line)
    except (ValueError, RecursionError):
        try:
            value = json.loads(_plain(line), strict=False)
        except (ValueError, RecursionError):
            return None
    return value if isinstance(value, dict) else None


def _abridged(line: bytes) -> bytes:
    """A record with its long texts cut: of these the beginning tells enough."""

    def cut(found: re.Match[bytes]) -> bytes:
        start, end = found.span()
        if end - start <= LONG_TEXT:
            return found[0]
        text = line[start : start + LONG_TEXT]
        escape = text.rfind(b"\\", -ESCAPE)
        return (text if escape < 0 else text[:escape].rstrip(b"\\")) + b'"'

    return _STRING.sub(cut, line)


def _plain(data: bytes) -> str:
    return data.replace(b"\0", b"").decode(errors="replace").lstrip("\ufeff \t\r\n")


def _some(record: Record) -> str:
    keys = ", ".join(repr(key) for key in list(record)[:6])
    return keys + (", …" if len(record) > 6 else "") if keys else "(none)"

"""The beginning of a file, as much of it as a format needs to recognise itself."""

from __future__ import annotations

import json
from functools import cached_property
from typing import Any

import msgspec

from kedge.formats.intake.documents import closed, first_lines, is_document
from kedge.formats.intake.lines import Record

HEAD_BYTES = 256 * 1024
"""Enough for twenty ordinary records, and for the first messages of a document behind a long
system prompt."""
HEAD_LINES = 20
"""One odd line must not decide, and twenty always hold an ordinary one."""


class Head:
    """Formats look at `text`, `document` or `records`; each is worked out once, when asked for."""

    def __init__(self, data: bytes) -> None:
        self.data = data[:HEAD_BYTES]

    @cached_property
    def text(self) -> str:
        return self.data.replace(b"\0", b"").decode(errors="replace").lstrip("\ufeff \t\r\n")

    @property
    def is_json(self) -> bool:
        """Whether it begins like a JSON object or list; Markdown formats need not look further."""
        return self.text[:1] in ("{", "[")

    @cached_property
    def document(self) -> Any:
        """The file as one JSON value, as far as the head goes; None when it is lines or no JSON."""
        if not self.is_json:
            return None
        if len(self.lines) > 1:
            return None
        try:
            return json.loads(self.text, strict=False)
        except (ValueError, RecursionError):
            return None if self.lines else _whole_items(closed(self.text))

    @cached_property
    def lines(self) -> tuple[Record, ...]:
        """Objects that stand alone on one of the first lines; an indented one is part of a
        document."""
        if not self.text.startswith("{") and "\n{" not in self.text:
            return ()
        if self.text.startswith("[") and is_document(first_lines(self.data.split(b"\n"))[0]):
            return ()
        return tuple(filter(None, map(_object, self.text.split("\n", HEAD_LINES)[:HEAD_LINES])))

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


def _object(line: str) -> Record | None:
    if not line.startswith("{"):
        return None
    try:
        value = msgspec.json.decode(line)
    except (ValueError, RecursionError):
        value = _tolerated(line)
    return value if isinstance(value, dict) else None


def _tolerated(line: str) -> Any:
    try:
        return json.loads(line, strict=False)
    except (ValueError, RecursionError):
        return None


def _some(record: Record) -> str:
    keys = ", ".join(repr(key) for key in list(record)[:6])
    return keys + (", …" if len(record) > 6 else "") if keys else "(none)"

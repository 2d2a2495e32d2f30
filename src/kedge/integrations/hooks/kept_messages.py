"""What OpenCode leaves as it was when it compacts: its last messages, which the export of a session
names by the first of them."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any


def kept_messages(path: Path, asked: int) -> list[str]:
    """All that is said in them, with paths as facts have them. `asked` is the place of the message
    that the compaction was asked for with."""
    with suppress(OSError, ValueError, TypeError, KeyError, IndexError, AttributeError):
        export = json.loads(path.read_bytes())
        messages = export["messages"]
        marks = [part.get("tail_start_id") for part in messages[asked]["parts"]]
        names = [message["info"]["id"] for message in messages[:asked]]
        first = next((names.index(mark) for mark in marks if mark in names), asked)
        parts = [part for message in messages[first:asked] for part in message["parts"]]
        root = f"{export['info']['directory'].rstrip('/')}/"
        return [text.replace(root, "") for part in parts for text in _said(part)]
    return []


def _said(part: dict[str, Any]) -> Iterator[str]:
    """A call in one line, which tells what was done with a file."""
    if part["type"] == "text":
        yield part["text"]
    elif part["type"] == "tool":
        state = part["state"]
        yield " ".join((part["tool"], *_words_in(state.get("input"))))
        yield from _words_in(state.get("output"))


def _words_in(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _words_in(one)

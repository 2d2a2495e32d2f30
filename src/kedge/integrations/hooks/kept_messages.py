"""What hosts leave as it was when they compact: OpenCode its last messages, which the export of a
session names by the first of them; Codex and Gemini CLI what their record of it lists."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

SAYING = ("content", "arguments", "input", "output")
"""Fields of an item that hold what was said, called for or printed."""


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


def replacing_messages(written: bytes) -> list[str]:
    """All that is said in the items that took the place of all others: the user's messages for the
    most part, and the summary behind them. Those that are sealed say nothing."""
    with suppress(ValueError, TypeError, KeyError, AttributeError):
        items = json.loads(written)["payload"]["replacement_history"]
        said = [item.get(field) for item in items for field in SAYING]
        return [text for one in said for text in _texts_in(one)]
    return []


def messages_behind(written: bytes, summary: str) -> list[str]:
    """All that is said in the messages of a list from behind a summary on: words, and what calls
    were made with and gave."""
    with suppress(ValueError, TypeError, KeyError, AttributeError):
        messages = json.loads(written)["$set"]["messages"]
        said = [list(_words_in(message.get("content"))) for message in messages]
        first = next((n for n, found in enumerate(said, 1) if summary in found), len(said))
        return [text for found in said[first:] for text in found]
    return []


def _texts_in(value: object) -> Iterator[str]:
    """Words, without the names of what kind of block they stand in."""
    if isinstance(value, list):
        for block in value:
            yield from _texts_in(block.get("text") if isinstance(block, dict) else None)
    elif isinstance(value, str):
        yield value


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

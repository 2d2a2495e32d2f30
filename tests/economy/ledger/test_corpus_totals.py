"""The ledger of real sessions equals a count that knows nothing of our readers."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from kedgeline.economy import LedgerBuilder, count_reading
from kedgeline.pipeline.read import stream
from tests.economy.ledger.sessions import Charged

FOLDERS = ("claude-code", "claude-code-samples")
KINDS = {
    "input": "input_tokens",
    "output": "output_tokens",
    "cache_read": "cache_read_input_tokens",
    "cache_write": "cache_creation_input_tokens",
}
"""Our names, and those in the files."""
PROVIDERS_ID = 16
"""Characters: ids of providers are longer; shorter ones were written by hand and come again."""

Counts = tuple[int, ...]
"""Messages, and tokens of each kind."""


def independent(paths: list[Path]) -> tuple[Counts, Counts]:
    """By message id from plain lines of JSON, and by record. In a file the last record of an id
    stands; of several files the one with most output. A short id tells a message only together
    with all that the message says."""
    found: dict[str, Counts] = {}
    every: list[Counts] = []
    for path in paths:
        here: dict[str, tuple[str, Counts]] = {}
        for message in messages_of(path):
            counts = tuple(int(message["usage"].get(name) or 0) for name in KINDS.values())
            if any(counts):  # what a client writes in the model's place has none
                own = len(message["id"]) >= PROVIDERS_ID
                here[message["id"]] = (message["id"] if own else json.dumps(message), counts)
                every.append(counts)
        for key, counts in here.values():
            if key not in found or counts[1] > found[key][1]:
                found[key] = counts
    return added(list(found.values())), added(every)


def messages_of(path: Path) -> Iterator[dict[str, Any]]:
    """Every object with an id and usage, wherever it stands in a record."""
    for line in path.read_bytes().splitlines():
        try:
            left = [json.loads(line)]
        except ValueError:  # a torn line; readers save what can be saved of it
            continue
        while left:
            value = left.pop(0)
            if isinstance(value, dict):
                if isinstance(value.get("usage"), dict) and isinstance(value.get("id"), str):
                    yield value
                left[:0] = [inner for key, inner in value.items() if key != "usage"]
            elif isinstance(value, list):
                left[:0] = value


def added(rows: list[Counts]) -> Counts:
    return (len(rows), *map(sum, zip(*rows, strict=True))) if rows else (0,)


def by_ledger(paths: list[Path]) -> Counts:
    """Without what is estimated."""
    builder = LedgerBuilder()
    for path in paths:
        count_reading(builder, stream(path), source=str(path))
    spent = builder.ledger().total
    tokens = (getattr(spent.tokens, one) - getattr(spent.estimated, one) for one in KINDS)
    return (spent.messages - spent.estimated_messages, *tokens)


def test_totals_equal_an_independent_count_of_usage_per_message_id(corpus: Path) -> None:
    paths = sorted(path for folder in FOLDERS for path in (corpus / folder).rglob("*.jsonl"))
    once, per_record = independent(paths)
    assert by_ledger(paths) == once
    assert once[0] > 4_000
    assert per_record[3] > 2 * once[3], "clients repeat usage with each block they write"


@pytest.fixture
def copies(tmp_path: Path) -> list[Path]:
    records = Charged()
    records.user("go")
    records.charged(1, output=1, read=50)
    records.charged(1, output=9, read=50)
    records.lines.append(b'{"type": "assistant", "torn\n')
    return [records.written(tmp_path / name) for name in ("a.jsonl", "copy.jsonl")]


def test_both_counts_take_a_message_once(copies: list[Path]) -> None:
    once, every = independent(copies)
    assert (once, every[0]) == ((1, 3, 9, 50, 0), 4)
    assert by_ledger(copies) == once

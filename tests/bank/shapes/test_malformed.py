"""A file that cannot be understood is refused with its line, and with no other error."""

from __future__ import annotations

import pytest

from kedgeline.bank.documents import read_document, with_entry
from kedgeline.bank.values import NewEntry
from kedgeline.errors import BankMalformed
from tests.bank.shapes.made import START

MALFORMED = [
    ("activeContext.md", b"# A\n\n\xff\n", 3, "no UTF-8"),
    ("systemPatterns.md", b"# A\nb\0\n", 2, "NUL"),
    (
        "activeContext.md",
        b"# A\n<<<<<<< HEAD\n### [2026-01-01] x\n=======\n>>>>>>> theirs\n",
        2,
        "merge conflict",
    ),
    ("decisionLog.md", b"### DEC-001: x\n\n>>>>>>> theirs\n", 3, "merge conflict"),
    (
        "progress.md",
        b"| id | status |\n|---|---|\n<<<<<<< HEAD\n| 1 | done |\n",
        3,
        "merge conflict",
    ),
    ("activeContext.jsonl", b'{"ts": "2026-01-01T00:00:00Z"}\n<<<<<<< HEAD\n', 2, "merge conflict"),
    ("activeContext.md", b"# A\n\n### [2026-13-45T00:00:00Z] x\n", 3, "begins with no date"),
    (
        "activeContext.md",
        b"### 2026-02-03 - x\n\n### 2026-02-30 - y\n",
        3,
        "'2026-02-30 - y' begins with no date",
    ),
    ("activeContext.md", b"### [23.02.2026] x\n", 1, "no date"),
    ("activeContext.md", b"### [2026-01-01T25:00] x\n", 1, "no date"),
    (
        "activeContext.md",
        b"### [2026-01-02] x\n\n````\ncode\n```\n\n### [2026-01-01] y\n",
        3,
        "never closed",
    ),
    ("decisionLog.md", b"### DEC-001: x\n<!-- oh\n\n### DEC-002: y\n", 2, "never closed"),
    (
        "progress.md",
        b"| task_id | status |\n|---|---|\n| 1 | a | b \\| c |\n",
        3,
        "3 cells, and its table 2 columns",
    ),
    ("activeContext.jsonl", b'{"a": 1}\n[1]\n', 2, "no object"),
    ("activeContext.jsonl", b'{"a": 1}\n\n{"ts": \n', 3, "no JSON"),
    ("activeContext.md", b'{"ts": \n', 1, "no JSON"),
    ("activeContext.jsonl", b'{\n  "a": 1\n}\n', 1, "no JSON"),
    ("activeContext.jsonl", b'{"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}", 1, "too deeply"),
    ("activeContext.jsonl", b'{"a": 1e999}', 1, "no object"),
    ("activeContext.jsonl", b'{"ts": "soon"}\n', 1, "is no time"),
    ("activeContext.jsonl", b'{"ts": true}\n', 1, "is no time"),
    ("activeContext.jsonl", b'{"ts": 1e30}\n', 1, "is no time"),
    ("activeContext.md", b'{"ts": "2026-01-01T00:00:00Z"}\n### [2026-01-01] x\n', 2, "no JSON"),
    ("decisionLog.jsonl", b"# Decisions\n", 1, "no JSON"),
]


@pytest.mark.parametrize(("name", "data", "line", "why"), MALFORMED)
def test_a_malformed_file_is_refused_with_its_line(
    name: str, data: bytes, line: int, why: str
) -> None:
    with pytest.raises(BankMalformed) as refused:
        read_document(name, data)
    assert (refused.value.name, refused.value.line) == (name, line)
    assert why in refused.value.why
    assert str(refused.value).startswith(f"{name}, line {line}: ")


FINE = {
    "a conflict in a code block": (
        "activeContext.md",
        b"### [2026-01-01] x\n```\n<<<<<<< a\n```\n",
    ),
    "a version in brackets": ("activeContext.md", b"### [1.2.0] - 2026-01-01\n\n### [WIP] x\n"),
    "a quarter": ("activeContext.md", b"### 2026-Q1 plans\n"),
    "a date with more behind it": ("activeContext.md", b"### 2026-01-01 3 things: a|b\n"),
    "a decision without a number": ("decisionLog.md", b"### DEC-XXX: template\n### DEC-: x\n"),
    "seven equal signs below a title": ("activeContext.md", b"Title\n=======\n\nText\n"),
    "code that a list closes": ("activeContext.md", b"- ```\n  a\n\n### [2026-01-01] x\n"),
    "inline code": ("activeContext.md", b"```a``` and ``b``\n\n### [2026-01-01] x\n"),
    "an open code block in prose": ("systemPatterns.md", b"# A\n```\nopen\n"),
    "a table of somebody else": ("progress.md", b"| a | b |\n|---|---|\n| 1 |\n"),
    "a row of empty cells": ("progress.md", b"| id | status |\n|---|---|\n|||\n"),
    "rules that look like front matter": ("activeContext.md", b"---\na: b\n\n## x\n---\n"),
}


@pytest.mark.parametrize("case", FINE)
def test_what_only_looks_malformed_is_read(case: str) -> None:
    name, data = FINE[case]
    assert read_document(name, data).text.encode() == data


def test_entries_are_found_behind_what_only_looks_like_an_open_code_block() -> None:
    for case in ("code that a list closes", "inline code", "a date with more behind it"):
        assert len(list(read_document(*FINE[case]).entries())) == 1


def test_an_entry_is_not_added_where_an_open_code_block_would_swallow_it() -> None:
    document = read_document(*FINE["an open code block in prose"])
    with pytest.raises(BankMalformed, match="line 2: this code block is never closed"):
        with_entry(document, NewEntry(agent="Mate", at=START))


def test_of_two_kinds_of_entries_in_one_file_its_name_says_which_count() -> None:
    text = b"### [2026-01-01] dated\n\n### DEC-001: decided\n"
    assert [e.title for e in read_document("activeContext.md", text).entries()] == ["dated"]
    assert [e.title for e in read_document("decisionLog.md", text).entries()] == ["decided"]


def test_a_table_inside_a_dated_entry_does_not_change_what_the_file_is() -> None:
    table = b"| id | status |\n|---|---|\n| 1 | done |\n"
    assert read_document("progress.md", b"### 2026-01-01 - x\n\n" + table).shape == "headings"
    assert read_document("progress.md", table + b"\n### 2026-01-01 - x\n").shape == "tables"
    assert read_document("notes.md", table).shape == "tables"
    assert read_document("activeContext.md", table).shape == "headings"

"""Reading takes time in proportion to the file, whatever stands in it."""

from __future__ import annotations

import sys
import time
from contextlib import suppress

import pytest

from kedge.bank.shapes import read_document
from kedge.errors import BankMalformed

SMALL, FACTOR, ALLOWED = 20_000, 16, 4
"""Bytes of the smaller file, how much larger the other is, and how much longer a byte of it may
take: with quadratic time it would be sixteen times as long."""

ENTRIES = {
    "dated": ("activeContext.md", "", "### [2026-02-23T00:00:00Z] agent\n\n- **Summary**: x\n\n"),
    "tables": ("progress.md", "| id | status |\n|---|---|\n", "| T-1 | done |\n"),
    "boxes": ("progress.md", "", "- [x] M-1: something (2026-01-02)\n"),
    "dated items": ("activeContext.md", "", "- [2026-01-02] something\n"),
    "JSON": ("activeContext.jsonl", "", '{"ts": "2026-02-23T00:00:00Z"}\n'),
}
HOSTILE = {
    "marks of lists": ("activeContext.md", "", "-    - "),
    "open JSON": ("activeContext.md", 'x\n{"', '"ts" '),
    "open quotes": ("activeContext.md", "### [2026-01-01] x\nSources: ", '"a,'),
    "empty sources": ("activeContext.md", "### [2026-01-01] x\n", "Sources:\n"),
    "listed sources": ("activeContext.md", "### [2026-01-01] x\n", "Sources:\n- a\n"),
    "open references": ("activeContext.md", "", "> Archived: 3 entries: x ("),
    "code blocks": ("activeContext.md", "", "```\n"),
    "code blocks in lists": ("activeContext.md", "", "- ```\n  a\nb\n"),
    "comments": ("activeContext.md", "", "<!-- a\n"),
    "underlines": ("activeContext.md", "", "a\n====\n"),
    "closing hashes": ("activeContext.md", "### [2026-01-01] ", " #"),
    "separators": ("activeContext.md", "### [2026-01-01T00:00Z] ", " -"),
    "brackets": ("progress.md", "- [x] ", " (2026-01-01, a"),
    "blanks below a box": ("progress.md", "- [x] a\n", "\n \n"),
    "delimiters": ("progress.md", "| id | status |\n", "|---"),
    "heads of tables": ("progress.md", "", "| id | status |\n|---|---|\n"),
    "gaps in tables": ("progress.md", "| id | status |\n|---|---|\n", "| 1 | 2 |\n\n<!-- -->\n"),
    "open front matter": ("activeContext.md", "---\na: b\n", "- b\n"),
    "backslashes": ("progress.md", "| id | status |\n|---|---|\n| ", "\\"),
    "bold": ("activeContext.md", "### [2026-01-01] x\n", "- **"),
    "rules": ("activeContext.md", "### [2026-01-01] x\n", "\n---\n"),
    "an open rule": ("activeContext.md", "### [2026-01-01] x\n", "- "),
    "comments at the end": ("activeContext.md", "### [2026-01-01] x\n", "\n<!-- a -->\n"),
    "bold dates": ("activeContext.md", "### **", "2026-01-01 **"),
    "clocks": ("activeContext.md", "### 2026-01-01 10", ":1"),
    "dates of a box": ("progress.md", "- [x] a ", "(done 2026-01-01 "),
    "open boxes below": ("progress.md", "- [x] a\n", "  - [x] \n"),
    "blanks in dated items": ("activeContext.md", "- [2026-01-01] a", " \t"),
}


def seconds(name: str, text: str) -> float:
    data = text.encode()
    best = 1e9
    for _ in range(3):
        start = time.process_time()
        with suppress(BankMalformed):
            read_document(name, data)
        best = min(best, time.process_time() - start)
    return best


def calls(name: str, text: str) -> int:
    """Calls that reading takes: no clock, so the same on every machine."""
    count = 0

    def counted(*_: object) -> None:
        nonlocal count
        count += 1

    sys.setprofile(counted)
    try:
        read_document(name, text.encode())
    finally:
        sys.setprofile(None)
    return count


@pytest.mark.parametrize("case", ENTRIES)
def test_work_per_entry_does_not_grow_with_the_file(case: str) -> None:
    name, lead, unit = ENTRIES[case]
    few, many = (calls(name, lead + unit * entries) for entries in (50, 800))
    assert many <= few * 16 * 1.1


@pytest.mark.torture
@pytest.mark.parametrize("case", ENTRIES | HOSTILE)
def test_time_per_byte_does_not_grow_with_the_file(case: str) -> None:
    name, lead, unit = (ENTRIES | HOSTILE)[case]
    times = SMALL // len(unit)
    small = seconds(name, lead + unit * times)
    large = seconds(name, lead + unit * times * FACTOR)
    assert large <= max(small, 0.0005) * FACTOR * ALLOWED


@pytest.mark.torture
def test_this_measure_sees_quadratic_time() -> None:
    def slow(length: int) -> float:
        start = time.process_time()
        for n in range(length):
            sum(range(n))
        return time.process_time() - start

    assert slow(300 * FACTOR) > max(slow(300), 0.0005) * FACTOR * ALLOWED


@pytest.mark.torture
@pytest.mark.parametrize("case", ENTRIES)
def test_sixteen_megabytes_are_read_in_seconds(case: str) -> None:
    name, lead, unit = ENTRIES[case]
    assert seconds(name, lead + unit * (16_000_000 // len(unit))) < 8

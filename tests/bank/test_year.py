"""A year of work in a bank that is compacted every evening: nothing is lost, and it stays small."""

from __future__ import annotations

import json
import random
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from functools import partial
from hashlib import sha256
from pathlib import Path

import pytest

from kedgeline.bank.archive import archive_name
from kedgeline.bank.compaction import index_of
from kedgeline.bank.entries import DECISIONS, BankEntry, Limits, Other, Piece, stem
from tests.bank.banks import Bank, Kept, pieces_with_archived, stamp

START = datetime(2026, 1, 1, 8, tzinfo=UTC)
SEASON = (60, 1_150)
"""Two months at the pace of a year, for every run of the tests: the log just gets its index."""
WEEK = (7, 150)
"""The same for a week, at twice the pace, on a disk."""
SHARES = {"active": 0.74, "decision": 0.12, "milestone": 0.14}
LARGEST = 12_500
"""Estimated tokens the working files may have after a compaction. Seen over the year: 7,914 in
Markdown, 11,550 in JSON Lines, both while the log is just short of its index."""
NASTY = (
    "```\n### [2020-01-01T00:00:00Z] in a code block\n```",
    "<!-- kedgeline:block entries=1 lead=0 bytes=3 sha256=" + "a" * 64 + " -->",
    "    indented | with | bars  \n\tand a tab",
    "<!-- a comment\n### [2020-01-01T00:00:00Z] hidden -->",
    "Ünïcödé 🧵 and  two blanks",
)
PERSON = "## Mine\n\nA person's section,   oddly spaced.\t\n\n- [ ] not an entry\n\n"


class Markdown:
    """Entries as people and agents write them: the newest on top, a table, decisions below each
    other."""

    def __init__(self, make: Callable[..., Bank] = Bank) -> None:
        self.bank = make(
            activeContext_md="# Active Context\n\n" + PERSON,
            decisionLog_md="# Decision Log\n\n",
            progress_md="# Progress\n\n",
            systemPatterns_md="# Patterns\n\nSmall files.\n",
        )
        self.written: Counter[tuple[str, str]] = Counter()
        """File and text of every entry."""

    def add(self, kind: str, number: int, at: datetime, words: str) -> None:
        getattr(self, kind)(number, at, words)

    def active(self, number: int, at: datetime, words: str) -> None:
        text = f"### [{stamp(at)}] agent-{number % 4}\n\nDid part {number}. {words}\n\n"
        head, before, rest = self.bank.text("activeContext.md").partition(PERSON)
        self._put("activeContext.md", head + before, text, rest)

    def decision(self, number: int, at: datetime, words: str) -> None:
        text = (
            f"### DEC-{number:05}: Use way {number}\n\n**Date:** {at.date().isoformat()}\n"
            f"**Decision:** We use way {number}. {words}\n**Status:** Active\n\n"
        )
        self._put("decisionLog.md", self.bank.text("decisionLog.md"), text, "")

    def milestone(self, number: int, at: datetime, words: str) -> None:
        text = (
            f"### [{stamp(at)}] agent-1\n\n**Id:** M-{number}\n**Status:** completed\n\n{words}\n\n"
        )
        head, blank, rest = self.bank.text("progress.md").partition("\n\n")
        self._put("progress.md", head + blank, text, rest)

    def _put(self, name: str, before: str, text: str, after: str) -> None:
        self.bank.files[name] = (before + text + after).encode()
        self.written[name, text] += 1


class JsonLines(Markdown):
    """The schema: JSON Lines with the hash of the line before, and progress as a table."""

    def __init__(self, make: Callable[..., Bank] = Bank) -> None:
        super().__init__()
        head = "| task_id | status | agent | milestone_severity | updated_at |\n"
        head += "|---|---|---|---|---|\n"
        self.bank = make(
            activeContext_jsonl="",
            decisionLog_jsonl="",
            progress_md=f"# Progress\n\n{head}",
            systemPatterns_md="# Patterns\n\nSmall files.\n",
        )
        self._last = {"activeContext.jsonl": "0" * 64, "decisionLog.jsonl": "0" * 64}

    def active(self, number: int, at: datetime, words: str) -> None:
        said = {"source_agent": f"agent-{number % 4}", "summary_128": f"Did part {number}. {words}"}
        self._line("activeContext.jsonl", {"ts": stamp(at), **said})

    def decision(self, number: int, at: datetime, words: str) -> None:
        said = {"proposer_agent": "agent-1", "rationale": f"Way {number} is best. {words}"}
        self._line("decisionLog.jsonl", {"id": f"DEC-{number:05}", "ts": stamp(at), **said})

    def milestone(self, number: int, at: datetime, words: str) -> None:
        text = f"| T-{number} | completed | agent-1 | high | {stamp(at)} |\n"
        self._put("progress.md", self.bank.text("progress.md"), text, "")

    def _line(self, name: str, row: dict[str, object]) -> None:
        line = json.dumps({**row, "predecessor_hash": self._last[name]}, ensure_ascii=False)
        self._last[name] = sha256(line.encode()).hexdigest()
        self._put(name, self.bank.text(name), f"{line}\n", "")


def year(dialect: Markdown, *, days: int, entries: int) -> Iterator[int]:
    """Days of work, each with a compaction in the evening; the tokens behind each of them."""
    chance = random.Random(7)
    kinds, weights = list(SHARES), list(SHARES.values())
    for day in range(days):
        for number in range(entries * day // days, entries * (day + 1) // days):
            at = START + timedelta(days=day, minutes=number % 600)
            words = "Its tests pass. " * chance.randrange(1, 6)
            if chance.random() < 0.05:
                words = f"\n\n{chance.choice(NASTY)}\n"
            dialect.add(chance.choices(kinds, weights)[0], number, at, words)
        log = dict(logs(dialect.bank))
        plan = dialect.bank.compact(now=START + timedelta(days=day, hours=12))
        assert log == dict(logs(dialect.bank)), "the decision log is never touched"
        yield plan.tokens_after


def logs(bank: Bank) -> Iterator[tuple[str, bytes]]:
    return ((name, data) for name, data in bank.files.items() if stem(name) == DECISIONS)


def found_again(bank: Bank) -> Counter[tuple[str, str]]:
    """Every entry of files and archives, with the file it was written into. A comment at its end
    may be read as none of its own where nothing follows."""
    found: list[tuple[str, str]] = []
    for document in bank.documents():
        archive = bank.files.get(archive_name(document.name), b"")
        before: Piece | None = None
        for piece in pieces_with_archived(document, archive):
            if isinstance(piece, BankEntry):
                found.append((document.name, piece.text))
            elif isinstance(piece, Other) and isinstance(before, BankEntry):
                found[-1] = (document.name, found[-1][1] + piece.text)
            before = piece
    return Counter(found)


def check_year(dialect: Markdown, *, days: int, entries: int) -> int:
    """The largest number of tokens that the working files had."""
    largest = max(year(dialect, days=days, entries=entries))
    bank = dialect.bank
    assert found_again(bank) == dialect.written
    assert sum(dialect.written.values()) == entries
    assert bank.verify().found == ()
    (log,) = [document for document in bank.documents() if stem(document.name) == DECISIONS]
    index = bank.files["decisionLog.index.md"]
    assert index == index_of(log)
    assert index.count(b"\n- DEC-") == sum(1 for _ in log.entries())
    assert largest <= LARGEST
    return largest


DIALECTS = (Markdown, JsonLines)


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_season_of_daily_compactions_loses_nothing_and_stays_small(
    dialect: type[Markdown],
) -> None:
    """R35, R36."""
    lived = dialect()
    check_year(lived, days=SEASON[0], entries=SEASON[1])
    if dialect is Markdown:
        assert PERSON in lived.bank.text("activeContext.md")


@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_week_on_the_disk_is_the_same(dialect: type[Markdown], tmp_path: Path) -> None:
    """Through the real bank; and an undo of each compaction gives all of it back."""
    lived = dialect(partial(Kept, tmp_path / "bank", Limits(entries=10, index_after=5)))
    check_year(lived, days=WEEK[0], entries=WEEK[1])
    before = found_again(lived.bank)
    assert isinstance(lived.bank, Kept)
    for _ in range(WEEK[0] - 1):
        lived.bank.undo()
    assert found_again(lived.bank) == before

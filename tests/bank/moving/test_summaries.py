"""The line that stands for entries says each thing once."""

from __future__ import annotations

import re

import pytest

from kedge.bank.moving.summaries import entry_summary, summary_of
from kedge.bank.shapes import read_document
from kedge.bank.values import Limits
from tests.bank.banks import Bank, active_entry


def summary(name: str, text: str) -> str:
    return summary_of([*read_document(name, text.encode()).entries()])


def test_a_batch_names_each_entry_once() -> None:
    text = "".join(active_entry(n, words=f"text {n}.") for n in (3, 2, 1))
    assert summary("activeContext.md", text) == "text 3; text 2; text 1."


def test_a_batch_names_the_files_of_all() -> None:
    text = "".join(active_entry(n, words=f"Wired it in src/part_{n}.py.") for n in (2, 1))
    assert summary("activeContext.md", text) == (
        "Wired it in part_2.py; Wired it in part_1.py. Files: part_2.py, part_1.py"
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("- [x] t1 (2025-01-01)\n", "t1."),
        ("- [x] M-1: t1 (2025-01-01T10:00:00Z, agent-1)\n", "t1."),
        ("- [x] t1 (2025-01-01)\n  It is three times as fast.\n", "t1; It is three times as fast."),
        ("| id | title | status |\n|---|---|---|\n| T-1 | t1 | done |\n", "t1."),
    ],
)
def test_one_entry_does_not_repeat_its_title(text: str, said: str) -> None:
    (entry,) = read_document("progress.md", text.encode()).entries()
    assert entry_summary(entry) == said


def test_summaries_of_summaries_have_no_double_marks() -> None:
    bank = Bank(Limits(entries=3, references=2), activeContext_md="# Active Context\n\n")
    for n in range(60):
        head, blank, rest = bank.text("activeContext.md").partition("\n\n")
        entry = active_entry(n, words=f"The thing of day {n} has a longer name.")
        bank.files["activeContext.md"] = (head + blank + entry + rest).encode()
        bank.compact()
    for reference in bank.document("activeContext.md").references():
        assert "……" not in reference.summary
        named = re.findall(r"day \d+", reference.summary)
        assert len(named) == len(set(named)), reference.summary

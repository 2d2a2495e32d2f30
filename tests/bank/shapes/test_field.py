"""Files as they are found in the field, with what people and other tools write into them."""

from __future__ import annotations

import random
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kedgeline.bank.documents import read_document, with_entry
from kedgeline.bank.values import Limits, NewEntry
from tests.bank.banks import Bank
from tests.bank.shapes.field import AT, NEW, QUOTED, grown, others, read, refusals, titles


def days(*numbers: int, level: str = "###", title: str = "") -> str:
    return "".join(f"{level} 2026-02-{n:02} - x{title}\n\ntext {n}\n\n" for n in numbers)


@pytest.mark.parametrize("name", ["decisionLog.md", "decisionLog.jsonl"])
def test_two_decisions_with_one_id_are_both_kept_and_the_next_is_beyond_the_largest(
    name: str,
) -> None:
    ids = ("DEC-003", "DEC-004", "DEC-004", "DEC-002")
    line = '{{"id": "{}"}}\n' if name.endswith("l") else "### {}: x\n\n"
    document = read("".join(map(line.format, ids)), name)
    assert tuple(entry.id for entry in document.entries()) == ids
    assert [entry.id for entry in grown(document).entries()][-1] == "DEC-005"


@pytest.mark.parametrize(
    ("text", "order"),
    [
        ("".join(days(1, title=f" step {n}") for n in range(9, 12)), "oldest_first"),
        ("".join(days(1, title=f" step {n}") for n in (11, 10, 9)), "newest_first"),
        ("".join(f"### 2026-02-01\n\nId: T-{n}\n\n" for n in (9, 10)), "oldest_first"),
        (QUOTED + days(1, 1), "oldest_first"),
        (days(1, 1) + QUOTED, "newest_first"),
        (days(1, 3, 2), "oldest_first"),
        (days(3, 1, 2), "newest_first"),
        (days(1, 1), "newest_first"),
    ],
)
def test_where_times_do_not_tell_the_order_numbers_and_references_do(text: str, order: str) -> None:
    assert read(text).order == order


def test_a_dated_heading_inside_an_entry_does_not_change_which_headings_are_entries() -> None:
    text = days(6, 5, 4, level="##") + "### 2026-02-07 follow-up\n\nmore\n"
    assert titles(read(text)) == ["x"] * 3
    assert titles(read("### 2026-02-07 old\n\n" + text)) == ["old", "follow-up"]


def test_headings_that_are_only_a_day_are_sections_where_entries_of_that_day_are_below() -> None:
    section = "## 2026-02-0{0}\n\n### [2026-02-0{0}T10:00:00Z] Mate\n\ntext\n\n"
    document = read("## 2026-02-09\n\nnothing\n\n" + section.format(2) + section.format(1))
    assert [entry.agent for entry in document.entries()] == ["Mate", "Mate"]


FOOTER = "---\n\n<!-- END -->\n\n_Maintained by Anna._\n"


@pytest.mark.parametrize("footer", [FOOTER, "* * *\n\n[a]: b\n", "<!-- one -->\n\n<!-- two -->\n"])
@pytest.mark.parametrize("section", ["", "\n## Links\n\n- one\n"])
def test_a_footer_stays_where_it_is(footer: str, section: str) -> None:
    text = f"# A\n\n{days(9, 8, 7, 6)}{footer}{section}"
    document = read(text)
    assert others(document).endswith(footer + section)
    assert "text 6\n\n" in [*document.entries()][-1].text
    bank = Bank(Limits(entries=2, least_entries=1), activeContext_md=text)
    assert refusals(bank.compact()) == []
    assert bank.text("activeContext.md").endswith(footer + section)


def test_what_only_looks_like_a_footer_is_the_entrys_own() -> None:
    for own in (
        "---\n\n",
        "---\n\n#### Part two\n\nmore\n",
        "```\n\n---\n\ncode\n```\n",
        "a\n<!-- id: 7 -->\n",
    ):
        *_, last = read(days(2, 1) + own).entries()
        assert last.text.endswith(own)
    first, _ = read(f"{days(2)}{FOOTER}\n{days(1)}").entries()
    assert FOOTER in first.text


@pytest.mark.parametrize("text", ["a\n\n---\n\nb", "a\n\n<!-- b -->", "* * *\nc\n\n<!-- d -->\n"])
def test_what_an_agent_writes_is_no_footer(text: str) -> None:
    document = read_document("activeContext.md", b"# A\n")
    new = NewEntry(agent="Mate", at=AT, text=text)
    again = read(with_entry(document, new))
    assert others(again) == "# A\n\n"


def test_cells_that_are_missing_are_empty() -> None:
    table = "| Task | Status | Agent |\n|---|---|---|\n| a | done |\n| b | open | Mate |\n"
    found = [(e.title, e.done, e.agent) for e in read(table, "progress.md").entries()]
    assert found == [("a", True, ""), ("b", False, "Mate")]


def test_a_line_of_json_in_an_entry_is_text() -> None:
    log = '{"level": "info", "ts": 1700000000}\n{"ts": "x", "predecessor_hash": ""}\n'
    [entry] = read(f"### [2026-01-01] x\n\nSaw:\n\n{log}").entries()
    assert entry.text.endswith(log)


@pytest.mark.parametrize("number", ["1700000000", "1700000000.0", "1700000000000"])
def test_a_time_in_json_may_be_a_number(number: str) -> None:
    [entry] = read(f'{{"ts": {number}, "a": 1}}\n', "events.jsonl").entries()
    assert entry.at == datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)


@pytest.mark.parametrize(
    ("heading", "title"),
    [
        ("# [2026-02-01] one", "one"),
        ("#### [2026-02-01] one", "one"),
        ("### 2026/02/01", ""),
        ("### [2026/02/01] one", "one"),
        ("### Session 2026-02-01: one", "one"),
        ("### Session 12 - 2026-02-01", ""),
        ("## **2026-02-01** - one", "one"),
        ("### **2026-02-01 - one**", "one"),
        ("### 2026-02-01 10:00: one", "one"),
    ],
)
def test_headings_of_the_field_begin_entries(heading: str, title: str) -> None:
    document = read(f"{heading}\n\ntext\n\n{heading.replace('-01', '-02')}\n\nmore\n")
    assert titles(document) == [title, title]
    assert {entry.at.date().isoformat()[:7] for entry in document.entries() if entry.at} == {
        "2026-02"
    }
    again = grown(document)
    assert titles(again).count("Third port") == 1
    assert len(titles(again)) == 3


def test_one_title_with_a_date_is_no_entry() -> None:
    assert titles(read(f"# 2026-02-09 Active context\n\n{days(2, 1)}")) == ["x", "x"]
    assert read("# 2026-02-09 Plans\n\ntext\n", "notes.md").shape == "prose"


def test_a_small_heading_ends_no_entry_and_dated_ones_of_agents_begin_none() -> None:
    document = read("#### [2026-02-02] a\n\n#### Left to do\n\nb\n\n#### [2026-02-01] c\n")
    assert titles(document) == ["a", "c"]
    new = NewEntry(agent="Mate", at=AT, text="#### Fine\n\n#### [2026-01-01] forged")
    assert len(titles(read(with_entry(document, new)))) == 3


@pytest.mark.parametrize(
    ("name", "text", "before", "after"),
    [
        (
            "activeContext.md",
            "# A\n\nIntro.\n\n## Focus\n\n- x\n\n## Risks\n",
            "Intro.",
            "## Focus",
        ),
        ("activeContext.md", "# A\n\n## Log\n\n## Risks\n\n- x\n", "## Log", "## Risks"),
        ("decisionLog.md", "# D\n\n## Decisions\n\n## Links\n", "## Decisions", "## Links"),
        ("systemPatterns.md", "# S\n\nIntro.\n\n## One\n\ntext\n", "Intro.", "## One"),
        ("progress.md", "# P\n\n## Works\n\n- x\n\n## Broken\n", "# P", "## Works"),
    ],
)
def test_the_first_entry_does_not_land_below_a_section_of_somebody_else(
    name: str, text: str, before: str, after: str
) -> None:
    document = read(text, name)
    written = with_entry(document, NEW)
    assert written.index(before) < written.index("Third port") < written.index(f"\n\n{after}\n")
    again = read(written, name)
    assert len(titles(again)) == 1
    assert set(text.split()) <= set(others(again).split())


DECISION_TABLE = (
    "# Decision Log\n\n| Date | Decision | Rationale |\n|---|---|---|\n"
    "| 2026-01-01 | Use PG | fast |\n| 2026-01-02 | Use Go | small |\n"
)


def test_a_table_of_decisions_has_an_entry_in_every_row() -> None:
    document = read(DECISION_TABLE, "decisionLog.md")
    assert (document.shape, titles(document)) == ("tables", ["Use PG", "Use Go"])
    fields = {"Decision": "Use the log.", "Rationale": "It is safe."}
    new = NewEntry(agent="Mate", at=AT, title="Log", fields=fields)
    row = "| 2026-03-01T12:30:00Z | Use the log. | It is safe. |\n"
    assert with_entry(document, new) == DECISION_TABLE + row


def test_plain_numbers_of_decisions_are_counted_on() -> None:
    table = (
        "| ID | Date | Decision | Status |\n|---|---|---|---|\n| 9 | 2026-01-01 | x | Active |\n"
    )
    assert [entry.id for entry in grown(read(table, "decisionLog.md")).entries()] == ["9", "10"]


def test_a_heading_with_a_number_makes_a_log_with_a_table_one_of_headings() -> None:
    text = f"{DECISION_TABLE}\n### DEC-001: x\n"
    assert titles(read(text, "decisionLog.md")) == ["x"]


@settings(max_examples=60, deadline=None)
@given(st.randoms(use_true_random=False))
def test_any_file_with_rules_comments_and_sections_can_be_compacted(chance: random.Random) -> None:
    fillers = (
        *("---\n\n", FOOTER, "<!-- c -->\n\n", "## S\n\n", "more\n\n", "### Notes\n\nn\n\n"),
        *("#### 2026-02-01 - small\n\n", "```\n---\n```\n\n"),
    )
    parts = []
    for _ in range(8):
        parts.append(days(chance.randrange(1, 28)))
        parts += chance.choices(fillers, k=chance.randrange(3))
    bank = Bank(Limits(entries=5, least_entries=1, references=2), activeContext_md="".join(parts))
    for stay in (5, 3, 1):
        bank.limits = Limits(entries=stay, least_entries=1, references=2)
        assert refusals(bank.compact()) == []

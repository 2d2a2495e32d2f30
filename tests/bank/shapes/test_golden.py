"""The shapes found in the field, read and written back."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

from kedgeline.bank.documents import new_file, read_document, with_entry
from kedgeline.bank.fields import is_done
from kedgeline.bank.values import Document, NewEntry
from kedgeline.errors import BadName

GOLDEN = Path(__file__).parent / "golden"
FILES = {
    "activeContext.md": ("activeContext.md", "headings", "newest_first"),
    "decisionLog.md": ("decisionLog.md", "headings", "oldest_first"),
    "progress.md": ("progress.md", "tables", "oldest_first"),
    "checklist.md": ("progress.md", "lists", "oldest_first"),
    "dated_progress.md": ("progress.md", "headings", "oldest_first"),
    "activeContext.jsonl": ("activeContext.jsonl", "json_lines", "oldest_first"),
    "decisionLog.jsonl": ("decisionLog.jsonl", "json_lines", "oldest_first"),
}
AT = datetime(2026, 3, 1, 12, 30, tzinfo=UTC)
NEW = NewEntry(
    agent="Mate",
    at=AT,
    title="Third port",
    text="It has other columns.",
    status="completed",
    sources=("tides/parse.py",),
    summary="Read the third port (tides/*); done.",
)


def day(number: int, month: int = 2) -> datetime:
    return datetime(2026, month, number, tzinfo=UTC)


def golden(file: str) -> Document:
    return read_document(FILES[file][0], (GOLDEN / file).read_bytes())


def rows(document: Document, *fields: str) -> list[tuple[Any, ...]]:
    return [tuple(getattr(entry, field) for field in fields) for entry in document.entries()]


@pytest.mark.parametrize("file", FILES)
def test_every_shape_is_recognised_by_its_content_and_kept_to_the_byte(file: str) -> None:
    document = golden(file)
    assert (document.name, document.shape, document.order) == FILES[file]
    assert document.text.encode() == (GOLDEN / file).read_bytes()


def test_dated_entries_are_read_with_what_they_say_of_themselves() -> None:
    document = golden("activeContext.md")
    assert rows(document, "line", "at", "agent", "title") == [
        (16, day(23) + timedelta(hours=14, minutes=5), "Harbour Pilot", "tide tables parsed"),
        (31, day(22) + timedelta(hours=7), "Harbour Pilot", ""),
        (40, day(21), "Mate", "Chose the table format"),
    ]
    first = next(document.entries())
    assert first.sources == ("tides/parse.py", "tests/test_parse.py")
    assert first.summary == "Parsed the tide tables (tides/*); all tests passing."
    assert (first.status, first.done) == ("", False), "a status in a code block is none"
    [reference] = document.references()
    assert (reference.entries, reference.archive) == (12, "activeContext.archive.md")
    assert (reference.first, reference.last) == (day(2, 1), day(3) + timedelta(hours=10))
    assert reference.summary == "Built the skeleton (app/*); it runs."


def test_decisions_are_read_in_all_three_spellings_of_fields() -> None:
    assert rows(golden("decisionLog.md"), "id", "at", "agent", "title", "status") == [
        ("DEC-001", day(5, 1), "", "Keep times in UTC", "Superseded by DEC-003"),
        ("DEC-002", day(6, 1) + timedelta(hours=8.5), "Mate", "One file per port", "Active"),
        ("DEC-003", day(1), "", "Store the offset too", "Active"),
    ]


def test_of_a_field_that_stands_there_twice_the_first_counts() -> None:
    text = "### 2026-01-01 - x\nCompleted: all of it\nFiles:\n- `a.py`\n- b c.py\n"
    text += "Status: done\n\nSources: later.py\nStatus: open again\n"
    [entry] = read_document("progress.md", text.encode()).entries()
    assert (entry.status, entry.done, entry.sources) == ("done", True, ("a.py", "b c.py"))


@pytest.mark.parametrize(
    ("status", "done"),
    [
        *[
            (one, True)
            for one in ("done", "**Completed** (2026)", "✅", "✅ Done", "100%", "Closed.")
        ],
        *[(one, False) for one in ("", "not done", "incomplete", "in progress", "Active", "90%")],
    ],
)
def test_a_milestone_is_reached_when_the_first_word_of_its_status_says_so(
    status: str, done: bool
) -> None:
    assert is_done(status) == done


def test_milestones_are_rows_boxes_or_headings_with_a_status() -> None:
    assert rows(golden("progress.md"), "id", "at", "agent", "title", "done") == [
        ("T-001", day(2, 1), "Mate", "Skeleton", True),
        ("T-002", day(1) + timedelta(hours=8), "Harbour Pilot", "Parser", False),
        ("T-003", None, "", "Viewer", False),
    ]
    assert rows(golden("checklist.md"), "id", "at", "agent", "title", "done") == [
        ("M-1", day(2, 1), "", "Skeleton runs", True),
        ("", day(1), "Mate", "2026-02-01: parser reads both ports", False),
        ("", None, "", "Viewer (needs a person)", False),
    ]
    assert rows(golden("dated_progress.md"), "at", "title", "status", "done") == [
        (day(2, 1), "Skeleton", "completed", True),
        (day(1), "Parser", "not done yet", False),
    ]


def test_both_dialects_of_the_same_entries_are_the_same_entries() -> None:
    """R37: JSON Lines and Markdown are both parsed; the order is by time."""
    markdown, lines = golden("activeContext.md"), golden("activeContext.jsonl")
    said = {(entry.at, entry.agent, entry.sources) for entry in markdown.entries()}
    assert {(entry.at, entry.agent, entry.sources) for entry in lines.entries()} < said
    news = [
        NEW,
        NewEntry(agent="Pilot", at=AT + timedelta(days=1), title="x", sources=("a", "b,c")),
    ]
    for stem in ("activeContext", "decisionLog"):
        found = []
        for name in (f"{stem}.md", f"{stem}.jsonl"):
            document = read_document(name, new_file(name))
            for new in news:
                document = read_document(name, with_entry(document, new).encode())
            fields = ("id", "at", "agent", "title", "status", "done", "sources", "summary")
            found.append(
                [tuple(getattr(entry, field) for field in fields) for entry in document.by_age()]
            )
        assert found[0] == found[1]
        assert len(found[0]) == 2


ADDED = {
    "activeContext.md": (
        "## Now\n\n",
        "### [2026-03-01T12:30:00Z] Mate — Third port\n\n- **Status**: completed\n"
        "- **Summary**: Read the third port (tides/*); done.\n- **Sources**: tides/parse.py\n\n"
        "It has other columns.\n\n",
    ),
    "decisionLog.md": (
        "decided.\n",
        "\n## DEC-004: Third port\n\nDate: 2026-03-01T12:30:00Z\n\nAgent: Mate\n\n"
        "Status: completed\n\nSummary: Read the third port (tides/*); done.\n\n"
        "Sources: tides/parse.py\n\nIt has other columns.\n",
    ),
    "progress.md": (
        "| | T-003 | not done | | low | - | Viewer |\n",
        "| 2026-03-01T12:30:00Z | T-004 | completed | Mate |  |  | Third port |\n",
    ),
    "checklist.md": (
        "* [ ] Viewer (needs a person)\n",
        "- [x] Third port (2026-03-01T12:30:00Z, Mate)\n"
        "  - **Summary**: Read the third port (tides/*); done.\n"
        "  - **Sources**: tides/parse.py\n\n    It has other columns.\n",
    ),
    "dated_progress.md": (
        "- **Status**: not done yet\n",
        "\n## 2026-03-01 - Third port\n\n- **Time**: 2026-03-01T12:30:00Z\n- **Agent**: Mate\n"
        "- **Status**: completed\n- **Summary**: Read the third port (tides/*); done.\n"
        "- **Sources**: tides/parse.py\n\nIt has other columns.\n",
    ),
}


@pytest.mark.parametrize("file", ADDED)
def test_a_new_entry_looks_like_its_neighbours_and_stands_in_the_order_of_the_file(
    file: str,
) -> None:
    document = golden(file)
    before, entry = ADDED[file]
    head, found, tail = document.text.partition(before)
    assert found
    assert with_entry(document, NEW) == head + before + entry + tail


def test_a_new_line_of_json_names_the_one_before_it() -> None:
    document = golden("activeContext.jsonl")
    *before, new = with_entry(document, NEW).splitlines()
    assert f'"predecessor_hash": "{sha256(before[-1].encode()).hexdigest()}"' in new
    assert '"source_agent": "Mate"' in new


def test_behind_a_reference_the_chain_goes_on_from_the_last_archived_line() -> None:
    """R35: the chain continues from the reference."""
    new = with_entry(golden("decisionLog.jsonl"), NEW).splitlines()[-1]
    assert f'"predecessor_hash": "{"c" * 64}"' in new


def test_decisions_are_numbered_in_the_pattern_of_the_file() -> None:
    def following(*ids: str) -> str:
        text = "".join(f"### {one}: x\n\n" for one in ids)
        document = read_document("decisionLog.md", text.encode())
        *_, last = read_document("decisionLog.md", with_entry(document, NEW).encode()).entries()
        return last.id

    assert following() == "DEC-001"
    assert following("DEC-001", "DEC-009", "DEC-003") == "DEC-010"
    assert following("DEC-7", "DEC-99") == "DEC-100"
    assert following("ADR-0041") == "ADR-0042"
    assert following("DEC-20260227-004") == "DEC-20260301-001"
    assert following("DEC-20260301-001", "DEC-20260301-002") == "DEC-20260301-003"
    assert following("DEC-001", "DEC-20260301-001") == "DEC-20260301-002"


@pytest.mark.parametrize(("given", "why"), [("seven", "has no number"), ("DEC-002", "in line 13")])
def test_a_decision_cannot_take_a_number_that_is_none_or_taken(given: str, why: str) -> None:
    new = NewEntry(agent="Mate", at=AT, title="x", id=given)
    with pytest.raises(BadName, match=why):
        with_entry(golden("decisionLog.md"), new)


@pytest.mark.parametrize(
    ("name", "shape"),
    [
        ("activeContext.md", "headings"),
        ("active-context.md", "headings"),
        ("decisionLog.md", "headings"),
        ("progress.md", "tables"),
        ("systemPatterns.md", "prose"),
        ("whatever.md", "prose"),
        ("activeContext.jsonl", "json_lines"),
        ("decisionLog.index.md", "prose"),
    ],
)
def test_an_empty_file_and_one_of_prose_is_what_its_name_says(name: str, shape: str) -> None:
    assert read_document(name, b"").shape == shape
    assert read_document(name, new_file(name)).shape == shape
    if name.endswith(".md"):
        assert read_document(name, b"# Words\n\nand more.\n").shape == shape


def test_an_entry_in_a_file_of_prose_makes_it_a_dated_one() -> None:
    document = read_document("systemPatterns.md", b"# Patterns\n\n- one")
    text = with_entry(document, NEW)
    assert text.startswith("# Patterns\n\n- one\n\n### [2026-03-01T12:30:00Z] Mate — Third port\n")
    assert read_document("systemPatterns.md", text.encode()).shape == "headings"


def test_line_ends_and_a_byte_order_mark_stay_and_new_entries_have_them_too() -> None:
    document = read_document("activeContext.md", b"\xef\xbb\xbf# A\r\n\r\n### [2026-01-01] x\r\n")
    text = with_entry(document, NEW)
    assert text.startswith("\ufeff# A\r\n\r\n### [2026-03-01] Third port\r\n\r\n- **Time**")
    assert text.endswith("\r\n\r\n### [2026-01-01] x\r\n")
    assert "\n" not in text.replace("\r\n", "")


def test_where_most_neighbours_get_younger_downwards_a_new_entry_goes_to_the_end() -> None:
    text = "".join(f"### [2026-01-0{n}] x\n\n" for n in (3, 1, 2, 4, 5)) + "## Notes\nmine\n"
    document = read_document("activeContext.md", text.encode())
    assert document.order == "oldest_first"
    assert with_entry(document, NEW).index("Third port") > text.index("2026-01-05")
    assert with_entry(document, NEW).endswith("\n\n## Notes\nmine\n")

"""Bank files as they are found in the field: read to the byte, and what is understood of them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedgeline.bank.documents import read_document
from kedgeline.bank.entries import Document, Limits, Other, is_done
from kedgeline.errors import BankMalformed
from tests.bank.banks import Bank, refusals
from tests.bank.made import HASH, REFERENCE, Made, files, hostile_texts, named

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
QUOTED = f"> Archived: 2 entries: both (activeContext.archive.md, sha256:{HASH})\n\n"
FOOTER = "---\n\n<!-- END -->\n\n_Maintained by Anna._\n"


def golden(file: str) -> Document:
    return read_document(FILES[file][0], (GOLDEN / file).read_bytes())


def day(number: int, month: int = 2, **more: float) -> datetime:
    return datetime(2026, month, number, tzinfo=UTC) + timedelta(**more)


def read(text: str, name: str = "activeContext.md") -> Document:
    document = read_document(name, text.encode())
    assert document.text == text
    return document


def rows(document: Document, *fields: str) -> list[tuple[Any, ...]]:
    return [tuple(getattr(entry, field) for field in fields) for entry in document.entries()]


def titles(document: Document) -> list[str]:
    return [entry.title for entry in document.entries()]


def days(*numbers: int, level: str = "###") -> str:
    return "".join(f"{level} 2026-02-{n:02} - x\n\ntext {n}\n\n" for n in numbers)


@pytest.mark.parametrize("file", FILES)
def test_every_shape_is_recognised_by_its_content_and_kept_to_the_byte(file: str) -> None:
    document = golden(file)
    assert (document.name, document.shape, document.order) == FILES[file]
    assert document.text.encode() == (GOLDEN / file).read_bytes()


def test_dated_entries_are_read_with_what_they_say_of_themselves() -> None:
    document = golden("activeContext.md")
    assert rows(document, "line", "at", "agent", "title") == [
        (16, day(23, hours=14, minutes=5), "Harbour Pilot", "tide tables parsed"),
        (31, day(22, hours=7), "Harbour Pilot", ""),
        (40, day(21), "Mate", "Chose the table format"),
    ]
    first = next(document.entries())
    assert first.sources == ("tides/parse.py", "tests/test_parse.py")
    assert first.summary == "Parsed the tide tables (tides/*); all tests passing."
    assert (first.status, first.done) == ("", False), "a status in a code block is none"
    [reference] = document.references()
    assert (reference.entries, reference.archive) == (12, "activeContext.archive.md")
    assert (reference.first, reference.last) == (day(2, 1), day(3, hours=10))
    assert reference.summary == "Built the skeleton (app/*); it runs."


def test_decisions_are_read_in_all_spellings_of_fields() -> None:
    assert rows(golden("decisionLog.md"), "id", "at", "agent", "title", "status") == [
        ("DEC-001", day(5, 1), "", "Keep times in UTC", "Superseded by DEC-003"),
        ("DEC-002", day(6, 1, hours=8.5), "Mate", "One file per port", "Active"),
        ("DEC-003", day(1), "", "Store the offset too", "Active"),
    ]


def test_milestones_are_rows_boxes_or_headings_with_a_status() -> None:
    assert rows(golden("progress.md"), "id", "at", "agent", "title", "done") == [
        ("T-001", day(2, 1), "Mate", "Skeleton", True),
        ("T-002", day(1, hours=8), "Harbour Pilot", "Parser", False),
    ]
    assert rows(golden("checklist.md"), "id", "at", "agent", "title", "done") == [
        ("M-1", day(2, 1), "", "Skeleton runs", True),
        ("", day(1), "Mate", "parser reads both ports", False),
        ("", None, "", "Viewer (needs a person)", False),
    ]
    assert rows(golden("dated_progress.md"), "at", "title", "status", "done") == [
        (day(2, 1), "Skeleton", "completed", True),
        (day(1), "Parser", "not done yet", False),
    ]


@pytest.mark.parametrize(
    ("status", "done"),
    [
        *((one, True) for one in ("done", "**Completed** (2026)", "✅", "✅ Done", "100%")),
        *((one, False) for one in ("", "not done", "incomplete", "in progress", "Active", "90%")),
    ],
)
def test_a_milestone_is_reached_when_the_first_word_of_its_status_says_so(
    status: str, done: bool
) -> None:
    assert is_done(status) == done


@pytest.mark.parametrize(
    ("heading", "title"),
    [
        ("# [2026-02-01] one", "one"),
        ("#### [2026-02-01] one", "one"),
        ("### 2026/02/01", ""),
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
    assert [f"{one.at:%Y-%m}" for one in document.entries() if one.at] == ["2026-02"] * 2


@pytest.mark.parametrize(
    ("name", "text", "found"),
    [
        ("activeContext.md", f"# 2026-02-09 Active context\n\n{days(2, 1)}", ["x", "x"]),
        ("activeContext.md", days(6, 5, level="##") + "### 2026-02-07 more\n", ["x", "x"]),
        ("activeContext.md", "### [2026-01-01] a\n\n### DEC-001: b\n", ["a"]),
        ("decisionLog.md", "### [2026-01-01] a\n\n### DEC-001: b\n", ["b"]),
        ("decisionLog.md", "### [2026-01-01] a\n\ntext\n", ["a"]),
        ("progress.md", "### 2026-01-01 - a\n\n| id | status |\n|---|---|\n| 1 | x |\n", ["a"]),
        (
            "progress.md",
            "| title | status |\n|---|---|\n| a | done |\n| b |\n\n### 2026-01-01 - c\n",
            ["a", "b"],
        ),
        ("decisionLog.md", "| Date | Decision |\n|---|---|\n| 2026-01-01 | a |\n", ["a"]),
        ("activeContext.md", "- [2026-01-02] a\n- [2026-01-01](x) link\n- [ ] box\n", ["a"]),
        (
            "activeContext.jsonl",
            '{"ts": "2026-01-01", "title": "a", "odd": [1]}\n\n{}\n',
            ["a", ""],
        ),
        ("activeContext.md", "### [1.2.0] - 2026-01-01\n\n### [WIP] x\n", []),
        ("activeContext.md", "### 2026-Q1 plans\n", []),
        ("decisionLog.md", "### DEC-XXX: template\n### DEC-: x\n", []),
        ("activeContext.md", "- ```\n  a\n\n### [2026-01-01] a\n", ["a"]),
        ("activeContext.md", "```a``` and ``b``\n\n### [2026-01-01] a\n", ["a"]),
        ("activeContext.md", "### [2026-01-01] a\n```\n<<<<<<< a\n```\n", ["a"]),
        ("progress.md", "| a | b |\n|---|---|\n| 1 |\n", []),
        ("progress.md", "| id | status |\n|---|---|\n|||\n", [""]),
        ("systemPatterns.md", "# A\n```\nopen\n", []),
    ],
)
def test_what_counts_as_an_entry(name: str, text: str, found: list[str]) -> None:
    assert titles(read(text, name)) == found


@pytest.mark.parametrize(
    ("text", "order"),
    [
        (QUOTED + days(1, 1), "oldest_first"),
        (days(1, 1) + QUOTED, "newest_first"),
        (days(1, 3, 2), "oldest_first"),
        (days(3, 1, 2), "newest_first"),
        (days(1, 1), "newest_first"),
    ],
)
def test_the_order_is_that_of_most_neighbours_then_of_references(text: str, order: str) -> None:
    assert read(text).order == order


@pytest.mark.parametrize("footer", [FOOTER, "* * *\n\n[a]: b\n", "<!-- one -->\n\n<!-- two -->\n"])
@pytest.mark.parametrize("section", ["", "\n## Links\n\n- one\n"])
def test_a_footer_stays_where_it_is(footer: str, section: str) -> None:
    text = f"# A\n\n{days(9, 8, 7, 6)}{footer}{section}"
    document = read(text)
    others = "".join(one.text for one in document.pieces if isinstance(one, Other))
    assert others.endswith(footer + section)
    bank = Bank(Limits(entries=2, least_entries=1), activeContext_md=text)
    assert refusals(bank.compact()) == []
    assert bank.text("activeContext.md").endswith(footer + section)


@pytest.mark.parametrize(
    "own",
    ["---\n\n", "---\n\n#### Part two\n\nmore\n", "```\n\n---\n\nx\n```\n", "a\n<!-- 7 -->\n"],
)
def test_what_only_looks_like_a_footer_is_the_entrys_own(own: str) -> None:
    *_, last = read(days(2, 1) + own).entries()
    assert last.text.endswith(own)


MALFORMED = [
    ("activeContext.md", b"# A\n\n\xff\n", 3, "not UTF-8"),
    ("systemPatterns.md", b"# A\nb\0\n", 2, "NUL"),
    ("activeContext.md", b"# A\n<<<<<<< HEAD\n### [2026-01-01] x\n=======\n", 2, "merge conflict"),
    ("decisionLog.md", b"### DEC-001: x\n\n>>>>>>> theirs\n", 3, "merge conflict"),
    ("progress.md", b"| id | status |\n|---|---|\n<<<<<<< HEAD\n| 1 | done |\n", 3, "merge"),
    ("activeContext.jsonl", b'{"ts": "2026-01-01"}\n<<<<<<< HEAD\n', 2, "merge conflict"),
    ("activeContext.md", b"# A\n\n### [2026-13-45T00:00:00Z] x\n", 3, "does not begin with a date"),
    ("activeContext.md", b"### 2026-02-03 - x\n\n### 2026-02-30 - y\n", 3, "'2026-02-30 - y'"),
    ("activeContext.md", b"### [2026-01-02] x\n\n````\ncode\n```\n\n### y\n", 3, "never closed"),
    ("decisionLog.md", b"### DEC-001: x\n<!-- oh\n\n### DEC-002: y\n", 2, "never closed"),
    ("activeContext.jsonl", b'{"a": 1}\n[1]\n', 2, "not a JSON object"),
    ("activeContext.jsonl", b'{"a": 1}\n\n{"ts": \n', 3, "not a JSON object"),
    (
        "activeContext.jsonl",
        b'{"a": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
        1,
        "not a JSON object",
    ),
    ("activeContext.md", b'{"ts": "2026-01-01"}\n### [2026-01-01] x\n', 2, "not a JSON object"),
    ("decisionLog.jsonl", b"# Decisions\n", 1, "not a JSON object"),
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


@pytest.mark.parametrize(
    "wrong",
    [
        f"> Archived: 3 entries: x (../x.md, sha256:{HASH})",
        f"> Archived: 3 entries: x (x.md, sha256:{HASH[:-1]})",
        f"> Archived: 3 entries: x (x.md, sha256:{HASH.upper()})",
        f"> Archived: many entries: x (x.md, sha256:{HASH})",
        f"> Archived: 3 entries, 2026-02-30 to 2026-03-01: x (x.md, sha256:{HASH})",
        f"> Archived: 3 entries: x (x.md, sha256:{HASH}) and more",
    ],
)
def test_a_forged_reference_is_somebody_elses_line(wrong: str) -> None:
    document = read(f"### [2026-01-02] x\n\ntext\n\n{wrong}\n\n### [2026-01-01] y\n")
    assert list(document.references()) == []
    assert len(list(document.entries())) == 2


@pytest.mark.parametrize(
    "wrong", ['"archived": true', '"archive": "/x.md"', '"sha256": "1"', '"first": "soon"']
)
def test_a_forged_reference_in_json_is_neither_entry_nor_reference(wrong: str) -> None:
    right = f'{{"archived": 3, "archive": "x.md", "sha256": "{HASH}"'
    assert len([*read(f"{right}}}", "activeContext.jsonl").references()]) == 1
    [piece] = read(f"{right}, {wrong}}}", "activeContext.jsonl").pieces
    assert isinstance(piece, Other)


@given(files)
def test_a_file_is_its_pieces_to_the_byte_and_all_its_entries_are_found(made: Made) -> None:
    data = made.text.encode()
    document = read_document(made.name, data)
    assert document.text.encode() == data
    found = [named(made, entry) for entry in document.entries()]
    # the last one may have lost a newline to an editor
    assert [one.rstrip("\n") for one in found] == [one.rstrip("\n") for one in made.entries]
    assert sum(1 for _ in document.references()) == made.text.count(REFERENCE.strip())
    line = 1
    for piece in document.pieces:
        assert piece.text
        assert piece.line == line
        line += piece.text.count("\n")


@given(
    st.sampled_from(("activeContext.md", "decisionLog.md", "progress.md", "notes.md", "x.jsonl")),
    st.binary(max_size=200) | hostile_texts.map(lambda text: text.encode(errors="surrogatepass")),
)
def test_any_file_round_trips_or_is_refused_with_its_line(name: str, data: bytes) -> None:
    assert_round_trip_or_refusal(name, data)


def assert_round_trip_or_refusal(name: str, data: bytes) -> None:
    refusal = None
    try:
        assert read_document(name, data).text.encode() == data
    except BankMalformed as error:
        refusal = error
    if refusal is not None:
        assert 1 <= refusal.line <= data.count(b"\n") + 1
        assert refusal.name == name

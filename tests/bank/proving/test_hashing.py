"""What of an entry counts: what it says, and neither its status nor how it is laid out."""

from __future__ import annotations

import time

import pytest

from kedge.bank.proving import hashing
from kedge.bank.proving.hashing import content_hash
from kedge.bank.shapes import read_document
from kedge.bank.values import Entry
from tests.bank.banks import Bank, decision, decisions

LOG = "decisionLog.md"
HEAD = "# Decision Log\n\n### DEC-001: a\n\n"


def digest(text: str) -> str:
    """Of the first entry, as it is read."""
    return content_hash(next(read_document(LOG, text.encode()).entries()))


def test_the_status_of_json_and_of_a_row_does_not_count() -> None:
    for one, other in (
        ('{"id": "D", "status": "Active"}', '{"id": "D", "status": "Old"}'),
        ("| D-1 | use it | Active |", "| D-1 | use it | Old |"),
        ("### D\n- **Status**: Active\n", "### D\n- **Status**: Old\n"),
    ):
        first = Entry(text=one, line=1, status="Active")
        second = Entry(text=other, line=1, status="Old")
        assert content_hash(first) == content_hash(second)
        assert content_hash(first) != content_hash(Entry(text=one.replace("D", "E"), line=1))


@pytest.mark.parametrize(
    "end",
    [
        "\n---\n\n",
        "---\n",
        "\n***\n\n* * *\n",
        "\n<!-- more below -->\n",
        "\n<!-- more\n\nbelow -->\n\n---\n",
        "\n\n\n",
        "\n---\n\n<!-- a -->\n<!-- b -->\n\n",
    ],
)
def test_what_people_put_between_entries_is_no_change(end: str) -> None:
    bank = Bank(decisionLog_md=decisions([0]))
    bank.chain()
    bank.files[LOG] = (decisions([0]) + end + decision(1)).encode()
    assert bank.verify().sound
    bank.chain()
    bank.files[LOG] = decisions([0, 1]).encode()
    assert bank.verify().found == ()


@pytest.mark.parametrize(
    "end",
    [
        "\n---\n\nThis is void.\n",
        "\n- and more\n",
        "\nSee <!-- not --> this <!-- one -->\n",
        "\n<!-- a --> text <!-- b -->\n",
        "\n```\n---\n```\n",
        "\n--> it ends\n",
    ],
)
def test_what_is_said_behind_a_rule_counts(end: str) -> None:
    """Whether it belongs to the entry is for its shape to say."""
    text = decision(0)
    assert content_hash(Entry(text=text + end, line=1)) != content_hash(Entry(text=text, line=1))


def test_layout_is_no_change() -> None:
    plain = HEAD + "- **Decision**: d\n- **Reason**: r\n"
    for other in (
        HEAD + "- **Decision**: d  \n- **Reason**: r\t\n",
        HEAD + "\n\n- **Decision**: d\n\n\n- **Reason**: r\n\n",
        plain.replace("\n", "\r\n"),
    ):
        assert digest(other) == digest(plain)
    assert digest(plain.replace("- **Reason**", "  - **Reason**")) != digest(plain)


@pytest.mark.parametrize("line", ["- **Status**: Old", "**Status:** Old", "Status: Old"])
@pytest.mark.parametrize("place", range(4))
def test_a_status_may_stand_anywhere(line: str, place: int) -> None:
    fields = ["- **Date**: 2026-01-01", "- **Decision**: d", "- **Reason**: r"]
    without = HEAD + "\n".join(fields) + "\n"
    for gap in ("", "\n"):
        fields_with = [*fields[:place], f"{gap}{line}{gap}", *fields[place:]]
        assert digest(HEAD + "\n".join(fields_with) + "\n") == digest(without)


@pytest.mark.parametrize(
    "line",
    [
        "- Status codes: return {}",
        "Status of tests: {}",
        "Status {} is what it returns",
        "**Status codes**: {}",
        "Statuses: {}",
        "```\nStatus: {}\n```",
        "<!-- a\nStatus: {}\n-->",
    ],
)
def test_a_line_that_only_begins_like_a_status_counts(line: str) -> None:
    text = HEAD + line + "\n- **Decision**: d\n- **Status**: {}\n"
    first, changed = text.format("404", "Active"), text.format("410", "Active")
    superseded = text.format("404", "Superseded by DEC-002")
    assert digest(first) != digest(changed)
    assert digest(first) == digest(superseded)


def test_the_same_words_in_code_are_not_the_status() -> None:
    text = HEAD + "```\nStatus: Active\n```\n\n- **Decision**: d\n- **Status**: {}\n"
    assert digest(text.format("Active")) == digest(text.format("Old"))


def test_the_status_is_the_field_that_it_was_read_from() -> None:
    text = HEAD + "- **Status**:\n- **Decision**: d\n- **State**: {}\n"
    assert digest(text.format("Active")) == digest(text.format("Old"))


def test_only_one_status_is_left_out() -> None:
    text = HEAD + "- **Status**: Active\n- **Decision**: d\n- **Status**: {}\n"
    assert digest(text.format("Active")) != digest(text.format("Old"))


@pytest.mark.torture
@pytest.mark.torture
def test_an_entry_of_many_comments_and_codes_is_hashed_in_time() -> None:
    many = 20_000  # in quadratic time this takes minutes
    text = HEAD + "```\nStatus: Active\n```\n" * many + "<!-- a -->\n" * many + "x -->\n"
    started = time.process_time()
    content_hash(Entry(text=text, line=1, status="Active"))
    content_hash(Entry(text=text[: -len("x -->\n")], line=1, status="Active"))
    assert time.process_time() - started < 5


def test_a_planted_bug_that_drops_any_status_line_is_seen(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def first_line(text: str, status: str) -> str:
        lines = text.split("\n")
        place = next(n for n, line in enumerate(lines) if "Status" in line)
        return "\n".join(lines[:place] + lines[place + 1 :])

    monkeypatch.setattr(hashing, "_without_status", first_line)
    text = HEAD + "- Status codes: {}\n- **Planted**: p\n- **Status**: Active\n"
    assert digest(text.format("404")) == digest(text.format("410"))

"""Pages as JSON: what a browser is given of a session."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kedgeline import Session
from kedgeline.redact import Redactor
from kedgeline.web.pages import compaction_page, html_page, session_page, turns_page, turns_with
from kedgeline.web.session import ShownSession, open_file
from tests.conftest import EXAMPLES
from tests.web import hostile

SECRET = "correct-horse-battery-staple-9"


@pytest.fixture(scope="module")
def compacted() -> ShownSession:
    return open_file(EXAMPLES / "claude-code-compacted.jsonl", Redactor())


@pytest.fixture(scope="module")
def long() -> ShownSession:
    return open_file(EXAMPLES / "claude-code-long.jsonl", Redactor(), window=64_000)


def test_a_session_is_told_turn_by_turn(long: ShownSession) -> None:
    page = session_page(long)
    columns = page["columns"]
    assert {len(column) for column in columns.values()} == {194}
    assert all(columns["reported"])
    assert columns["context"][-1] == long.turns[-1].usage.context  # type: ignore[union-attr]
    assert list(columns["cost"]) == sorted(columns["cost"])
    window = page["window"]
    assert 0 < window["target"] < window["trigger"] < window["tokens"] == 64_000
    assert {one["passed"] for one in page["checks"]} == {True, False}
    (agent,) = page["agents"]
    assert (agent["first"], agent["turns"]) == (13, 5)
    assert len(turns_page(long, 0, 99, agent["agent"])) == 5
    assert page["files"][0]["edits"][-1]["turn"] > page["files"][-1]["edits"][-1]["turn"]


def test_compactions_of_the_host_are_drops(compacted: ShownSession) -> None:
    found = session_page(compacted)["compactions"]
    assert [one["kind"] for one in found] == ["outputs cleared", "summary", "preview"]
    assert found[1]["turn"] == 37
    assert found[1]["before"] > found[1]["after"] > 0


def cited(parts: Any) -> list[tuple[int, ...]]:
    """The turns of each line of a summary."""
    return [tuple(one["turns"]) for part in parts for one in part["lines"]]


def test_every_line_of_a_summary_leads_to_turns_that_are_there(long: ShownSession) -> None:
    """And all that is left out is named with its turn."""
    page = compaction_page(long, "now")
    lines, lost = cited(page["summary"]), cited(page["losses"])
    assert len(lines) > 30
    assert {turn for one in lines for turn in one} <= {turn.index for turn in long.turns}
    assert sum(map(bool, lines)) > 0.9 * len(lines)
    assert lost
    assert all(lost)


def test_kept_and_folded_turns_are_all_turns(long: ShownSession) -> None:
    page = compaction_page(long, "now")
    spans = [*page["folded"], *page["kept_turns"]]
    turns = [n for span in spans for n in range(span["first"], span["last"] + 1)]
    assert turns == list(range(194))
    assert page["after"] < page["before"]
    lead, *rest = page["view"]
    assert "kedgeline-summary" in lead["notes"][-1]["text"]
    assert [one.get("same", one.get("turn")) for one in rest] == list(
        range(page["kept_turns"][0]["first"], 194)
    )


def test_the_hosts_summary_stands_beside_ours(compacted: ShownSession) -> None:
    page = compaction_page(compacted, "host-1")
    assert page["host"].startswith("This session is being continued")
    assert page["summary"]
    assert {"host", "passed"} <= set(page["questions"][0])
    assert max(turn for one in cited(page["summary"]) for turn in one) < 37


def test_a_session_that_is_not_full_is_shown_as_if_it_was() -> None:
    found = open_file(EXAMPLES / "claude-code-long.jsonl", Redactor())
    page = compaction_page(found, "now")
    assert page["window"]["as_if_full"]
    assert page["summary"]


def test_edits_are_diffs(long: ShownSession) -> None:
    calls = [call for turn in turns_page(long, 0, 193) for call in turn["calls"]]
    diffs = [diff for call in calls for diff in call["diffs"]]
    assert len(diffs) > 20
    lines = {line[:1] for diff in diffs for line in diff["lines"]}
    assert lines <= {"+", "-", " ", "@"}


def test_words_are_found_in_what_turns_hold(long: ShownSession) -> None:
    assert 48 in turns_with(long, ["UNSUPPORTED", "operand"])
    assert turns_with(long, ["no-such-word-anywhere"]) == []


def test_a_kept_session_shows_its_own_compactions(tmp_path: Path) -> None:
    with Session.open("harbor", tmp_path / "store", window=32_000) as kept:
        kept.follow(EXAMPLES / "claude-code-long.jsonl")
        made = kept.compact()
        kept.pin("t12")
        found = ShownSession("harbor", kept.transcript(), Redactor(), kept=kept)
        page = session_page(found)
        ours, _now = page["compactions"]
        assert (ours["by"], ours["before"]) == ("kedgeline", made.tokens_before)
        assert page["pins"] == [{"turn": 12, "text": ""}]
        shown = compaction_page(found, ours["id"])
        assert shown["can_undo"]
        assert shown["summary_tokens"] == made.summary_tokens


def texts(value: object) -> list[str]:
    if isinstance(value, dict):
        return [t for pair in value.items() for one in pair for t in texts(one)]
    if isinstance(value, (list, tuple)):
        return [t for one in value for t in texts(one)]
    return [value] if isinstance(value, str) else []


def shown(found: ShownSession) -> list[str]:
    """All texts of all pages of a session."""
    page = session_page(found)
    compactions = [compaction_page(found, one["id"]) for one in page["compactions"]]
    return texts([page, turns_page(found, 0, 999), compactions])


def test_no_secret_gets_into_a_page(tmp_path: Path) -> None:
    text = (EXAMPLES / "claude-code-long.jsonl").read_text("utf-8")
    path = tmp_path / "session.jsonl"
    path.write_text(text.replace("make check", f"make check {SECRET}"), "utf-8")
    told = shown(open_file(path, Redactor([("TOKEN", SECRET)])))
    assert not [one for one in told if SECRET in one]
    assert [one for one in told if "TOKEN]" in one]


def test_no_control_character_gets_into_a_page_and_no_markup_into_the_file(tmp_path: Path) -> None:
    found = open_file(hostile.write(tmp_path / "hostile.jsonl"), Redactor())
    for text in shown(found):
        assert not set(text) & {"\x1b", "\x07", "\u202e", "\u2066", "\u200f", "\x9b"}, text
    media = [one for turn in turns_page(found, 0, 999) for one in turn["media"] if "data" in one]
    assert {one["mime"] for one in media} == {"image/png"}
    page = html_page(found)
    assert "window.ran" not in page
    assert page.count("<script") == 2
    assert "default-src 'none'" in page
    assert "http:" not in page.replace("http://www.w3.org/2000/svg", "")


OTHERS = {"README.md", "demo.py"}
"""What lies beside the sessions."""


@pytest.mark.parametrize("name", sorted({path.name for path in EXAMPLES.iterdir()} - OTHERS))
def test_every_format_makes_a_page(name: str) -> None:
    found = open_file(EXAMPLES / name, Redactor())
    assert session_page(found)["columns"]["title"]
    assert 'id="data"' in html_page(found)

"""`kedgeline cost`: what sessions were charged for."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from kedgeline import Session
from tests.claude import use
from tests.cli.running import LONG, one, ran
from tests.conftest import EXAMPLES
from tests.economy.ledger.sessions import Charged

CLAIM = '{"packet_id": "p", "agent_id": "Backend", "tokens_consumed": 0}'


def session(*numbers: int, model: str = "claude-opus-4-5-20251101") -> Charged:
    records = Charged()
    for number in numbers:
        records.user(f"step {number}")
        records.charged(number, use(f"c{number}"), read=1_000, write=100, model=model)
        records.result(f"c{number}", "done")
    return records


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    session(1, 2).written(tmp_path / "logs" / "a.jsonl")
    session(1, 2, 3).written(tmp_path / "logs" / "deeper" / "b.jsonl")
    (tmp_path / "logs" / "notes.txt").write_text("no session at all")
    return tmp_path / "logs"


def test_a_folder_counts_every_message_once_and_says_what_it_skipped(folder: Path) -> None:
    made = one("cost", str(folder))
    assert (made["total"]["messages"], made["total"]["cache_read"]) == (3, 3_000)
    assert (made["copies"], made["passed_over"]) == (2, 1)
    assert [row["messages"] for row in made["sessions"]] == [2, 1]
    assert made["tools"] == [{"tool": "Bash", "calls": 3, "input": 3, "output": 30}]
    text = ran("cost", str(folder)).out
    assert re.search(r"3 messages · 3,339 tokens · \$0\.00\d\d", text)
    assert re.search(r"main +3 +9 +30 +3,000 +300 ", text)
    assert "claude-opus-4-5-20251101" in text
    assert "copies of messages that are counted once: 2" in text
    assert "skipped, no sessions: 1 file" in text


def test_an_unknown_model_has_an_unknown_cost_and_sums_say_at_least(tmp_path: Path) -> None:
    file = str(session(4, model="harbour-1").written(tmp_path / "a.jsonl"))
    other = str(session(5).written(tmp_path / "b.jsonl"))
    alone = one("cost", file)["total"]["cost"]
    assert alone == {"amount": None, "currency": "USD", "at_least": True, "unknown": ["harbour-1"]}
    both = ran("cost", file, other).out
    assert "at least $" in both
    assert re.search(r"harbour-1 .* unknown", both)


def test_estimates_are_marked() -> None:
    chat = str(EXAMPLES / "openai-chat.json")
    total = one("cost", chat)["total"]
    assert total["estimated"]["messages"] == total["messages"] > 0
    assert total["estimated"]["input"] == total["input"]
    assert re.search(r"main +\d+ +[\d,]+\* ", ran("cost", chat).out)


def test_a_kept_session_and_what_its_compaction_saved(tmp_path: Path) -> None:
    place = tmp_path / "store"
    with Session.open("harbor", place, window=32_000) as kept:
        kept.follow(LONG)
        kept.compact()
        whole = kept.transcript()
    turns = [turn for each in (whole, *whole.agents) for turn in each.turns]
    made = one("cost", "harbor", "--store", str(place))
    of_file = one("cost", LONG)["total"]
    assert made["total"] == of_file  # with the turns that were rewound before it was kept
    assert made["total"]["messages"] == len(turns) + 4
    (compaction,) = made["compactions"]
    assert (compaction["by"], compaction["turns"]) == ("kedgeline", 0)
    assert compaction["before"] > compaction["after"] > 0


def test_the_report_is_a_page_with_a_row_for_every_agent(tmp_path: Path) -> None:
    page = tmp_path / "cost.md"
    for _ in range(2):  # a report takes the place of a report
        assert ran("cost", LONG, "--report", str(page)).code == 0
    text, agents = page.read_text("utf-8"), one("cost", LONG)["agents"]
    assert len(agents) == 2
    for row in agents:
        assert re.search(rf"^\| {row['agent']} \| {row['messages']:,} \|", text, re.MULTILINE)
    records, secret = Charged(), "ghp_" + "A1b2C3d4E5f6" * 3
    records.user("go")
    records.charged(1, use("c1", f"curl {secret}"))
    ran("cost", str(records.written(tmp_path / "a.jsonl")), "--report", str(page))
    text = page.read_text("utf-8")
    assert "curl" in text
    assert secret not in text
    file = str(session(1).written(tmp_path / "b.jsonl"))
    shown = ran("cost", file, "--report", str(page)).out
    assert "1 message ·" in shown
    assert "claude-opus-4-5-20251101: prices of anthropic/claude-opus-4-5" in shown


def test_a_claim_is_updated_with_all_sessions_and_not_twice(folder: Path, tmp_path: Path) -> None:
    """R41: cumulative in the claim file."""
    claim = tmp_path / "PKT.json"
    claim.write_text(CLAIM)
    for _ in range(2):
        ran("cost", str(folder), "--claim", str(claim))
        used = {"tokens_consumed": 339, "token_input": 309, "token_output": 30}
        assert json.loads(claim.read_text()) == {"packet_id": "p", "agent_id": "Backend", **used}


def test_a_report_never_takes_the_place_of_anything_else(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, claim = folder / "a.jsonl", tmp_path / "PKT.json"
    claim.write_text(CLAIM)
    (tmp_path / "link.md").symlink_to(file)
    monkeypatch.chdir(folder)
    before = {path: path.read_bytes() for path in (file, claim)}
    targets = (str(file), "deeper/../a.jsonl", str(tmp_path / "link.md"), str(claim), str(folder))
    for target in targets:
        done = ran("cost", str(folder / "deeper"), "--report", target, "--claim", str(claim))
        assert done.code == 3, target
        assert {path: path.read_bytes() for path in before} == before


def test_nothing_is_written_where_the_claim_is_refused(folder: Path, tmp_path: Path) -> None:
    claim, page = tmp_path / "PKT.json", tmp_path / "cost.md"
    claim.write_text('{"packet_id": "p"}')
    assert ran("cost", str(folder), "--report", str(page), "--claim", str(claim)).code == 3
    assert not page.exists()


def test_what_cannot_be_read_is_named_and_the_rest_is_counted(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    done = ran("cost", str(folder / "notes.txt"), str(folder), "--json")
    assert (done.code, json.loads(done.out)["total"]["messages"]) == (3, 3)
    assert "not a transcript" in done.err
    empty = tmp_path / "empty"
    empty.mkdir()
    done = ran("cost", str(empty))
    assert (done.code, done.out) == (3, ""), "no cost of nothing"
    assert "no session was found" in done.err
    real = os.open

    def refuse(path: Any, *given: Any, **named: Any) -> int:
        if str(path).endswith("b.jsonl"):
            raise PermissionError(13, "Permission denied", str(path))
        return real(path, *given, **named)

    monkeypatch.setattr(os, "open", refuse)
    claim = tmp_path / "PKT.json"
    claim.write_text(CLAIM)
    done = ran("cost", str(folder), "--json", "--claim", str(claim))
    assert (done.code, "b.jsonl" in done.err, "left alone" in done.err) == (3, True, True)
    made = json.loads(done.out)
    assert (made["total"]["messages"], made["passed_over"]) == (2, 1)
    assert claim.read_text() == CLAIM

"""`kedgeline cost`: what sessions were charged for, on the command line."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from kedgeline import Session
from kedgeline.cli.main import app
from kedgeline.errors import FileRefused
from tests.claude import use
from tests.conftest import EXAMPLES
from tests.economy.ledger.sessions import Charged

runner = CliRunner()
LONG = str(EXAMPLES / "claude-code-long.jsonl")


def run(*arguments: str, code: int = 0) -> str:
    result = runner.invoke(app, ["cost", *arguments])
    assert result.exit_code == code, result.output
    return result.stdout


def found(*arguments: str) -> dict[str, Any]:
    value: dict[str, Any] = json.loads(run(*arguments, "--json"))
    return value


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


def test_a_folder_counts_every_message_once_and_says_what_it_passed_over(folder: Path) -> None:
    made = found(str(folder))
    assert made["total"]["messages"] == 3
    assert made["total"]["cache_read"] == 3_000
    assert (made["copies"], made["passed_over"]) == (2, 1)
    assert [row["messages"] for row in made["sessions"]] == [2, 1]
    assert made["tools"] == [{"tool": "Bash", "calls": 3, "input": 3, "output": 30}]


def test_the_tables_say_agents_models_tools_and_money(folder: Path) -> None:
    text = run(str(folder))
    assert re.search(r"3 messages · 3,339 tokens · \$0\.00\d\d", text)
    assert re.search(r"main +3 +9 +30 +3,000 +300 ", text)
    assert "claude-opus-4-5-20251101" in text
    assert "copies of messages that are counted once: 2" in text
    assert "passed over, no sessions: 1 file" in text


def test_an_unknown_model_has_an_unknown_cost_and_sums_say_at_least(tmp_path: Path) -> None:
    file = session(4, model="harbour-1").written(tmp_path / "a.jsonl")
    other = session(5).written(tmp_path / "b.jsonl")
    alone = found(str(file))["total"]["cost"]
    assert alone == {"amount": None, "currency": "USD", "at_least": True, "unknown": ["harbour-1"]}
    both = run(str(file), str(other))
    assert "at least $" in both
    assert re.search(r"harbour-1 .* unknown", both)


def test_estimates_are_marked(tmp_path: Path) -> None:
    made = found(str(EXAMPLES / "openai-chat.json"))
    total = made["total"]
    assert total["estimated"]["messages"] == total["messages"] > 0
    assert total["estimated"]["input"] == total["input"]
    assert re.search(r"main +\d+ +[\d,]+\* ", run(str(EXAMPLES / "openai-chat.json")))


def test_a_kept_session_and_what_its_compaction_saved(tmp_path: Path) -> None:
    place = tmp_path / "store"
    with Session.open("harbor", place, window=32_000) as kept:
        kept.follow(LONG)
        kept.compact()
        whole = kept.transcript()
    turns = [turn for one in (whole, *whole.agents) for turn in one.turns]
    made = found("harbor", "--store", str(place))
    assert made["total"]["messages"] == len(turns)
    reported = sum(turn.usage.output for turn in turns if turn.usage)
    assert made["total"]["output"] - made["total"]["estimated"]["output"] == reported
    (compaction,) = made["compactions"]
    assert compaction["by"] == "kedgeline"
    assert compaction["before"] > compaction["after"] > 0
    assert compaction["turns"] == 0, "no turn came behind it yet"


def test_the_report_is_a_page_with_a_row_for_every_agent(folder: Path, tmp_path: Path) -> None:
    page = tmp_path / "cost.md"
    run(LONG, "--report", str(page))
    text = page.read_text("utf-8")
    agents = found(LONG)["agents"]
    assert len(agents) == 2
    for row in agents:
        assert re.search(rf"^\| {row['agent']} \| {row['messages']:,} \|", text, re.MULTILINE)
    assert "## Tools" in text
    run(LONG, "--report", str(page))
    assert page.read_text("utf-8") == text


def test_a_secret_in_a_name_is_not_written_into_the_page(tmp_path: Path) -> None:
    records = Charged()
    records.user("go")
    secret = "ghp_" + "A1b2C3d4E5f6" * 3
    records.charged(1, use("c1", f"curl {secret}"))
    page = tmp_path / "cost.md"
    run(str(records.written(tmp_path / "a.jsonl")), "--report", str(page))
    text = page.read_text("utf-8")
    assert "curl" in text
    assert secret not in text


def test_the_picture_is_svg_and_says_in_words_what_it_shows(folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    picture = tmp_path / "cost.svg"
    run(str(folder), "--plot", str(picture))
    text = picture.read_text("utf-8")
    assert text.startswith("<svg")
    assert "3 messages, 3,339 tokens" in text


def test_a_claim_is_updated_with_all_sessions_and_not_twice(folder: Path, tmp_path: Path) -> None:
    """R41: cumulative in the claim file."""
    claim = tmp_path / "PKT.json"
    claim.write_text('{"packet_id": "p", "agent_id": "Backend", "tokens_consumed": 0}')
    for _ in range(2):
        run(str(folder), "--claim", str(claim))
        assert json.loads(claim.read_text()) == {
            "packet_id": "p",
            "agent_id": "Backend",
            "tokens_consumed": 339,
            "token_input": 309,
            "token_output": 30,
        }


def test_what_cannot_be_read_is_one_sentence_and_the_rest_is_counted(folder: Path) -> None:
    result = runner.invoke(app, ["cost", str(folder / "notes.txt"), str(folder), "--json"])
    assert result.exit_code == 3
    assert "not a transcript" in result.stderr
    assert json.loads(result.stdout)["total"]["messages"] == 3


def test_a_folder_without_sessions_is_not_a_cost_of_nothing(tmp_path: Path) -> None:
    result = runner.invoke(app, ["cost", str(tmp_path)])
    assert result.exit_code == 3
    assert "no session was found" in result.stderr
    assert result.stdout == ""


@pytest.mark.parametrize("option", ["--report", "--plot"])
def test_an_output_is_never_a_source_a_session_or_the_claim(
    option: str, folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, claim = folder / "a.jsonl", tmp_path / "PKT.json"
    claim.write_text('{"packet_id": "p", "agent_id": "a"}')
    (tmp_path / "link.md").symlink_to(file)
    (tmp_path / "there").symlink_to(folder)
    monkeypatch.chdir(folder)
    before = {path: path.read_bytes() for path in (file, claim)}
    for source, target in (
        (str(file), str(file)),
        (str(file), "deeper/../a.jsonl"),
        (str(file), str(tmp_path / "link.md")),
        (str(tmp_path / "there" / "a.jsonl"), "a.jsonl"),
        (str(folder), "a.jsonl"),
        (str(folder / "deeper"), str(file)),
        (str(file), str(claim)),
    ):
        result = runner.invoke(app, ["cost", source, option, target, "--claim", str(claim)])
        assert result.exit_code != 0, (source, target)
        assert isinstance(result.exception, FileRefused), result.exception
        assert {path: path.read_bytes() for path in before} == before


def test_nothing_is_written_where_the_claim_is_refused(folder: Path, tmp_path: Path) -> None:
    claim, page = tmp_path / "PKT.json", tmp_path / "cost.md"
    claim.write_text('{"packet_id": "p"}')
    result = runner.invoke(app, ["cost", str(folder), "--report", str(page), "--claim", str(claim)])
    assert isinstance(result.exception, FileRefused)
    assert not page.exists()


def test_a_file_of_a_folder_that_cannot_be_read_is_named_and_no_claim_written(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    real = os.open

    def refuse(path: Any, *given: Any, **named: Any) -> int:
        if str(path).endswith("b.jsonl"):
            raise PermissionError(13, "Permission denied", str(path))
        return real(path, *given, **named)

    monkeypatch.setattr(os, "open", refuse)
    claim = tmp_path / "PKT.json"
    claim.write_text('{"packet_id": "p", "agent_id": "a"}')
    result = runner.invoke(app, ["cost", str(folder), "--json", "--claim", str(claim)])
    assert result.exit_code == 3
    assert "b.jsonl" in result.stderr
    assert "left alone" in result.stderr
    made = json.loads(result.stdout)
    assert (made["total"]["messages"], made["passed_over"]) == (2, 1)
    assert claim.read_text() == '{"packet_id": "p", "agent_id": "a"}'


def test_one_message_is_no_messages_and_another_name_of_the_model_is_said(tmp_path: Path) -> None:
    file = session(1).written(tmp_path / "a.jsonl")
    page = tmp_path / "cost.md"
    text = run(str(file), "--report", str(page))
    assert "1 message ·" in text
    assert "claude-opus-4-5-20251101: prices of anthropic/claude-opus-4-5" in text
    assert "1 message," in page.read_text("utf-8")
    assert "claude-opus-4-5-20251101 (prices of anthropic/claude-opus-4-5)" in page.read_text(
        "utf-8"
    )
    assert found(str(file))["models"][0]["priced_as"] == "anthropic/claude-opus-4-5"

"""`kedgeline bench ledger` compares two counts, writes its table, and fails where they differ."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from bench.ledger import independent
from kedgeline.cli.main import app
from kedgeline.economy import counting as building
from tests.economy.ledger.sessions import Charged, used

runner = CliRunner()


@pytest.fixture
def sessions(tmp_path: Path) -> Path:
    records = Charged()
    records.user("go")
    records.charged(1, output=1, read=50)
    records.charged(1, output=9, read=50)
    records.raw({"type": "assistant", "broken": True})
    records.lines.append(b'{"type": "assistant", "torn\n')
    records.written(tmp_path / "kind" / "a.jsonl")
    records.written(tmp_path / "kind" / "copy.jsonl")
    (tmp_path / "kind" / "readme.md").write_text("no session")
    return tmp_path


def test_the_table_goes_into_its_place(sessions: Path, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("before\n<!-- bench:ledger -->\n<!-- /bench:ledger -->\nbehind\n")
    arguments = ["bench", "ledger", str(sessions), "--large", "0", "--write", str(page)]
    result = runner.invoke(app, arguments)
    assert result.exit_code == 0, result.output
    text = page.read_text()
    assert "| kind, 2 files: messages | 1 | 1 | 4 |" in text
    assert "| together: output tokens | 9 | 9 | 20 |" in text
    assert "Both counts are equal." in text


def test_counts_that_differ_fail(sessions: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Planted: a ledger that counts every file for itself."""
    real = building.message_key
    monkeypatch.setattr(
        building, "message_key", lambda turn, source: hash((real(turn, source), source))
    )
    result = runner.invoke(app, ["bench", "ledger", str(sessions), "--large", "0", "--json"])
    assert result.exit_code == 1
    together = json.loads(result.stdout)["folders"][-1]
    assert together["ledger"]["messages"] == 2 * together["independent"]["messages"]


def test_the_independent_count_finds_usage_wherever_it_stands(tmp_path: Path) -> None:
    usage = {"input_tokens": 1, "output_tokens": 2}
    deep = {"data": [{"message": {"id": "msg_00000000000000001", "usage": usage}}]}
    nameless = {"toolUseResult": {"usage": {"output_tokens": 500}}}
    path = tmp_path / "a.jsonl"
    path.write_text("\n".join(map(json.dumps, (deep, deep, nameless))))
    once, every = independent([path])
    assert (once.messages, once.tokens) == (1, used(1, 2))
    assert (every.messages, every.tokens) == (2, used(2, 4))

"""`kedgeline bank load`: the text to stdout, what was loaded to stderr."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kedgeline.session.session import Session
from kedgeline.tokens import EXACT
from tests.cli.running import one, ran
from tests.economy.loading.test_items import ENTRY, made, packet
from tests.turns import bash, turn


@pytest.fixture
def bank(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return made(tmp_path, activeContext__archive__md=f"# Archive\n\n{ENTRY}")


def test_the_text_goes_to_stdout_and_the_table_to_stderr(bank: Path) -> None:
    done = ran("bank", "load", "--bank", str(bank))
    assert done.code == 0
    assert done.out.startswith("# systemPatterns.md\n\n")
    assert "left out: on demand" in " ".join(done.err.split())
    assert "of 20,000 tokens: P0 " in done.err
    table = ran("bank", "load", "--bank", str(bank), "--table")
    assert table.err == ""
    assert " ".join(done.err.split()) == " ".join(table.out.split())


def test_json_has_everything(bank: Path) -> None:
    found = one("bank", "load", "--bank", str(bank), "--budget", "1k")
    assert found["budget"] == 1_000
    assert found["tokens"] == EXACT.count(found["markdown"]) <= 1_000
    assert found["loaded"][0]["name"] == "systemPatterns.md"
    assert set(found["loaded"][0]) == {"name", "priority", "level", "tokens", "full_tokens"}
    (archive,) = found["left_out"]
    assert (archive["name"], archive["why"]) == ("activeContext.archive.md", "on demand")
    assert [row["share"] for row in found["classes"]] == [300, 250, 250, 200]
    assert all(row["flowed"] == row["used"] - row["share"] for row in found["classes"])


def test_open_errors_of_a_session_a_packet_and_files_come_along(bank: Path) -> None:
    store = str(bank.parent / "store")
    with Session.open("harbor", store) as session:
        failed = bash("pytest -q", "E   TideError: too low\n1 failed in 0.31s", exit_code=1)
        session.append([turn(0, failed, user="Run the tests", says="They fail.")])
    (bank.parent / "packet.json").write_text(json.dumps(packet()))
    (bank.parent / "plan.py").write_text("BERTHS = 7\n")
    found = one(
        *("bank", "load", "--bank", str(bank), "--session", "harbor", "--store", store),
        *("--packet", "packet.json", "--file", "plan.py", "--find", "pier"),
    )
    assert [row["name"] for row in found["loaded"]] == [
        "active errors",
        "delegation packet PKT-20261114-101500-a1b2c3",
        "systemPatterns.md",
        "activeContext.md",
        "plan.py",
        "decisionLog.md",
        "progress.md",
        "productContext.md",
        "activeContext.archive.md: 2026-01-02 ann",
    ]
    assert "TideError: too low" in found["markdown"]
    whole = one("bank", "load", "--bank", str(bank), "--history")
    assert whole["left_out"] == []


def test_what_is_wrong_is_said_in_one_sentence(bank: Path) -> None:
    (bank.parent / "none.json").write_text("{}")
    refused = ran("bank", "load", "--bank", str(bank), "--packet", "none.json")
    assert (refused.code, "is no delegation packet" in refused.err) == (3, True)
    missing = ran("bank", "load", "--bank", str(bank), "--packet", "gone.json")
    assert (missing.code, "cannot read 'gone.json'" in missing.err) == (3, True)
    nowhere = ran("bank", "load", "--bank", str(bank / "nowhere"))
    assert (nowhere.code, "is no memory bank" in nowhere.err) == (3, True)
    assert ran("bank", "load", "--bank", str(bank), "--budget", "many").code == 2

"""`kedgeline bank`, as people and programs use it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.running import LONG, undocumented
from tests.line import Line


@pytest.fixture
def line(kedgeline: Line, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Line:
    monkeypatch.chdir(tmp_path)
    kedgeline("bank", "init")
    return kedgeline


def test_entries_are_added_compacted_and_brought_back(
    line: Line, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KEDGELINE_BANK_ENTRIES", "2")
    for n in range(4):
        added = line.one("bank", "add", "activeContext", f"Step {n} done.", "--agent", "a")
        assert added["file"] == "activeContext.md"
    active = tmp_path / "memory-bank" / "activeContext.md"
    before = active.read_bytes()
    status = line.one("bank", "status")
    assert status["due"]
    assert any("4 entries" in one["reason"] for one in status["triggers"] if one["holds"])
    planned = line.one("bank", "compact", "--dry-run")
    assert not planned["applied"]
    assert active.read_bytes() == before
    done = line.one("bank", "compact", "--agent", "a")
    assert (done["applied"], done["files"][0]["moved"]) == (True, 2)
    assert line.one("bank", "verify")["sound"]
    assert [one["undone"] for one in line.rows("bank", "history")] == [False]
    assert line.one("bank", "undo", "--agent", "a")["undone"] == done["transaction"]
    assert active.read_bytes() == before


def test_the_text_may_come_from_stdin_and_fields_from_options(line: Line, tmp_path: Path) -> None:
    words = ("--title", "Journal", "--field", "Rationale=readers never wait")
    line.one("bank", "add", "decisionLog", "-", *words, stdin="Use WAL — always.".encode())
    log = (tmp_path / "memory-bank" / "decisionLog.md").read_text("utf-8")
    assert "DEC-001: Journal" in log
    assert "Use WAL — always." in log
    assert "readers never wait" in log
    assert b"not a field" in line("bank", "add", "x", "y", "--field", "Rationale", code=2).stderr


def test_a_changed_decision_is_a_violation_with_an_exit_code(line: Line, tmp_path: Path) -> None:
    line("bank", "add", "decisionLog", "Use WAL", "--title", "Journal")
    log = tmp_path / "memory-bank" / "decisionLog.md"
    log.write_text(log.read_text().replace("Use WAL", "Use TRUNCATE"))
    ran = line("bank", "verify", code=1)
    assert b"violation: decisionLog.md" in ran.stdout
    assert b"NOT SOUND" in ran.stdout


def test_a_session_is_filed_once(line: Line, tmp_path: Path) -> None:
    first = line.rows("bank", "file", LONG)
    assert first
    assert line.rows("bank", "file", LONG) == []
    active = (tmp_path / "memory-bank" / "activeContext.md").read_text()
    assert "claude-code-long" in active


def test_documents_are_indexed_and_found_at_the_cheapest_step(line: Line, tmp_path: Path) -> None:
    docs = tmp_path / "docs"
    docs.mkdir()
    body = "The harbor pilot boards at the outer buoy.\n\n## Tides\n\nHigh water at noon.\n"
    (docs / "harbor.md").write_text(f"# Harbor\n\n{body}")
    assert line.one("bank", "index", "docs")["documents"] == 1
    assert line.one("bank", "index", "docs")["written"] == []
    found = line.one("bank", "find", "harbor")
    assert (found["stopped_at"], found["answered"]) == ("128", True)
    deep = line.one("bank", "find", "harbor", "--depth", "chunk")
    assert deep["stopped_at"] == "chunk"
    assert "outer buoy" in deep["hits"][0]["text"]
    assert b"not a step" in line("bank", "find", "harbor", "--depth", "deep", code=2).stderr


def test_json_keys_are_documented(line: Line, tmp_path: Path) -> None:
    (tmp_path / "harbor.md").write_text("# Harbor\n\nTides.\n")
    commands = (
        ("init",),
        ("add", "activeContext", "Done."),
        ("status",),
        ("compact",),
        ("verify",),
        ("index", "harbor.md"),
        ("find", "harbor"),
    )
    for command in commands:
        assert undocumented(*line.one("bank", *command)) == [], command

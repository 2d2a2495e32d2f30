"""`kedgeline bench put-back` follows sessions as hooks do, and looks at what they put back."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from bench.put_back import _is_repeated, _words, measure
from kedgeline.cli.main import app
from kedgeline.errors import SourceUnreadable
from tests.integrations.hooks.following import RULE, Host

SUMMARY = f"The user said: {RULE} I updated src/mod0.py and mended its lamp."
runner = CliRunner()


def written(folder: Path, *summaries: str) -> None:
    host = Host(folder)
    host.works()
    for number, summary in enumerate(summaries):
        host.compacts(summary)
        host.records.user(f"Go on with pier {number}.")
        host.records.assistant(f"g{number}", {"type": "text", "text": "I do."})
    folder.mkdir()
    (folder / "s.jsonl").write_bytes(b"".join(host.records.lines))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "sessions"


def test_a_real_compaction_is_measured_and_its_table_written(folder: Path, tmp_path: Path) -> None:
    written(folder, SUMMARY)
    (folder / "readme.md").write_text("no session")
    page = tmp_path / "page.md"
    page.write_text("<!-- bench:put-back -->\n<!-- /bench:put-back -->\n")
    arguments = ["bench", "put-back", str(folder), "--json", "--write", str(page)]
    result = runner.invoke(app, arguments)
    assert result.exit_code == 0, result.output
    (one,) = json.loads(result.stdout)["compactions"]
    asked = one["asked"]
    assert (one["host"], one["turn"], one["file"]) == ("claude-code", 8, "s.jsonl")
    assert 0 < asked["alone"] < asked["put_back"] == 1
    assert asked["critical_alone"] > asked["critical_put_back"] == 0
    assert asked["probes"] > 4
    assert 0 < one["lacking_tokens"] < 1_500
    assert one["rules_tokens"] > 0
    assert one["steering_tokens"] > one["rules_tokens"]
    assert (one["lines"] > 1, one["repeated"]) == (True, 0)
    assert "| claude-code | 1 in 1 sessions | " in page.read_text()
    assert " → 0 | 0 | " in page.read_text()
    kept = (tmp_path / "state" / "kedgeline" / "hooks").iterdir()
    assert [one.name for one in kept] == ["s1"]  # not among what the user's own hooks keep


def test_without_a_compaction_there_is_nothing_to_measure(folder: Path) -> None:
    written(folder)
    with pytest.raises(SourceUnreadable, match="no session there was compacted by a host"):
        measure(folder, watch=str)


@pytest.mark.parametrize(
    ("line", "again"),
    [
        ("- Branch `pier` [t3]", False),
        ("- I updated src/mod0.py and mended its lamp [t3]", True),
        ("- updated `src/mod0.py`, mended the lamp [t3]", True),
        ("| src/mod1.py | modified | `gas` → `mains` [t3] |", False),
    ],
)
def test_a_line_that_the_host_tells_too_is_repeated(line: str, again: bool) -> None:
    assert _is_repeated(_words(line), SUMMARY) is again


def test_headings_and_frames_are_no_lines() -> None:
    for line in ("## Commands", "| File | Action | What Changed |", "|---|---|---|", ""):
        assert _words(line) == ""

"""`kedgeline bank load`: the text to stdout, what was loaded to stderr."""

from __future__ import annotations

from pathlib import Path

import pytest

from kedgeline.tokens import EXACT
from tests.cli.running import one, ran
from tests.economy.loading.test_items import ENTRY, made


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


def test_what_is_wrong_is_said_in_one_sentence(bank: Path) -> None:
    (bank.parent / "none.json").write_text("{}")
    refused = ran("bank", "load", "--bank", str(bank), "--packet", "none.json")
    assert (refused.code, "is not a delegation packet" in refused.err) == (3, True)
    missing = ran("bank", "load", "--bank", str(bank), "--packet", "gone.json")
    assert (missing.code, "cannot read 'gone.json'" in missing.err) == (3, True)
    nowhere = ran("bank", "load", "--bank", str(bank / "nowhere"))
    assert (nowhere.code, "is not a memory bank" in nowhere.err) == (3, True)
    assert ran("bank", "load", "--bank", str(bank), "--budget", "many").code == 2

"""A log that was committed and is not there is missed."""

from __future__ import annotations

from pathlib import Path

import pytest

from kedge.bank.proving import Findings, verify
from kedge.bank.shapes import read_document
from tests.bank.banks import decisions
from tests.bank.proving.repository import LOG, commit, run


def without_a_log(folder: Path, *logs: str) -> Findings:
    read = [read_document(name, (folder / name).read_bytes()) for name in logs]
    return verify(read, {}, folder=folder)


@pytest.mark.parametrize("committed", [False, True])
@pytest.mark.parametrize("name", [LOG, "decision-log.md", "decisionLog.jsonl"])
def test_a_log_that_was_committed_and_is_gone_is_a_violation(
    bank: Path, name: str, committed: bool
) -> None:
    line = '{"id": "DEC-001", "ts": "2026-01-01T00:00:00Z"}\n'
    commit(bank, line if name.endswith("jsonl") else decisions([1]), name)
    (bank / name).unlink()
    if committed:
        commit(bank, "words", "other.md")
    findings = without_a_log(bank)
    (finding,) = findings.found
    assert (finding.file, finding.gravity) == (name, "violation")
    assert "1 of its entries stand in no other log" in finding.what
    assert "now gone" in findings.checked[-1]


def test_a_log_of_no_known_form_is_missed_too(bank: Path) -> None:
    commit(bank, "# Decision Log\n\nWe use way 1.\n")
    (bank / LOG).unlink()
    assert not without_a_log(bank).sound


def test_an_empty_log_is_not_missed(bank: Path) -> None:
    commit(bank, "# Decision Log\n\n")
    (bank / LOG).unlink()
    assert without_a_log(bank).sound


def test_a_log_that_got_another_name_is_not_missed(bank: Path) -> None:
    commit(bank, decisions([0, 1]), "decision-log.md")
    run(bank, "mv", "decision-log.md", LOG)
    commit(bank, decisions([0, 1, 2]))
    assert without_a_log(bank, LOG).sound
    (bank / LOG).write_text(decisions([0, 2]), "utf-8")
    assert {f.file for f in without_a_log(bank, LOG).found} == {LOG, "decision-log.md"}


def test_a_bank_that_never_had_a_log_is_said(bank: Path) -> None:
    commit(bank, "words", "other.md")
    commit(bank.parent, decisions([0]))
    said = "git history was not looked at: no decision log was ever committed"
    assert without_a_log(bank).checked[-1] == said
    assert without_a_log(bank).sound


def test_no_repository_is_said_where_there_is_no_log(tmp_path: Path) -> None:
    assert "in no git repository" in without_a_log(tmp_path).checked[-1]

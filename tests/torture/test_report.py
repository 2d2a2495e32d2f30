"""The table of the long runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.torture import outcome
from tests.torture.outcome import Outcome, keep
from tests.torture.report import NOT_RUN, ROWS, table


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(outcome, "RESULTS", tmp_path)
    return tmp_path


def test_the_parts_of_a_check_are_added_up(results: Path) -> None:
    for part in (1, 2):
        found = Outcome(part, cases=500, acknowledged=4_000, violations=["one"], seconds=2.0)
        keep("kill", found, part=part)
    keep("kill", Outcome(3, cases=100, acknowledged=1_000, seconds=6.0), part=2)
    line = table(results).splitlines()[2]
    assert line.endswith("| 600 | 600 | 5,000 | 1 | 8 |")


def test_a_check_that_was_not_run_is_told_from_one_without_violations(results: Path) -> None:
    assert table(results).count(NOT_RUN) == 4 * len(ROWS)


def test_a_run_with_too_little_before_its_faults_is_void() -> None:
    assert Outcome(1, cases=5, acknowledged=99).ended().violations
    assert not Outcome(1, cases=5, acknowledged=100).ended().violations

"""T-D1 to T-D5, T-D7, T-M2, T-M3: the rows of the table, each in a process of its own."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from tests.torture import outcome
from tests.torture.outcome import Outcome, Skipped, assert_sound, keep, run
from tests.torture.report import NOT_RUN, table
from tests.torture.rows import ODD_ROWS, PLANTS, ROWS, SERVER, Options, Row

EVERY = (*ROWS, *ODD_ROWS)


def made(check: str, place: object, options: Options) -> Outcome:
    try:
        return run(check, place=str(place), **options)
    except Skipped as why:
        pytest.skip(str(why))


def place_of(row: Row, request: pytest.FixtureRequest, folder: Path) -> object:
    return request.getfixturevalue("postgres") if row.place == SERVER else folder


def runs(kind: str) -> list[Any]:
    return [
        pytest.param(row, options, id=f"{row.name}-{number}")
        for row in EVERY
        for number, options in enumerate(getattr(row, kind))
    ]


@pytest.mark.parametrize(("row", "options"), runs("normal"))
def test_nothing_is_lost_or_invented(
    row: Row, options: Options, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    found = made(row.check, place_of(row, request, tmp_path), options)
    assert_sound(found)
    assert found.cases == options.get("cases", found.cases)


@pytest.mark.torture
@pytest.mark.parametrize(("row", "options"), runs("long"))
def test_nothing_is_lost_or_invented_in_long_runs(
    row: Row, options: Options, request: pytest.FixtureRequest, tmp_path: Path
) -> None:
    found = made(row.check, place_of(row, request, tmp_path), options)
    assert_sound(keep(row.name, found, **options))


@pytest.mark.parametrize(("check", "options", "shown", "least"), PLANTS)
def test_a_planted_bug_is_found(
    check: str, options: Options, shown: str, least: int, tmp_path: Path
) -> None:
    """That the run was ended early is none of what it does."""
    found = made(check, tmp_path, options)
    wrong = [one for one in found.violations if "void: " not in one and re.search(shown, one)]
    assert len(wrong) >= least, found


# The table of the long runs.


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
    assert table(results).count(f"| {NOT_RUN} ") == 4 * len(ROWS) + 2


def test_a_run_with_too_little_before_its_faults_is_void() -> None:
    assert Outcome(1, cases=5, acknowledged=99).ended().violations
    assert not Outcome(1, cases=5, acknowledged=100).ended().violations

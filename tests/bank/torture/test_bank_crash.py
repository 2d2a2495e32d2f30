"""A kill -9 at random moments, and at every system call that changes a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.bank.torture.crash import SCENARIOS
from tests.torture.outcome import Outcome, Skipped, assert_sound, keep, run

KILLS, KILL_PARTS, KILLS_TORTURE, TORTURE_PARTS = 90, 2, 4_000, 8
CALLS = 12
"""Of each scenario, in the normal run."""
PLANTED = 60


def made(check: str, **options: Any) -> Outcome:
    try:
        return run(f"tests.bank.torture.{check}", **options)
    except Skipped as why:
        pytest.skip(str(why))


@pytest.mark.parametrize("part", range(KILL_PARTS))
def test_what_was_added_survives_a_kill(part: int, tmp_path: Path) -> None:
    """T-D1, R35: a crash between archive and replacement loses nothing and leaves nothing twice."""
    assert_sound(made("kill", place=str(tmp_path), seed=part, cases=KILLS // KILL_PARTS))


@pytest.mark.torture
@pytest.mark.parametrize("part", range(TORTURE_PARTS))
def test_what_was_added_survives_thousands_of_kills(part: int, tmp_path: Path) -> None:
    cases = KILLS_TORTURE // TORTURE_PARTS
    found = made("kill", place=str(tmp_path), seed=100 + part, cases=cases)
    assert_sound(keep("bank-kill", found, part=part))


@pytest.mark.parametrize("plant", ["early", "in place"])
def test_the_check_finds_what_is_planted(plant: str, tmp_path: Path) -> None:
    """One that acknowledges before the call returned, and one that writes into the file itself."""
    found = made("kill", place=str(tmp_path), seed=3, cases=PLANTED, plant=plant)
    assert [each for each in found.violations if "void" not in each]


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_kill_at_a_call_of_a_step_leaves_all_of_it_or_nothing(
    scenario: str, tmp_path: Path
) -> None:
    assert_sound(made("crash", place=str(tmp_path), seed=1, scenario=scenario, most=CALLS))


@pytest.mark.torture
@pytest.mark.parametrize("scenario", SCENARIOS)
def test_a_kill_at_every_call_of_a_step_leaves_all_of_it_or_nothing(
    scenario: str, tmp_path: Path
) -> None:
    found = made("crash", place=str(tmp_path), seed=2, scenario=scenario)
    assert_sound(keep("bank-crash", found, scenario=scenario))


@pytest.mark.parametrize("plant", ["late journal", "no recovery"])
def test_the_check_finds_a_transaction_that_is_none(plant: str, tmp_path: Path) -> None:
    """A file is replaced before the journal is there; what was left is thrown away."""
    options = {"scenario": "compact", "most": PLANTED, "plant": plant}
    found = made("crash", place=str(tmp_path), seed=1, **options)
    assert [each for each in found.violations if "void" not in each]

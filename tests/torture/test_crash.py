"""T-D2: a kill at every system call that changes a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.torture.outcome import Outcome, Skipped, assert_sound, keep, run
from tests.torture.scenarios import STEPS

NORMAL = "append"
PLANTED = 20


def crashed(**options: Any) -> Outcome:
    try:
        return run("crash", **options)
    except Skipped as why:
        pytest.skip(str(why))


def test_a_kill_at_every_call_of_an_append_loses_nothing(tmp_path: Path) -> None:
    """oh-my-pi#8596, copilot-cli#4098: a torn record was fused with the next one."""
    found = crashed(place=str(tmp_path), seed=1, scenario=NORMAL)
    assert_sound(found)


@pytest.mark.torture
@pytest.mark.parametrize("journal", ["wal", "truncate"])
@pytest.mark.parametrize("scenario", STEPS)
def test_a_kill_at_every_call_of_a_scenario_loses_nothing(
    scenario: str, journal: str, tmp_path: Path
) -> None:
    """CC#63187, maki#814: the original was gone before its successor was there."""
    found = crashed(place=str(tmp_path), seed=2, scenario=scenario, journal=journal)
    assert_sound(keep("crash", found, scenario=scenario, journal=journal))


def test_the_check_finds_one_who_acknowledges_too_early(tmp_path: Path) -> None:
    found = crashed(place=str(tmp_path), seed=1, scenario=NORMAL, most=PLANTED, plant="early")
    assert [each for each in found.violations if "missing" in each]

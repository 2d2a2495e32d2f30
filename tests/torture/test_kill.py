"""T-D1: kill -9 at random moments."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.torture.outcome import assert_sound, keep, run

NORMAL, PARTS = 600, 6
TORTURE, TORTURE_PARTS = 10_000, 20
POSTGRES, POSTGRES_TORTURE = 50, 500
PLANTED = 160
"""Kills within which a planted bug must show."""


def modes(part: int) -> dict[str, str]:
    """A share of the kills is where each write waits for the disk, or where there is no log."""
    return {
        "durability": "durable" if part % 3 == 0 else "fast",
        "journal": "truncate" if part % 3 == 1 else "wal",
    }


@pytest.mark.parametrize("part", range(PARTS))
def test_what_was_acknowledged_survives_a_kill(part: int, tmp_path: Path) -> None:
    """CC#40352, codex#44363: what was there before is there afterwards, and a compaction is there
    whole or not at all. CC#46603: the chain holds."""
    cases = NORMAL // PARTS
    found = run("kill", place=str(tmp_path), seed=part, cases=cases, **modes(part))
    assert_sound(found)
    assert found.cases == cases


@pytest.mark.torture
@pytest.mark.parametrize("part", range(TORTURE_PARTS))
def test_what_was_acknowledged_survives_ten_thousand_kills(part: int, tmp_path: Path) -> None:
    cases = TORTURE // TORTURE_PARTS
    found = run("kill", place=str(tmp_path), seed=1000 + part, cases=cases, **modes(part))
    assert_sound(keep("kill", found, part=part))


def test_what_postgresql_acknowledged_survives_a_kill_of_its_client(postgres: str) -> None:
    assert_sound(run("kill", place=postgres, seed=7, cases=POSTGRES))


@pytest.mark.torture
def test_what_postgresql_acknowledged_survives_many_kills(postgres: str) -> None:
    found = run("kill", place=postgres, seed=8, cases=POSTGRES_TORTURE)
    assert_sound(keep("kill-postgres", found))


@pytest.mark.parametrize("plant", ["early", "two transactions"])
def test_the_check_finds_what_is_planted(plant: str, tmp_path: Path) -> None:
    """One that acknowledges before the call returned, and one that commits an entry before what
    belongs to it."""
    found = run("kill", place=str(tmp_path), seed=3, cases=PLANTED, durability="fast", plant=plant)
    wrong = [each for each in found.violations if "void" not in each]
    assert wrong, found

"""Changed bytes all over a database."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.torture.outcome import assert_sound, keep, run

NORMAL, TORTURE, PARTS = 20, 2_000, 4
PLANTED = 100
"""Cases within which a planted bug must show."""


def test_a_damaged_database_is_reported_and_nothing_is_invented(tmp_path: Path) -> None:
    """Invalid UTF-8 in a column ended `fsck`, its repair and `view` in a traceback."""
    assert_sound(run("flips", place=str(tmp_path), seed=1, cases=NORMAL))


@pytest.mark.torture
@pytest.mark.parametrize("part", range(PARTS))
def test_thousands_of_damaged_databases(part: int, tmp_path: Path) -> None:
    found = run("flips", place=str(tmp_path), seed=10 + part, cases=TORTURE // PARTS)
    assert_sound(keep("flips", found, part=part))


@pytest.mark.parametrize(("plant", "shown"), [("blind", "says nothing"), ("trusting", "Traceback")])
def test_the_check_finds_what_is_planted(plant: str, shown: str, tmp_path: Path) -> None:
    """A check of the store that sees nothing, and rows that are taken for what they should be."""
    found = run("flips", place=str(tmp_path), seed=3, cases=PLANTED, plant=plant)
    assert [one for one in found.violations if shown in one], found

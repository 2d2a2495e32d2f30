"""T-D3: the power is cut."""

from __future__ import annotations

from itertools import product
from pathlib import Path

import pytest

from tests.torture.outcome import assert_sound, keep, run

MODES = tuple(product(("durable", "fast"), ("wal", "truncate")))
NORMAL, TORTURE = 1_600, 50_000
PLANTED = 200


@pytest.mark.parametrize(("durability", "journal"), MODES)
def test_a_power_cut_takes_nothing_that_was_promised(
    durability: str, journal: str, tmp_path: Path
) -> None:
    """CC#49876, opencode#7607: files of zeros after a crash. `durable` loses nothing, `fast` the
    last entries at the most."""
    cases = NORMAL // len(MODES)
    modes = {"durability": durability, "journal": journal}
    assert_sound(run("power", place=str(tmp_path), seed=1, cases=cases, **modes))


@pytest.mark.torture
@pytest.mark.parametrize("part", range(5))
@pytest.mark.parametrize(("durability", "journal"), MODES)
def test_power_cuts_by_the_thousand(
    durability: str, journal: str, part: int, tmp_path: Path
) -> None:
    cases = TORTURE // len(MODES) // 5
    modes = {"durability": durability, "journal": journal}
    found = run("power", place=str(tmp_path), seed=100 + part, cases=cases, **modes)
    assert_sound(keep(f"power-{durability}", found, journal=journal, part=part))


@pytest.mark.parametrize("journal", ["wal", "truncate"])
def test_the_check_finds_a_store_that_does_not_sync(journal: str, tmp_path: Path) -> None:
    assert _found(tmp_path, journal=journal, plant="unsynced")


def test_the_check_finds_a_journal_that_is_synced_too_rarely(tmp_path: Path) -> None:
    """With a journal instead of a log, `synchronous=NORMAL` may damage the database."""
    assert _found(tmp_path, durability="fast", journal="truncate", plant="rarely")


def _found(place: Path, **modes: str) -> list[str]:
    """What the planted bug does to the store; that the run was ended early is none of it."""
    found = run("power", place=str(place), seed=2, cases=PLANTED, **modes)
    return [one for one in found.violations if "void: " not in one]

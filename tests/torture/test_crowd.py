"""T-D7: many processes write to one session."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.torture.outcome import assert_sound, keep, run

WRITERS, EACH = 16, 200
DURABLE_WRITERS, DURABLE_EACH = 4, 50
NORMAL = WRITERS * EACH + 2 * DURABLE_WRITERS * DURABLE_EACH
TORTURE_WRITERS, TORTURE_EACH, TORTURE_KILLS = 50, 1_000, 100


def test_every_entry_of_many_writers_is_there_once_and_in_order(tmp_path: Path) -> None:
    """BMAD-METHOD#2621: of 50 that were appended at once, 17 to 24 survived. odysseus#1940: a new
    file in the place of the old one does not help against lost updates. pi#2206: what was said
    during a compaction was dropped."""
    found = run("crowd", place=str(tmp_path), seed=1, writers=WRITERS, each=EACH)
    assert_sound(found)
    assert found.measured["kills"]
    assert found.measured["compactions"]


@pytest.mark.parametrize("inherited", [False, True])
def test_the_same_where_each_entry_is_on_disk_when_its_call_returns(
    inherited: bool, tmp_path: Path
) -> None:
    """Also where the writers have the session from the process that they were forked from."""
    modes = {"writers": DURABLE_WRITERS, "each": DURABLE_EACH, "durability": "durable", "kills": 3}
    assert_sound(run("crowd", place=str(tmp_path), seed=2, inherited=inherited, **modes))


@pytest.mark.torture
@pytest.mark.parametrize("durability", ["durable", "fast"])
def test_every_entry_of_fifty_writers_is_there(durability: str, tmp_path: Path) -> None:
    counts = {"writers": TORTURE_WRITERS, "each": TORTURE_EACH, "kills": TORTURE_KILLS}
    found = run("crowd", place=str(tmp_path), seed=3, durability=durability, **counts)
    assert_sound(keep("crowd", found, durability=durability))


@pytest.mark.torture
@pytest.mark.parametrize("durability", ["durable", "fast"])
def test_how_long_twenty_writers_wait(durability: str, tmp_path: Path) -> None:
    """One of a hundred waited for more than five seconds while the session was compacted."""
    counts = {"writers": 20, "each": 200, "kills": 0}
    found = run("crowd", place=str(tmp_path), seed=5, durability=durability, **counts)
    assert_sound(keep("crowd-20", found, durability=durability))


@pytest.mark.parametrize("plant", ["numbers", "unlocked"])
def test_the_check_finds_a_lock_that_is_skipped(plant: str, tmp_path: Path) -> None:
    """The number of an entry is taken before the session is held; and a transaction that does not
    take the lock when it begins."""
    counts = {"writers": 4, "each": 50, "kills": 0}
    found = run("crowd", place=str(tmp_path), seed=4, plant=plant, **counts)
    assert [each for each in found.violations if "lost" in each]

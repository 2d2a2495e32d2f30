"""Many processes add to one bank."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bank.torture.test_bank_crash import made
from tests.torture.outcome import assert_sound, keep

WRITERS, EACH = 16, 20
STORY_WRITERS, STORY_EACH = 6, 20
TORTURE_WRITERS, TORTURE_EACH, TORTURE_KILLS = 50, 200, 60


def test_every_entry_of_many_writers_is_there_once_and_in_order(tmp_path: Path) -> None:
    """BMAD-METHOD#2621: of 50 that were appended at once, 17 to 24 survived."""
    found = made("crowd", place=str(tmp_path), seed=1, writers=WRITERS, each=EACH)
    assert_sound(found)
    counts = [found.measured[name] for name in ("kills", "compactions", "looks")]
    assert all(counts), found


def test_entries_and_decisions_of_many_agents_are_there_once(tmp_path: Path) -> None:
    """Through the class that agents use; in the end the bank proves itself."""
    found = made("story", place=str(tmp_path), seed=1, writers=STORY_WRITERS, each=STORY_EACH)
    assert_sound(found)
    assert found.measured["compactions"], found


@pytest.mark.torture
@pytest.mark.parametrize("check", ["crowd", "story"])
def test_every_entry_of_fifty_writers_is_there(check: str, tmp_path: Path) -> None:
    counts = {"writers": TORTURE_WRITERS, "each": TORTURE_EACH, "kills": TORTURE_KILLS}
    found = made(check, place=str(tmp_path), seed=3, **counts)
    assert_sound(keep(f"bank-{check}", found))
    assert found.measured["compactions"], found


def test_the_check_finds_a_lock_that_is_skipped(tmp_path: Path) -> None:
    counts = {"writers": 8, "each": 10, "kills": 0}
    found = made("crowd", place=str(tmp_path), seed=4, plant="no lock", **counts)
    assert [each for each in found.violations if "lost" in each]

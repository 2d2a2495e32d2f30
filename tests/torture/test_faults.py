"""T-D4 and T-D5: calls that fail, and a full disk."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.torture.outcome import Outcome, Skipped, assert_sound, keep, run

FAULTS, PARTS, FAULTS_TORTURE, TORTURE_PARTS = 200, 2, 5_000, 10
DISKS, DISKS_TORTURE = 20, 500
PLANTED = 60


def made(check: str, **options: Any) -> Outcome:
    try:
        return run(check, **options)
    except Skipped as why:
        pytest.skip(str(why))


@pytest.mark.parametrize("part", range(PARTS))
def test_a_call_that_fails_says_so_and_the_next_one_works(part: int, tmp_path: Path) -> None:
    """kimi-code#2902: one failure stuck until the process ended. oh-my-pi#8596: half a record was
    left."""
    assert_sound(made("faults", place=str(tmp_path), seed=part, cases=FAULTS // PARTS))


@pytest.mark.torture
@pytest.mark.parametrize("part", range(TORTURE_PARTS))
def test_calls_that_fail_by_the_thousand(part: int, tmp_path: Path) -> None:
    cases = FAULTS_TORTURE // TORTURE_PARTS
    found = made("faults", place=str(tmp_path), seed=100 + part, cases=cases)
    assert_sound(keep("faults", found, part=part))


def test_a_full_disk_leaves_nothing_half_done_and_is_forgotten_with_space(tmp_path: Path) -> None:
    """kimi-code#2902 and #3695: a disk that was full for two minutes cost twelve hours.
    opencode#7607: files of no bytes."""
    assert_sound(made("disk", place=str(tmp_path), seed=1, cases=DISKS))


@pytest.mark.torture
def test_full_disks_by_the_hundred(tmp_path: Path) -> None:
    found = made("disk", place=str(tmp_path), seed=2, cases=DISKS_TORTURE)
    assert_sound(keep("disk", found))


@pytest.mark.parametrize("check", ["faults", "disk"])
def test_the_check_finds_an_error_that_is_swallowed(check: str, tmp_path: Path) -> None:
    found = made(check, place=str(tmp_path), seed=3, cases=PLANTED // 3, plant="swallowed")
    assert [each for each in found.violations if "missing" in each or "not there" in each]

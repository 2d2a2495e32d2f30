"""Calls that fail, and a power cut."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bank.torture.test_bank_crash import made
from tests.torture.outcome import assert_sound, keep

FAULTS, FAULTS_TORTURE, TORTURE_PARTS = 40, 2_000, 4
CUTS, CUTS_TORTURE = 300, 20_000
PLANTED = 100


def test_a_call_that_fails_says_so_and_the_next_one_works(tmp_path: Path) -> None:
    """T-D4: disk full, failed reads, writes, syncs and renames."""
    assert_sound(made("faults", place=str(tmp_path), seed=1, cases=FAULTS))


@pytest.mark.torture
@pytest.mark.parametrize("part", range(TORTURE_PARTS))
def test_calls_that_fail_by_the_thousand(part: int, tmp_path: Path) -> None:
    cases = FAULTS_TORTURE // TORTURE_PARTS
    found = made("faults", place=str(tmp_path), seed=100 + part, cases=cases)
    assert_sound(keep("bank-faults", found, part=part))


def test_the_check_finds_an_error_that_is_swallowed(tmp_path: Path) -> None:
    found = made("faults", place=str(tmp_path), seed=1, cases=PLANTED, plant="swallowed")
    assert [each for each in found.violations if "void" not in each]


def test_a_power_cut_takes_nothing_that_was_added(tmp_path: Path) -> None:
    """T-D3: all that was synced is there, and any part of the rest."""
    assert_sound(made("power", place=str(tmp_path), seed=1, cases=CUTS))


@pytest.mark.torture
@pytest.mark.parametrize("part", range(TORTURE_PARTS))
def test_power_cuts_by_the_thousand(part: int, tmp_path: Path) -> None:
    cases = CUTS_TORTURE // TORTURE_PARTS
    found = made("power", place=str(tmp_path), seed=100 + part, cases=cases)
    assert_sound(keep("bank-power", found, part=part))


@pytest.mark.parametrize("plant", ["unsynced data", "unsynced names"])
def test_the_check_finds_a_sync_that_is_left_out(plant: str, tmp_path: Path) -> None:
    found = made("power", place=str(tmp_path), seed=3, cases=PLANTED, plant=plant)
    assert [each for each in found.violations if "void" not in each]

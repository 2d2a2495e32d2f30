"""The policy: budgets it derives, numbers it refuses, and the page that lists them."""

from __future__ import annotations

import runpy
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedgeline.errors import BadSettings
from kedgeline.model import Budget
from kedgeline.planning.policy import POLICY, Policy, reached, within
from tests.conftest import ROOT


def test_a_window_becomes_a_budget() -> None:
    expected = Budget(
        usable=160_000,
        target=80_000,
        recent_turns=3,
        summary=20_000,
        least_reduction=0.25,
    )
    assert expected == POLICY.budget(200_000, overhead=8_000)


def test_a_small_window_has_a_small_summary() -> None:
    assert POLICY.budget(8_000).usable == 6_400
    assert POLICY.budget(8_000).summary == 800


def test_tools_larger_than_the_window_leave_nothing_and_not_less() -> None:
    budget = POLICY.budget(8_000, overhead=9_000)
    assert (budget.usable, budget.target, budget.summary) == (0, 0, 0)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"window": 0}, "window: must be at least 1 tokens, not 0"),
        ({"window": -5}, "window: must be at least 1 tokens, not -5"),
        ({"window": 9, "overhead": -1}, "overhead: must be at least 0 tokens, not -1"),
    ],
)
def test_a_budget_of_nonsense_is_refused(given: dict[str, int], said: str) -> None:
    with pytest.raises(BadSettings) as raised:
        POLICY.budget(**given)
    assert said == str(raised.value)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"begin": 1.2}, "policy.begin: must be a share from 0 to 1, not 1.2"),
        ({"force": 85}, "policy.force: must be a share from 0 to 1, not 85"),
        ({"boundary": -0.1}, "policy.boundary: must be a share from 0 to 1, not -0.1"),
        ({"target": float("nan")}, "policy.target: must be a share from 0 to 1, not nan"),
        ({"rest": "10 %"}, "policy.rest: must be a share from 0 to 1, not '10 %'"),
        ({"cool_down": -1}, "policy.cool_down: must be a whole number from 0 on, not -1"),
        ({"recent_turns": 2.5}, "policy.recent_turns: must be a whole number from 0 on, not 2.5"),
        ({"target": 0.7}, "policy.target: must be less than begin (0.7), not 0.7"),
        ({"begin": 0.9}, "policy.begin: must be less than force (0.85), not 0.9"),
        (
            {"rest": 0.0},
            "policy.rest: must be more than 0: "
            "without it a compaction that frees nothing runs every turn",
        ),
        (
            {"cool_down": 0},
            "policy.cool_down: must be more than 0: "
            "without it a compaction that fails runs every turn",
        ),
    ],
)
def test_a_number_that_makes_no_sense_is_refused_in_one_sentence(
    given: dict[str, Any], said: str
) -> None:
    with pytest.raises(BadSettings) as raised:
        Policy(**given)
    assert said == str(raised.value)


def test_shares_of_tokens_are_exact() -> None:
    """0.07 of 100 tokens are 7 and not 8; 0.29 of 100 are 29 and not 28."""
    for percent in range(101):
        for whole in (1, 7, 20, 99, 100, 168_000, 1_000_001):
            tokens = percent * whole
            assert -(-tokens // 100) == reached(percent / 100, whole)
            assert tokens // 100 == within(percent / 100, whole)


@given(window=st.integers(1, 2_000_000), overhead=st.integers(0, 100_000))
def test_every_budget_fits_its_window(window: int, overhead: int) -> None:
    budget = POLICY.budget(window, overhead=overhead)
    reserve = POLICY.reserve(window)
    assert 0 <= reserve <= min(32_000, window // 5)
    assert budget.usable == max(0, window - reserve - overhead)
    assert 0 <= budget.summary <= budget.target <= budget.usable


def test_the_page_lists_every_number_with_unit_default_and_reason() -> None:
    made = runpy.run_path(str(ROOT / "docs" / "generate.py"))
    page = (ROOT / "docs" / "triggers.md").read_text("utf-8")
    assert page == made["triggers"](page), "run `make docs`"
    rows = [row.split(" | ") for row in made["policy_table"]().splitlines()[2:]]
    assert [row[0].strip("| `") for row in rows] == list(Policy.__struct_fields__)
    assert all(cell.strip(" |") for row in rows for cell in row)

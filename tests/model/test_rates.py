"""Tokens and what they cost."""

from __future__ import annotations

import pytest

from kedgeline.economy.ledger import Cost, cost_of
from kedgeline.model import Rates, Usage

USED = Usage(input=100, output=20, cache_read=7, cache_write=3)


def test_usage_is_added_kind_by_kind() -> None:
    assert USED + Usage(input=1, cache_write=2) == Usage(
        input=101, output=20, cache_read=7, cache_write=5
    )
    assert sum([USED, USED], Usage()).total == 260


@pytest.mark.parametrize(
    ("rates", "amount", "whole"),
    [
        (Rates(input=2.0, output=10.0), 200 + 200 + 14 + 6, True),
        (Rates(input=2.0, output=10.0, cache_read=0.5), 200 + 200 + 3.5 + 6, True),
        (Rates(input=2.0, output=10.0, cache_read=0.5, cache_write=0.0), 403.5, True),
        (Rates(input=2.0), 200 + 14 + 6, False),
        (Rates(output=10.0), 200, False),
        (Rates(), 0, False),
        (None, 0, False),
    ],
)
def test_what_tokens_cost_and_whose_price_is_not_known(
    rates: Rates | None, amount: float, whole: bool
) -> None:
    """Where a cache has no price of its own, that of input is taken."""
    known = amount / 1e6 if amount else None
    ledger = cost_of(USED, rates, model="m")
    assert ledger == Cost(
        amount=None if known is None else pytest.approx(known), unknown=() if whole else ("m",)
    )


def test_nothing_costs_nothing() -> None:
    assert cost_of(Usage(), None, model="m") == Cost(amount=0.0)

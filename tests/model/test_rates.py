"""Money and tokens are added up in one place, for the budget and for the ledger."""

from __future__ import annotations

import pytest

from kedgeline.economy.ledger import Cost, cost_of
from kedgeline.model import ModelCall, Rates, Usage
from kedgeline.model.ask import charged
from kedgeline.models import Meter

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
def test_the_budget_and_the_ledger_charge_the_same(
    rates: Rates | None, amount: float, whole: bool
) -> None:
    """Where a cache has no price of its own, both take that of input."""
    assert charged(USED, rates) == (pytest.approx(amount / 1e6), whole)
    known = amount / 1e6 if amount else None
    ledger = cost_of(USED, rates, model="m")
    assert ledger == Cost(
        amount=None if known is None else pytest.approx(known), unknown=() if whole else ("m",)
    )
    call = ModelCall(role="judge", model="m", sent=100, usage=USED)
    meter = Meter(count=len, rates=lambda _: rates, earlier=[call])
    assert meter.cost == pytest.approx(amount / 1e6)


def test_nothing_costs_nothing() -> None:
    assert charged(Usage(), None) == (0, True)

"""What models cost is counted, and a budget in tokens or dollars is never exceeded."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from kedgeline.economy import rates_of
from kedgeline.errors import MissingExtra
from kedgeline.model import Rates, Usage
from kedgeline.models import Meter, Terms
from tests.models.guards import Act, World, ask, before, ran, words

RATES = Rates(input=2.0, output=10.0, cache_read=0.5)
"""A million words."""


def priced(model: str) -> Rates | None:
    return RATES if model == "gpt-5" else None


def test_a_request_that_could_exceed_the_dollars_is_not_made() -> None:
    """It sends 4 and may write 10: 108 millionths."""
    terms = Terms(cost=0.000_24)
    meter = Meter(terms, count=words, rates=priced, earlier=[before(Usage(output=3))])
    found = ran(World(Act(1, "one " * 10), Act(1, "x")), ask(), ask(), terms=terms, meter=meter)
    assert found.told[1] == (
        "over budget: the session has used $0.0001 of $0.0002, and this request may cost $0.0001"
    )
    assert len(found.asks) == 1
    assert meter.cost == pytest.approx(0.000_138)


def no_package(model: str) -> Rates | None:
    raise MissingExtra("knowing prices", "prices")


@pytest.mark.parametrize(
    ("rates", "why"),
    [
        (lambda _: None, "what it costs is not known, and there is a limit in dollars"),
        (lambda _: Rates(input=1.0), "what it costs is not known, and"),
        (lambda _: Rates(output=1.0), "what it costs is not known, and"),
        (lambda _: Rates(input=1.0, output=1.0, currency="EUR"), "what it costs is not known"),
        (no_package, "pip install 'kedgeline[prices]'"),
    ],
)
def test_a_limit_in_dollars_is_never_ignored(
    rates: Callable[[str], Rates | None], why: str
) -> None:
    terms = Terms(cost=1_000.0)
    meter = Meter(terms, count=words, rates=rates)
    found = ran(World(Act(1, "x")), ask(), terms=terms, meter=meter)
    assert found.told[0].startswith("over budget: ")
    assert why in found.told[0]
    assert (found.asks, found.calls) == ([], ())


def test_the_prices_of_the_ledger_fit() -> None:
    terms = Terms(cost=0.01)
    meter = Meter(terms, count=words, rates=rates_of)
    assert ran(World(Act(1, "x")), ask(), terms=terms, meter=meter).told == ("x",)
    assert 0 < meter.cost < 0.000_1


# whatever comes

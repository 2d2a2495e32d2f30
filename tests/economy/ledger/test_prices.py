"""Prices come from a package, offline; what is not known is unknown and never 0."""

from __future__ import annotations

import socket
from datetime import datetime, tzinfo
from typing import NoReturn

import pytest

from kedgeline.economy import ledger as prices
from kedgeline.economy.counting import LedgerBuilder
from kedgeline.economy.ledger import (
    Cell,
    Cost,
    Ledger,
    Spent,
    cost_of,
    cost_of_cells,
    priced_as,
    rates_of,
    sizes_of,
    tiers_of,
)
from kedgeline.economy.report import cost_report, money
from kedgeline.errors import MissingExtra
from kedgeline.model import Rates, Turn
from kedgeline.model.ask import MILLION
from tests.economy.ledger.sessions import OPUS, message_id, used

TIERED = "gemini-2.5-pro"


def cell(model: str, given: int = MILLION) -> Cell:
    spent = Spent(messages=1, tokens=used(given))
    return Cell(session="s", agent="", model=model, above=0, spent=spent)


def price(model: str, *, context: int = 0) -> float:
    """Of a million tokens of input."""
    rates = rates_of(model, context=context)
    assert rates is not None
    assert rates.input is not None
    return rates.input


def test_a_known_model_has_all_four_prices_and_says_where_they_are_from() -> None:
    rates = rates_of(OPUS)
    assert rates is not None
    assert (rates.input, rates.output, rates.cache_read, rates.cache_write) == (5, 25, 0.5, 6.25)
    assert "anthropic/claude-opus-4-5" in rates.source
    assert rates.currency == "USD"


@pytest.mark.parametrize("name", ["", "<synthetic>", "claude-opus-99", "harbour-1"])
def test_a_model_that_nobody_knows_has_no_prices(name: str) -> None:
    assert rates_of(name) is None
    assert tiers_of(name) == ()


def test_a_model_is_found_behind_the_name_of_who_sells_it() -> None:
    assert price("openai/gpt-5") == price("gpt-5")


def test_above_a_size_of_the_context_all_tokens_cost_more() -> None:
    (above,) = tiers_of(TIERED)
    below, at, over = (price(TIERED, context=size) for size in (0, above, above + 1))
    assert below == at < over


def test_a_ledger_keeps_messages_of_different_tiers_apart() -> None:
    (above,) = tiers_of(TIERED)
    builder = LedgerBuilder()
    for number, context in enumerate((above, above + 1)):
        turn = Turn(message_id=message_id(number), model=TIERED, usage=used(context))
        builder.take(turn, sizes_of(turn), source="s", session="s", carried=0)
    ledger = builder.ledger(tiers_of)
    assert [one.above for one in ledger.cells] == [0, above]
    low, high = price(TIERED), price(TIERED, context=above + 1)
    expected = (above * low + (above + 1) * high) / MILLION
    assert cost_of_cells(ledger.cells).amount == pytest.approx(expected)


def test_the_price_of_a_cache_that_has_none_is_that_of_input() -> None:
    """As the package itself counts it."""
    rates = rates_of("gpt-4")
    assert rates is not None
    assert rates.cache_read == rates.cache_write == rates.input


def test_unknown_is_never_nothing_also_in_sums() -> None:
    """A sum in which an unknown price is nothing would be told as what it cost."""
    alone, both = cost_of_cells([cell("harbour-1")]), cost_of_cells([cell("harbour-1"), cell(OPUS)])
    assert (alone.amount, money(alone)) == (None, "unknown")
    assert both == Cost(amount=5.0, unknown=("harbour-1",))
    assert (money(both), money(cost_of_cells([cell(OPUS)]))) == ("at least $5.00", "$5.00")


def test_a_kind_of_tokens_without_a_price_makes_the_sum_the_least() -> None:
    rates = Rates(input=2.0)
    assert cost_of(used(MILLION, 5), rates, model="m") == Cost(amount=2.0, unknown=("m",))


def test_no_network_is_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*given: object, **named: object) -> NoReturn:
        raise AssertionError("the network was reached for")

    monkeypatch.setattr(socket, "create_connection", refuse)
    monkeypatch.setattr(socket.socket, "connect", refuse)
    prices._snapshot.cache_clear()
    rates_of.cache_clear()
    assert rates_of(OPUS) is not None
    assert not prices._snapshot().from_auto_update


def test_without_the_package_costs_are_unknown_and_it_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(prices, "PACKAGE", "genai_prices_that_is_not_there")
    prices._snapshot.cache_clear()
    rates_of.cache_clear()
    try:
        with pytest.raises(MissingExtra, match=r"pip install 'kedgeline\[prices\]'"):
            rates_of(OPUS)
        report = cost_report(Ledger(cells=(cell(OPUS),)))
        assert report.total.cost.amount is None
        assert any("kedgeline[prices]" in remark for remark in report.remarks)
    finally:
        prices._snapshot.cache_clear()
        rates_of.cache_clear()


def test_the_hour_at_which_it_is_asked_changes_no_price(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same session gives the same report. Some models are cheaper at night."""
    found = []
    for hour in range(24):

        class Clock(datetime):
            @classmethod
            def now(cls, tz: tzinfo | None = None, at: int = hour) -> Clock:
                return cls(2026, 11, 15, at, 45, tzinfo=tz)

        monkeypatch.setattr(prices, "datetime", Clock)
        for model in ("deepseek-chat", "deepseek-v4-flash"):
            rates = rates_of.__wrapped__(model)
            assert rates is not None
            found.append((model, rates.input, rates.output))
    assert len(set(found)) == 2


@pytest.mark.parametrize(
    ("amount", "text"), [(0.0, "$0.00"), (0.00001, "< $0.0001"), (0.00006, "$0.0001"), (2, "$2.00")]
)
def test_little_money_is_not_none(amount: float, text: str) -> None:
    assert money(Cost(amount=amount)) == text


def test_the_model_whose_prices_are_taken_is_named_where_it_is_another() -> None:
    assert priced_as(OPUS) == "anthropic/claude-opus-4-5"
    assert [priced_as(one) for one in ("gpt-5", "openai/gpt-5", "harbour-1")] == ["", "", ""]
    (row,) = cost_report(Ledger(cells=(cell(OPUS),))).models
    assert row.priced_as == "anthropic/claude-opus-4-5"

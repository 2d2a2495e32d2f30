"""What tokens cost, from the prices that come with genai-prices. Nothing is fetched."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, time
from functools import cache
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from kedge.economy.ledger import Cell
from kedge.errors import MissingExtra
from kedge.model import Rates, Usage, Value
from kedge.model.rates import charged

if TYPE_CHECKING:
    from genai_prices.data_snapshot import DataSnapshot
    from genai_prices.types import ModelInfo, ModelPrice, Provider

PACKAGE, EXTRA = "genai_prices", "prices"
PRICED_AT = time(12, tzinfo=UTC)
"""Time of the day whose prices count: some models are cheaper at night or dearer at busy hours, and
the same session must cost the same at any hour. At noon no model has either."""
PRICES = {
    "input": "input_mtok",
    "output": "output_mtok",
    "cache_read": "cache_read_mtok",
    "cache_write": "cache_write_mtok",
}
"""Our kinds of tokens, and their prices there. Writes into the cache are taken to be short-lived:
usage does not tell them from those that last an hour."""


class Cost(Value, frozen=True):
    amount: float | None = 0.0
    """Of what has a known price; None where nothing has."""
    unknown: tuple[str, ...] = ()
    """Models with tokens whose price is not known. With any, the amount is the least it cost."""
    currency: str = "USD"


def is_installed() -> bool:
    return find_spec(PACKAGE) is not None


@cache
def rates_of(model: str, provider: str = "", *, context: int = 0) -> Rates | None:
    """The prices of a model for a message with so large a context, as they are today; None for a
    model that nobody knows."""
    found = _found(model, provider)
    if found is None:
        return None
    seller, info = found
    prices = _prices(info)
    rates = {kind: _price(getattr(prices, name, None), context) for kind, name in PRICES.items()}
    found_rates = Rates(
        input=rates["input"],
        output=rates["output"],
        cache_read=rates["cache_read"],
        cache_write=rates["cache_write"],
        source=f"genai-prices {_version()}: {seller.id}/{info.id}",
    )
    return found_rates.filled()


@cache
def priced_as(model: str) -> str:
    """The model whose prices are taken, where it has another name; else nothing."""
    found = _found(model, "")
    if found is None or found[1].id in (model, model.partition("/")[2]):
        return ""
    return f"{found[0].id}/{found[1].id}"


@cache
def tiers_of(model: str, provider: str = "") -> tuple[int, ...]:
    """Sizes of the context above which a model has other prices, ascending."""
    found = _found(model, provider)
    if found is None:
        return ()
    prices = _prices(found[1])
    tiered = (getattr(prices, name, None) for name in PRICES.values())
    starts = {tier.start for price in tiered for tier in getattr(price, "tiers", ())}
    return tuple(sorted(starts))


def cost_of(usage: Usage, rates: Rates | None, *, model: str) -> Cost:
    """What tokens cost; a price that is not known is unknown, never nothing."""
    amount, whole = charged(usage, rates)
    return _cost(amount, () if whole else (model,))


def total_cost(costs: Iterable[Cost]) -> Cost:
    """The sum of what is known, and of whom nothing is."""
    listed = list(costs)
    unknown = dict.fromkeys(model for cost in listed for model in cost.unknown)
    return _cost(sum(cost.amount or 0.0 for cost in listed), tuple(unknown))


def _cost(known: float, unknown: tuple[str, ...]) -> Cost:
    """At least nothing is no amount."""
    return Cost(amount=None if unknown and not known else known, unknown=unknown)


def cost_of_cells(cells: Iterable[Cell]) -> Cost:
    return total_cost(map(cost_of_cell, cells))


def cost_of_cell(cell: Cell) -> Cost:
    # A price begins above its tier, not at it.
    context = cell.above + 1 if cell.above else 0
    rates = rates_of(cell.model, context=context) if is_installed() else None
    return cost_of(cell.spent.tokens, rates, model=cell.model)


def _found(model: str, provider: str) -> tuple[Provider, ModelInfo] | None:
    """The model under its own name, or behind the name of who sells it: `openai/gpt-5`."""
    seller, _, name = model.partition("/")
    asked = [(model, provider or None), *([(name, seller)] if name and not provider else [])]
    for reference, sold_by in asked:
        try:
            return _snapshot().find_provider_model(reference, None, sold_by, None)
        except LookupError:
            continue
    return None


@cache
def _snapshot() -> DataSnapshot:
    """The prices that came with the package, and not those that a program around may have fetched:
    loaded with the first question, as that takes half a second."""
    if not is_installed():
        raise MissingExtra("knowing prices", EXTRA)
    from genai_prices.data import providers
    from genai_prices.data_snapshot import DataSnapshot

    return DataSnapshot(providers=providers, from_auto_update=False)


def _prices(info: ModelInfo) -> ModelPrice:
    return info.get_prices(datetime.combine(datetime.now(tz=UTC), PRICED_AT))


def _price(price: Any, context: int) -> float | None:
    """One number out of a price that may depend on the size of the context."""
    if price is None:
        return None
    tiers = getattr(price, "tiers", None)
    if tiers is None:
        return float(price)
    reached = [tier.price for tier in tiers if context > tier.start]
    return float(reached[-1] if reached else price.base)


def _version() -> str:
    from importlib.metadata import version

    return version("genai-prices")

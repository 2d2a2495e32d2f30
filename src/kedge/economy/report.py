"""What sessions cost, put together from a ledger: for tables, JSON, and a page in Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from kedge.economy.ledger import MAIN, Cell, Ledger, Part, Spent, ToolSpent
from kedge.economy.prices import (
    EXTRA,
    Cost,
    cost_of,
    cost_of_cell,
    is_installed,
    rates_of,
    total_cost,
)
from kedge.economy.saving import Saving
from kedge.errors import MissingExtra
from kedge.model import Rates, Usage, Value

NOT_NAMED = "(not named)"
"""In the place of a model that no message names."""


class Row(Value, frozen=True):
    name: str
    spent: Spent
    cost: Cost


class Priced(Value, frozen=True):
    """A compaction with what it saved and took in money."""

    saving: Saving
    saved: Cost
    """Tokens that were not carried, as if they came from the cache: the least they would have
    cost."""
    taken: Cost
    """Writing the cache again, and the summary."""


class Report(Value, frozen=True):
    total: Row
    sessions: tuple[Row, ...]
    agents: tuple[Row, ...]
    models: tuple[Row, ...]
    tools: dict[str, ToolSpent]
    compactions: tuple[Priced, ...]
    remarks: tuple[str, ...]
    """What is estimated, unknown or left out, a sentence each."""
    sources: tuple[str, ...]
    """Where the prices come from."""


def report_of(ledger: Ledger, savings: Sequence[Saving] = ()) -> Report:
    total = Row(name="total", spent=ledger.total, cost=total_cost(map(cost_of_cell, ledger.cells)))
    models = [cell.model for cell in ledger.cells]
    rates = [rates_of(model) for model in dict.fromkeys(models)] if is_installed() else []
    return Report(
        total=total,
        sessions=_rows(ledger, "session"),
        agents=_rows(ledger, "agent"),
        models=_rows(ledger, "model"),
        tools=ledger.tools,
        compactions=tuple(_priced(saving, ledger) for saving in savings),
        remarks=tuple(_remarks(ledger, total, savings)),
        sources=tuple(dict.fromkeys(one.source for one in rates if one)),
    )


def _rows(ledger: Ledger, part: Part) -> tuple[Row, ...]:
    cells: dict[str, list[Cell]] = {}
    for cell in ledger.cells:
        cells.setdefault(getattr(cell, part), []).append(cell)
    unnamed = {"agent": MAIN, "model": NOT_NAMED}.get(part, "")
    return tuple(
        Row(name=name or unnamed, spent=spent, cost=total_cost(map(cost_of_cell, cells[name])))
        for name, spent in ledger.per(part).items()
    )


def _priced(saving: Saving, ledger: Ledger) -> Priced:
    """With the prices of the model that took most messages of the main conversation."""
    counts: Counter[str] = Counter()
    for cell in ledger.cells:
        if cell.session == saving.session and not cell.agent:
            counts[cell.model] += cell.spent.messages
    model = counts.most_common(1)[0][0] if counts else ""
    rates = rates_of(model) if is_installed() else None
    taken = [_cost(Usage(cache_write=saving.cache_write or 0), rates, model)]
    taken += [_cost(saving.summary, rates, model)] if saving.summary else []
    return Priced(
        saving=saving,
        saved=_cost(Usage(cache_read=saving.saved or 0), rates, model),
        taken=total_cost(taken),
    )


def _cost(usage: Usage, rates: Rates | None, model: str) -> Cost:
    return cost_of(usage, rates, model=model)


def _remarks(ledger: Ledger, total: Row, savings: Sequence[Saving]) -> Iterable[str]:
    spent = total.spent
    if spent.estimated_messages:
        tokens = spent.estimated.context + spent.estimated.output
        yield (
            f"{spent.estimated_messages:,} of {spent.messages:,} messages have no reported usage: "
            f"{tokens:,} of the tokens above are estimated"
        )
    if ledger.copies:
        yield f"copies of messages that are counted once: {ledger.copies:,}"
    if ledger.unseen_agents:
        yield (
            f"sub-agents whose messages are not here, so that their cost is not known: "
            f"{len(ledger.unseen_agents):,}"
        )
    if not is_installed():
        yield str(MissingExtra("knowing prices", EXTRA))
    elif total.cost.unknown:
        names = ", ".join(model or NOT_NAMED for model in total.cost.unknown)
        yield f"no price is known of: {names}"
    for saving in savings:
        if saving.remark:
            yield f"the compaction before t{saving.turn} of {saving.session}: {saving.remark}"


def money(cost: Cost) -> str:
    """An amount for people; never 0 for what is not known."""
    if cost.amount is None:
        return "unknown"
    digits = 2 if cost.amount >= 1 or cost.amount == 0 else 4
    amount = f"${cost.amount:,.{digits}f}"
    return f"at least {amount}" if cost.unknown else amount

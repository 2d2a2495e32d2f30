"""What sessions cost, put together from a ledger: for tables, JSON, and a page in Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from kedgeline.economy.counting import Saving, distinct
from kedgeline.economy.ledger import (
    EXTRA,
    MAIN,
    Cell,
    Cost,
    Ledger,
    Part,
    Spent,
    ToolSpent,
    cost_of,
    cost_of_cells,
    priced_as,
    prices_installed,
    rates_of,
    total_cost,
)
from kedgeline.errors import MissingExtra
from kedgeline.model import Usage, Value
from kedgeline.text.prose import foreign

NOT_NAMED = "(not named)"
"""In the place of a model that no message names."""


LEAST = 0.0001
"""Dollars: the least that the digits of an amount show."""


class Row(Value, frozen=True):
    name: str
    spent: Spent
    cost: Cost
    priced_as: str = ""
    """The model whose prices were taken, where it is not named as the row is."""


class Priced(Value, frozen=True):
    """A compaction with what it saved and took in money."""

    saving: Saving
    saved: Cost | None
    """Tokens that were not carried, as if they came from the cache: the least they would have
    cost. None where nobody knows how many."""
    taken: Cost | None
    """Writing the cache again, and the summary; None where neither is known."""


class CostReport(Value, frozen=True):
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


def cost_report(ledger: Ledger, savings: Sequence[Saving] = ()) -> CostReport:
    total = Row(name="total", spent=ledger.total, cost=cost_of_cells(ledger.cells))
    savings = distinct(savings)
    models = [cell.model for cell in ledger.cells]
    rates = [rates_of(model) for model in dict.fromkeys(models)] if prices_installed() else []
    return CostReport(
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
        Row(
            name=name or unnamed,
            spent=spent,
            cost=cost_of_cells(cells[name]),
            priced_as=priced_as(name) if part == "model" and prices_installed() else "",
        )
        for name, spent in ledger.per(part).items()
    )


def _priced(saving: Saving, ledger: Ledger) -> Priced:
    """With the prices of the model that took most messages of the main conversation."""
    counts: Counter[str] = Counter()
    for cell in ledger.cells:
        if cell.session == saving.session and not cell.agent:
            counts[cell.model] += cell.spent.messages
    model = counts.most_common(1)[0][0] if counts else ""
    rates = rates_of(model) if prices_installed() else None

    def priced(usage: Usage) -> Cost:
        return cost_of(usage, rates, model=model)

    written, summary = saving.cache_write, saving.summary
    taken = [priced(Usage(cache_write=written))] if written is not None else []
    taken += [priced(summary)] if summary else []
    return Priced(
        saving=saving,
        saved=None if saving.saved is None else priced(Usage(cache_read=saving.saved)),
        taken=total_cost(taken) if taken else None,
    )


def _remarks(ledger: Ledger, total: Row, savings: Sequence[Saving]) -> Iterable[str]:
    spent = total.spent
    if spent.estimated_messages:
        tokens = spent.estimated.context + spent.estimated.output
        yield (
            f"messages without reported usage: {spent.estimated_messages:,} of {spent.messages:,}; "
            f"{tokens:,} of the tokens above are estimated"
        )
    if ledger.copies:
        yield f"copies of messages that are counted once: {ledger.copies:,}"
    if ledger.unseen_agents:
        yield (
            f"sub-agents whose messages are not here, so that their cost is not known: "
            f"{len(ledger.unseen_agents):,}"
        )
    if not prices_installed():
        yield str(MissingExtra("knowing prices", EXTRA))
    elif total.cost.unknown:
        names = ", ".join(model or NOT_NAMED for model in total.cost.unknown)
        yield f"no price is known of: {names}"
    for saving in savings:
        if saving.remark:
            yield f"the compaction before t{saving.turn} of {saving.session}: {saving.remark}"


def several(number: int, what: str) -> str:
    """`1 message`, `2 messages`."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def money(cost: Cost) -> str:
    """An amount for people; never 0 for what is not known, or is little."""
    if cost.amount is None:
        return "unknown"
    if 0 < cost.amount < LEAST / 2:
        return "more than $0" if cost.unknown else f"< ${LEAST}"
    digits = 2 if cost.amount >= 1 or cost.amount == 0 else 4
    amount = f"${cost.amount:,.{digits}f}"
    return f"at least {amount}" if cost.unknown else amount


# The tables of a report, for a screen and for a page.

SPENT = ("messages", "input", "output", "cache read", "written", "cost")
TOOLS = ("tool (estimated)", "calls", "brought", "written")
COMPACTIONS = ("compaction before", "by", "before", "after", "turns", "spared", "saved", "taken")
NOTHING = "–"
ESTIMATED = "*"
"""Behind a number that is estimated as a whole or in part."""


class Sheet(NamedTuple):
    title: str
    columns: tuple[str, ...]
    rows: Sequence[tuple[str, ...]]
    total: tuple[str, ...] = ()


def sheets(report: CostReport, number: Callable[[int], str] = "{:,}".format) -> Iterator[Sheet]:
    """`number` writes a number of tokens."""

    def rows(of: Sequence[Row]) -> list[tuple[str, ...]]:
        return [_spent(row, number) for row in of]

    is_one = len(report.sessions) == 1
    if not is_one:
        yield Sheet("Sessions", ("session", *SPENT), rows(report.sessions))
    total = _spent(report.total, number) if len(report.agents) > 1 else ()
    yield Sheet("Agents", ("agent", *SPENT), rows(report.agents), total)
    yield Sheet("Models", ("model", *SPENT), rows(report.models))
    if report.tools:
        tools = [
            (tool, f"{one.calls:,}", number(one.input), number(one.output))
            for tool, one in report.tools.items()
        ]
        yield Sheet("Tools", TOOLS, tools)
    if report.compactions:
        made = [_compaction(one, number, named=not is_one) for one in report.compactions]
        yield Sheet("Compactions", COMPACTIONS, made)


def notes(report: CostReport) -> list[str]:
    """What is to be said below the tables."""
    priced = (f"{r.name}: prices of {r.priced_as}" for r in report.models if r.priced_as)
    return [*report.remarks, *priced]


def cost_headline(report: CostReport) -> str:
    spent = report.total.spent
    tokens = spent.tokens.context + spent.tokens.output
    messages = several(spent.messages, "message")
    return f"{messages} · {tokens:,} tokens · {money(report.total.cost)}"


def cost_page(report: CostReport, *, title: str) -> str:
    """The report in Markdown. The same for the same report: no date, no machine."""
    parts = [f"# Cost: {_cell(title)}", cost_headline(report)]
    for sheet in sheets(report):
        marks = ("---", *("--:" for _ in sheet.columns[1:]))
        body = (sheet.columns, marks, *sheet.rows, *([sheet.total] if sheet.total else []))
        lines = (f"| {' | '.join(map(_cell, cells))} |" for cells in body)
        parts += [f"## {sheet.title}", "\n".join(lines)]
    said = [*notes(report), *(f"prices: {source}" for source in report.sources)]
    parts += ["\n".join(f"- {foreign(one)}" for one in said)] if said else []
    return "\n\n".join(parts) + "\n"


def _spent(row: Row, number: Callable[[int], str]) -> tuple[str, ...]:
    used, guessed = row.spent.tokens, row.spent.estimated
    kinds = ("input", "output", "cache_read", "cache_write")
    tokens = (number(getattr(used, k)) + ESTIMATED * bool(getattr(guessed, k)) for k in kinds)
    return row.name, f"{row.spent.messages:,}", *tokens, money(row.cost)


def _compaction(one: Priced, number: Callable[[int], str], *, named: bool) -> tuple[str, ...]:
    saving = one.saving
    sizes = (saving.before, saving.after, saving.saved)
    before, after, saved = (NOTHING if size is None else number(size) for size in sizes)
    return (
        f"{saving.session} t{saving.turn}" if named else f"t{saving.turn}",
        *(saving.by, before, after, f"{saving.turns:,}", saved),
        *(money(cost) if cost else NOTHING for cost in (one.saved, one.taken)),
    )


def _cell(text: str) -> str:
    return foreign(text).replace("|", "\\|")

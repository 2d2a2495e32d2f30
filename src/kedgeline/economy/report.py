"""What sessions cost, put together from a ledger: for tables, JSON, and a page in Markdown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

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
    is_installed,
    priced_as,
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
    total = Row(name="total", spent=ledger.total, cost=cost_of_cells(ledger.cells))
    savings = distinct(savings)
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
        Row(
            name=name or unnamed,
            spent=spent,
            cost=cost_of_cells(cells[name]),
            priced_as=priced_as(name) if part == "model" and is_installed() else "",
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
    rates = rates_of(model) if is_installed() else None

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
    if not is_installed():
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


# The report at the end of a session, in Markdown.

HEADER = ("", "messages", "input", "output", "cache read", "cache write", "estimated", "cost")
TOOLS = ("tool", "calls", "brought into the context", "written")
COMPACTIONS = (
    "before",
    "by",
    "tokens",
    "turns since",
    "tokens not carried",
    "saved",
    "cache written again",
    "summary",
    "taken",
)
NOTHING = "–"


def page(report: Report, *, title: str) -> str:
    """The same for the same report: no date, no machine."""
    parts = [f"# Cost: {_cell(title)}", _sentence(report)]
    if len(report.sessions) > 1:
        parts += ["## Sessions", _spent("session", report.sessions)]
    parts += ["## Agents", _spent("agent", (*report.agents, report.total))]
    parts += ["## Models", _spent("model", report.models)]
    if report.tools:
        rows = (
            (_cell(tool), f"{one.calls:,}", f"{one.input:,}", f"{one.output:,}")
            for tool, one in report.tools.items()
        )
        said = "Providers report messages, not calls: the tokens of tools are estimated."
        parts += ["## Tools", said, _table(TOOLS, rows)]
    if report.compactions:
        named = len(report.sessions) > 1
        made = (_compaction(one, named=named) for one in report.compactions)
        parts += ["## Compactions", _table(COMPACTIONS, made)]
    remarks = [*report.remarks, *(f"prices: {source}" for source in report.sources)]
    if remarks:
        parts.append("\n".join(f"- {foreign(remark)}" for remark in remarks))
    return "\n\n".join(parts) + "\n"


def _sentence(report: Report) -> str:
    spent = report.total.spent
    used = spent.tokens
    return (
        f"{several(spent.messages, 'message')}, {used.context + used.output:,} tokens: "
        f"{used.input:,} input, {used.cache_read:,} read from the cache, "
        f"{used.cache_write:,} written to it, {used.output:,} output. "
        f"Cost: {money(report.total.cost)}."
    )


def _spent(name: str, rows: Sequence[Row]) -> str:
    return _table((name, *HEADER[1:]), map(_cells, rows))


def _cells(row: Row) -> tuple[str, ...]:
    used, estimated = row.spent.tokens, row.spent.estimated
    numbers = (used.input, used.output, used.cache_read, used.cache_write)
    return (
        _cell(f"{row.name} (prices of {row.priced_as})" if row.priced_as else row.name),
        f"{row.spent.messages:,}",
        *(f"{number:,}" for number in numbers),
        f"{estimated.context + estimated.output:,}" if row.spent.estimated_messages else "",
        money(row.cost),
    )


def _compaction(one: Priced, *, named: bool) -> tuple[str, ...]:
    saving = one.saving
    summary = saving.summary
    about = "about " if saving.summary_estimated else ""
    return (
        _cell(place(one, named=named)),
        _cell(saving.by),
        f"{_number(saving.before)} to {_number(saving.after)}",
        f"{saving.turns:,}",
        _number(saving.saved),
        money(one.saved) if one.saved else NOTHING,
        _number(saving.cache_write),
        f"{about}{summary.context:,} in, {summary.output:,} out" if summary else NOTHING,
        money(one.taken) if one.taken else NOTHING,
    )


def place(one: Priced, *, named: bool) -> str:
    """The turn before which a compaction was made, with its session if that is to be named."""
    return f"{one.saving.session} t{one.saving.turn}" if named else f"t{one.saving.turn}"


def _number(number: int | None) -> str:
    return NOTHING if number is None else f"{number:,}"


def _table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    marks = ["---", *("--:" for _ in header[1:])]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (header, marks, *rows))


def _cell(text: str) -> str:
    return foreign(text).replace("|", "\\|")

"""The report at the end of a session, in Markdown."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kedge.economy.report import Priced, Report, Row, money, several
from kedge.foreign import foreign

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

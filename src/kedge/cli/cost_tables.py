"""The tables of `kedge cost`, within 80 columns."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from kedge.cli.output import harmless
from kedge.economy.page import NOTHING, place
from kedge.economy.report import money, several

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from kedge.economy.report import Priced, Report, Row

SHOWN = 12
"""Rows of a table; `--json` and `--report` have them all."""
NAME_WIDTH = 26
PLACE_WIDTH = 20
"""Columns of a name, and of the place of a compaction, which has more numbers beside it."""
EXACT_BELOW = 100_000
"""Larger numbers are shown in thousands or millions; `--json` and `--report` have all digits."""
UNITS = ((1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k"))
ESTIMATED = "*"
"""Behind a number that is estimated as a whole or in part."""
SPENT = ("messages", "input", "output", "cache read", "written", "cost")
TOOLS = ("calls", "brought", "written")
COMPACTIONS = ("by", "before", "after", "turns", "spared", "saved", "taken")


def show(report: Report, out: Console, *, passed_over: int) -> None:
    spent = report.total.spent
    tokens = spent.tokens.context + spent.tokens.output
    out.print(
        f"{several(spent.messages, 'message')} · {tokens:,} tokens · {money(report.total.cost)}",
        markup=False,
    )
    tables = [_spent("session", report.sessions)] if len(report.sessions) > 1 else []
    tables += [_spent("agent", report.agents, report.total), _spent("model", report.models)]
    tables += [_tools(report)] if report.tools else []
    tables += [_compactions(report)] if report.compactions else []
    for table in tables:
        out.print()
        out.print(table)
    remarks = list(report.remarks)
    remarks += [f"{r.name}: prices of {r.priced_as}" for r in report.models if r.priced_as]
    if passed_over:
        remarks.append(f"passed over, no sessions: {several(passed_over, 'file')}")
    if remarks:
        out.print()
    for line in remarks:
        out.print(harmless(line), markup=False)


def short(number: int) -> str:
    """A number in at most seven columns."""
    if number < EXACT_BELOW:
        return f"{number:,}"
    size, unit = next((size, unit) for size, unit in UNITS if number >= size)
    return f"{number / size:,.1f}{unit}"


def _spent(title: str, rows: Sequence[Row], total: Row | None = None) -> Table:
    table = _table((title, *SPENT))
    for row in rows[:SHOWN]:
        table.add_row(_name(row.name), *_cells(row))
    _more(table, len(rows))
    if total and len(rows) > 1:
        table.add_row(_name(total.name), *_cells(total), style="bold")
    return table


def _cells(row: Row) -> tuple[str, ...]:
    used, guessed = row.spent.tokens, row.spent.estimated
    kinds = ("input", "output", "cache_read", "cache_write")
    numbers = (
        f"{short(getattr(used, kind))}{ESTIMATED if getattr(guessed, kind) else ''}"
        for kind in kinds
    )
    return f"{row.spent.messages:,}", *numbers, money(row.cost)


def _tools(report: Report) -> Table:
    table = _table(("tool (estimated)", *TOOLS))
    for tool, one in list(report.tools.items())[:SHOWN]:
        table.add_row(_name(tool), f"{one.calls:,}", short(one.input), short(one.output))
    _more(table, len(report.tools))
    return table


def _compactions(report: Report) -> Table:
    table = _table(("compaction before", *COMPACTIONS))
    named = len(report.sessions) > 1
    for one in report.compactions[:SHOWN]:
        table.add_row(_name(place(one, named=named), PLACE_WIDTH), *_compaction(one))
    _more(table, len(report.compactions))
    return table


def _compaction(one: Priced) -> tuple[str, ...]:
    saving = one.saving
    sizes = (saving.before, saving.after)
    known = saving.saved is not None
    return (
        harmless(saving.by),
        *(NOTHING if size is None else short(size) for size in sizes),
        f"{saving.turns:,}",
        short(saving.saved or 0) if known else NOTHING,
        money(one.saved) if one.saved else NOTHING,
        money(one.taken) if one.taken else NOTHING,
    )


def _table(names: Sequence[str]) -> Table:
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 1, 0, 0))
    for number, name in enumerate(names):
        table.add_column(name, justify="right" if number else "left", no_wrap=not number)
    return table


def _more(table: Table, rows: int) -> None:
    if rows > SHOWN:
        table.add_row(f"… and {rows - SHOWN:,} more")


def _name(text: str, width: int = NAME_WIDTH) -> Text:
    """A name from a session, with the end of it where it is long: that tells files apart."""
    from rich.text import Text

    plain = harmless(text)
    return Text(plain if len(plain) <= width else f"…{plain[1 - width :]}")

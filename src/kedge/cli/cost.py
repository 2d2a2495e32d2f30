"""`kedge cost`: what sessions were charged for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kedge.cli.kept import StoreOption, redactor
from kedge.cli.output import FormatName, Json, console, write_json
from kedge.errors import NotATranscript, OutputUnwritable

if TYPE_CHECKING:
    from kedge.economy.prices import Cost
    from kedge.economy.report import Priced, Report, Row


Sources = Annotated[
    list[str],
    typer.Argument(
        metavar="SESSION|FILE|FOLDER...",
        help="Sessions that are kept, files of any format, folders of files; - for stdin.",
    ),
]
ReportFile = Annotated[
    Path | None, typer.Option(help="Markdown file to write the report at the end into.")
]
PlotFile = Annotated[
    Path | None, typer.Option(help="SVG file to draw tokens by agent into (extra `plots`).")
]
ClaimFile = Annotated[
    Path | None,
    typer.Option(help="Claim of a task (JSON) to set token_input and token_output in."),
]


def cost(
    sources: Sources,
    json: Json = False,
    format: FormatName = None,
    store: StoreOption = None,
    report: ReportFile = None,
    plot: PlotFile = None,
    claim: ClaimFile = None,
) -> None:
    """Show what sessions cost: tokens and money by agent, model and tool, and what compactions
    saved and took. Every message counts once, however many files have a copy of it."""
    from kedge.cli.cost_sources import counted
    from kedge.economy.building import no_tiers
    from kedge.economy.prices import is_installed, tiers_of
    from kedge.economy.report import report_of

    found = counted(sources, store=store, format=format)
    if not found.read:
        if not found.failed:
            typer.echo("kedge: no session was found below what was named", err=True)
        raise typer.Exit(found.failed or NotATranscript.exit_code)
    ledger = found.builder.ledger(tiers_of if is_installed() else no_tiers)
    made = report_of(ledger, found.savings)
    _write(made, title=", ".join(sources), report=report, plot=plot, claim=claim)
    if json:
        write_json({**as_json(made), "copies": ledger.copies, "passed_over": found.passed_over})
    else:
        from kedge.cli.cost_tables import show

        show(made, console(), passed_over=found.passed_over)
    if found.failed:
        raise typer.Exit(found.failed)


def _write(
    made: Report, *, title: str, report: Path | None, plot: Path | None, claim: Path | None
) -> None:
    """The files that were asked for, the claim last: it is the one that others read."""
    try:
        if report:
            from kedge.economy.page import page

            text = redactor().clean(page(made, title=title))
            report.write_text(text, "utf-8", "replace")
        if plot:
            from kedge.cli.cost_plot import drawn_cost

            plot.write_text(drawn_cost(made), "utf-8", "replace")
    except OSError as error:
        raise OutputUnwritable(f"{error.filename!r}: {(error.strerror or '').lower()}") from error
    if claim:
        from kedge.economy.claims import update_claim

        update_claim(claim, made.total.spent.tokens)


def as_json(report: Report) -> dict[str, Any]:
    """The keys of `kedge cost --json`."""
    return {
        "total": _row(report.total, "name"),
        "sessions": [_row(row, "session") for row in report.sessions],
        "agents": [_row(row, "agent") for row in report.agents],
        "models": [_row(row, "model") for row in report.models],
        "tools": [
            {"tool": tool, "calls": one.calls, "input": one.input, "output": one.output}
            for tool, one in report.tools.items()
        ],
        "compactions": [_compaction(one) for one in report.compactions],
        "remarks": report.remarks,
        "prices": report.sources,
    }


def _row(row: Row, name: str) -> dict[str, Any]:
    spent = row.spent
    return {
        name: row.name,
        "messages": spent.messages,
        **_usage(spent.tokens),
        "estimated": {"messages": spent.estimated_messages, **_usage(spent.estimated)},
        "cost": _cost(row.cost),
    }


def _usage(tokens: Any) -> dict[str, int]:
    return {name: getattr(tokens, name) for name in tokens.__struct_fields__}


def _cost(cost: Cost) -> dict[str, Any]:
    return {
        "amount": cost.amount,
        "currency": cost.currency,
        "at_least": bool(cost.unknown),
        "unknown": cost.unknown,
    }


def _compaction(one: Priced) -> dict[str, Any]:
    import msgspec

    values: dict[str, Any] = msgspec.to_builtins(one.saving)
    return {**values, "cost_saved": _cost(one.saved), "cost_taken": _cost(one.taken)}

"""`kedge cost`: what sessions were charged for."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kedge.cli.kept import StoreOption, redactor
from kedge.cli.output import FormatName, Json, console, write_json
from kedge.errors import NotATranscript

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
    from kedge.cli.cost_files import check_targets
    from kedge.cli.cost_sources import counted
    from kedge.economy.building import no_tiers
    from kedge.economy.prices import is_installed, tiers_of
    from kedge.economy.report import report_of

    targets = [path for path in (report, plot) if path]
    check_targets(targets, sources=sources, claim=claim)
    found = counted(sources, store=store, format=format)
    if not found.read:
        if not found.failed:
            typer.echo("kedge: no session was found below what was named", err=True)
        raise typer.Exit(found.failed or NotATranscript.exit_code)
    ledger = found.builder.ledger(tiers_of if is_installed() else no_tiers)
    made = report_of(ledger, found.savings)
    if claim and found.failed:
        typer.echo(f"kedge: {str(claim)!r} is left alone: not everything could be read", err=True)
    _write(
        made,
        title=", ".join(sources),
        report=report,
        plot=plot,
        claim=None if found.failed else claim,
    )
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
    """The files that were asked for, the claim last: it is the one that others read. Nothing is
    written unless all of it can be made."""
    from kedge.cli.cost_files import write_file
    from kedge.economy.claims import check_claim, update_claim

    texts: dict[Path, str] = {}
    if report:
        from kedge.economy.page import page

        texts[report] = redactor().clean(page(made, title=title))
    if plot:
        from kedge.cli.cost_plot import drawn_cost

        texts[plot] = drawn_cost(made)
    if claim:
        check_claim(claim, made.total.spent.new)
    for path, text in texts.items():
        write_file(path, text)
    if claim:
        update_claim(claim, made.total.spent.new)


def as_json(report: Report) -> dict[str, Any]:
    """The keys of `kedge cost --json`."""
    return {
        "total": _row(report.total, "name"),
        "sessions": [_row(row, "session") for row in report.sessions],
        "agents": [_row(row, "agent") for row in report.agents],
        "models": [{**_row(row, "model"), "priced_as": row.priced_as} for row in report.models],
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
    saved, taken = (cost and _cost(cost) for cost in (one.saved, one.taken))
    return {**values, "cost_saved": saved, "cost_taken": taken}

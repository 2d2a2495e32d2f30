"""`kedge bank compact`: what is old goes to the archives."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from kedge.cli.bank.opening import AgentOption, BankOption, agent_named, opened_bank
from kedge.cli.bank.status import Budget, Used, trigger_json
from kedge.cli.output import Json, console, harmless, write_json

if TYPE_CHECKING:
    from kedge.bank import Compacted


def compact(
    agent: AgentOption = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would move, and change nothing.")
    ] = False,
    if_due: Annotated[
        bool, typer.Option("--if-due", help="Only where entries, tokens or a budget ask for it.")
    ] = False,
    session_tokens: Used = 0,
    session_budget: Budget = 0,
    bank: BankOption = None,
    json: Json = False,
) -> None:
    """Move what is old to the archives, word for word, and bring the index up to date.

    The decision log is never touched. Archives are written first and compared by hash.
    """
    from kedge.bank import BankSignals, Compacted

    signals = BankSignals(
        manual=not if_due, session_tokens=session_tokens, session_budget=session_budget
    )
    opened = opened_bank(bank)
    if dry_run:
        done = Compacted(plan=opened.plan(signals))
    else:
        done = opened.compact(agent_named(agent), signals)
    if json:
        write_json(as_json(done, applied=not dry_run))
        return
    _show(done, applied=not dry_run)


def as_json(done: Compacted, *, applied: bool) -> dict[str, Any]:
    """The keys of `kedge bank compact --json`."""
    plan = done.plan
    return {
        "applied": applied,
        "transaction": done.number or None,
        "triggers": [trigger_json(one) for one in plan.triggers],
        "working_tokens_before": plan.tokens_before,
        "working_tokens_after": plan.tokens_after,
        "files": [
            {
                "name": one.name,
                "archive": one.archive,
                "moved": one.entries,
                "references_moved": one.references,
                "stay": one.stay,
                "why": one.why,
                "tokens_before": one.tokens_before,
                "tokens_after": one.tokens_after,
            }
            for one in plan.files
        ],
        "written": [*(change.name for change in plan.changes), *done.derived],
        "notes": list(plan.notes),
        "nothing": plan.nothing or None,
    }


def _show(done: Compacted, *, applied: bool) -> None:
    from rich.table import Table
    from rich.text import Text

    out, plan = console(), done.plan
    if plan.files:
        table = Table(box=None, pad_edge=False, header_style="bold")
        for name in ("file", "moved" if applied else "would move", "stay", "tokens", "why"):
            table.add_column(name, justify="left" if name in ("file", "why") else "right")
        for one in plan.files:
            tokens = f"{one.tokens_before:,} → {one.tokens_after:,}"
            why = Text(harmless(one.why))
            table.add_row(
                Text(harmless(one.name)), f"{one.entries:,}", f"{one.stay:,}", tokens, why
            )
        out.print(table)
    else:
        out.print(harmless(plan.nothing), markup=False)
    moved = {one.name for one in plan.files} | {one.archive for one in plan.files}
    others = (change.name for change in plan.changes if change.name not in moved)
    for name in (*others, *done.derived):
        verb = "brought" if applied else "would be brought"
        out.print(f"{harmless(name)} {verb} up to date", markup=False)
    for note in plan.notes:
        typer.echo(f"note: {harmless(note)}", err=True)
    if applied and plan.files:
        typer.echo("`kedge bank undo` takes it back", err=True)

"""`kedge bank status`: what is in the bank, and whether a compaction is due."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from kedge.cli.bank.opening import BankOption, opened_bank
from kedge.cli.output import Json, console, harmless, write_json
from kedge.cli.session import tokens_given

if TYPE_CHECKING:
    from kedge.bank import Status, Trigger

Used = Annotated[
    int,
    typer.Option(
        "--session-tokens",
        parser=tokens_given,
        metavar="TOKENS",
        help="Tokens a session has used so far, for the trigger on its budget.",
    ),
]
Budget = Annotated[
    int,
    typer.Option(
        "--session-budget", parser=tokens_given, metavar="TOKENS", help="Tokens it may use: 500k."
    ),
]


def status(
    session_tokens: Used = 0,
    session_budget: Budget = 0,
    bank: BankOption = None,
    json: Json = False,
) -> None:
    """Show the files of the bank, its size, and whether a compaction is due and why."""
    from kedge.bank import BankSignals

    signals = BankSignals(session_tokens=session_tokens, session_budget=session_budget)
    opened = opened_bank(bank)
    found = opened.status(signals)
    if json:
        write_json(as_json(found))
        return
    _show(found)


def as_json(status: Status) -> dict[str, Any]:
    """The keys of `kedge bank status --json`."""
    return {
        "files": [
            {
                "name": one.name,
                "shape": one.shape,
                "entries": one.entries,
                "references": one.references,
                "tokens": one.tokens,
            }
            for one in status.files
        ],
        "working_tokens": status.tokens,
        "due": status.due,
        "triggers": [trigger_json(one) for one in status.triggers],
        "owner": status.owner or None,
        "last_compaction": status.last.at.isoformat() if status.last else None,
        "lock": status.lock.lock_owner if status.lock else None,
        "links": list(status.links),
        "pending": status.pending.what if status.pending else None,
    }


def trigger_json(trigger: Trigger) -> dict[str, Any]:
    return {"cause": trigger.cause, "holds": trigger.holds, "reason": trigger.reason}


def _show(status: Status) -> None:
    from rich.table import Table
    from rich.text import Text

    out = console()
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("file", "shape", "entries", "archived lines", "tokens"):
        table.add_column(name, justify="left" if name in ("file", "shape") else "right")
    for one in status.files:
        counts = (one.entries, one.references, one.tokens)
        names = (Text(harmless(one.name)), one.shape.replace("_", " "))
        table.add_row(*names, *(f"{n:,}" if n else "" for n in counts))
    out.print(table)
    out.print()
    due = "due" if status.due else "not due"
    last = f"; the last was {status.last.at.astimezone():%Y-%m-%d %H:%M}" if status.last else ""
    out.print(f"working files: {status.tokens:,} estimated tokens; compaction is {due}{last}")
    for trigger in status.triggers:
        sign = "●" if trigger.holds else "○"
        out.print(f"  {sign} {harmless(trigger.reason)}", markup=False)
    if status.owner:
        out.print(f"only {harmless(status.owner)} may compact", markup=False)
    if status.lock:
        until = status.lock.until.astimezone()
        holder = harmless(status.lock.lock_owner)
        out.print(f"{holder} holds the lock until {until:%Y-%m-%d %H:%M}", markup=False)
    for name in status.links:
        typer.echo(f"{harmless(name)} is a link and not read; put the file there", err=True)
    if status.pending:
        typer.echo("a transaction is pending; the next command that writes finishes it", err=True)

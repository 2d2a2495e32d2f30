"""`kedge bank undo` and `kedge bank history`: what was done to the bank, and taking it back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import typer

from kedge.cli.bank.opening import AgentOption, BankOption, agent_named, opened_bank
from kedge.cli.output import Json, console, harmless, write_json

if TYPE_CHECKING:
    from kedge.bank import Transaction


def undo(agent: AgentOption = None, bank: BankOption = None, json: Json = False) -> None:
    """Take the newest compaction of the bank back; what was written since stays."""
    undone = opened_bank(bank).undo(agent_named(agent))
    done = undone.transaction
    if json:
        write_json(
            {"undone": done.number, "files": list(done.files), "merged": list(undone.merged)}
        )
        return
    when = done.at.astimezone()
    listed = ", ".join(map(harmless, done.files))
    typer.echo(f"undone: the {done.what} of {when:%Y-%m-%d %H:%M} ({listed})", err=True)
    for name in undone.merged:
        typer.echo(f"{harmless(name)} keeps what was written since", err=True)


def history(bank: BankOption = None, json: Json = False) -> None:
    """Show what was done to the bank as a whole: compactions and undos."""
    done = opened_bank(bank).history()
    if json:
        for one in done:
            write_json(as_json(one))
        return
    out = console()
    for one in done:
        undone = ", undone" if one.undone else ""
        listed = ", ".join(map(harmless, one.files))
        when = one.at.astimezone()
        out.print(f"#{one.number} {when:%Y-%m-%d %H:%M} {one.what}{undone}: {listed}", markup=False)
    if not done:
        typer.echo("nothing was done to this bank as a whole yet", err=True)


def as_json(one: Transaction) -> dict[str, Any]:
    """The keys of `kedge bank history --json`."""
    return {
        "transaction": one.number,
        "what": one.what,
        "at": one.at.isoformat(),
        "files": list(one.files),
        "left": list(one.left),
        "undone": one.undone,
        "undoes": one.undoes or None,
    }

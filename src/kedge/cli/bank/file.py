"""`kedge bank file`: what a session came to, written into the bank."""

from __future__ import annotations

from typing import Annotated

import typer

from kedge.cli.bank.opening import AgentOption, BankOption, agent_named, opened_bank
from kedge.cli.output import FormatName, Json, write_json
from kedge.cli.session import File, Session, opened


def file_(
    file: File,
    agent: AgentOption = None,
    name: Annotated[
        str, typer.Option(help="What entries call the session; else its own name.")
    ] = "",
    bank: BankOption = None,
    format: FormatName = None,
    session: Session = None,
    json: Json = False,
) -> None:
    """Write the decisions, state and milestones of a session into the bank.

    What is there already is not written again, so that it may be filed as often as you like.
    """
    from pathlib import Path

    from kedge.cli.kept import redactor
    from kedge.summarizing import summarize

    found = opened(file, format=format, session=session, vocabulary=None)
    summary = summarize(found.transcript, redactor=redactor())
    called = name or Path(file).stem
    added = opened_bank(bank).file(summary, session=called, agent=agent_named(agent))
    if json:
        for one in added:
            write_json({"file": one.file, "id": one.id or None, "line": one.line})
        return
    for one in added:
        what = f" as {one.id}" if one.id else ""
        typer.echo(f"added to {one.file}{what}, line {one.line}", err=True)
    if not added:
        typer.echo("nothing new: the bank has all of it", err=True)

"""`kedge bank add`: an entry in a file of the bank."""

from __future__ import annotations

import sys
from datetime import UTC, datetime
from typing import Annotated

import typer

from kedge.cli.bank.opening import AgentOption, BankOption, agent_named, opened_bank
from kedge.cli.output import Json, write_json


def field_given(text: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not sign or not name.strip():
        raise typer.BadParameter(f"{text!r} is no field; write Rationale='why it was chosen'")
    return name.strip(), value.strip()


def add(
    file: Annotated[
        str, typer.Argument(help="activeContext, decisionLog, progress, or any further file.")
    ],
    text: Annotated[
        str | None, typer.Argument(help="What to write down; '-' reads it from stdin.")
    ] = None,
    agent: AgentOption = None,
    title: Annotated[str, typer.Option(help="Its heading; a decision needs one.")] = "",
    identity: Annotated[
        str, typer.Option("--id", help="DEC-007 or a task; else the next number of the file.")
    ] = "",
    status: Annotated[str, typer.Option(help="Active, completed, in progress …")] = "",
    source: Annotated[
        list[str] | None, typer.Option(help="A file or chunk it comes from; may be repeated.")
    ] = None,
    summary: Annotated[
        str, typer.Option(help="Its summary_128; made from the text where it is not given.")
    ] = "",
    field: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME=VALUE", help="A further field: Rationale='…'; repeatable."),
    ] = None,
    bank: BankOption = None,
    json: Json = False,
) -> None:
    """Write an entry into a file of the bank, in the shape the file has.

    Any agent may add, at any time, however many do it at once.
    """
    from kedge.bank import NewEntry

    new = NewEntry(
        agent=agent_named(agent),
        at=datetime.now(UTC),
        text=sys.stdin.read() if text == "-" else text or "",
        title=title,
        id=identity,
        status=status,
        sources=tuple(source or ()),
        summary=summary,
        fields=dict(map(field_given, field or ())),
    )
    added = opened_bank(bank).add(file, new)
    if json:
        write_json({"file": added.file, "id": added.id, "line": added.line})
        return
    name = f" as {added.id}" if added.id else ""
    typer.echo(f"added to {added.file}{name}, line {added.line}", err=True)

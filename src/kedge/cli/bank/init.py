"""`kedge bank init`: a new memory bank."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kedge.cli.bank.opening import opened_bank
from kedge.cli.output import Json, write_json


def init(
    folder: Annotated[
        Path | None, typer.Argument(help="Where; else the folder that settings name.")
    ] = None,
    json: Json = False,
) -> None:
    """Make a memory bank: the five files, each with its title. Files that are there stay."""
    bank = opened_bank(folder)
    made = bank.begin()
    if json:
        write_json({"bank": str(bank.path), "made": made})
        return
    listed = ", ".join(made) if made else "nothing: all files are there"
    typer.echo(f"{bank.path}: made {listed}", err=True)

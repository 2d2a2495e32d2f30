"""`kedge bank index`: documents in chunks, and a catalog that leads to them."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kedge.cli.bank.opening import BankOption, opened_bank
from kedge.cli.output import Json, harmless, write_json
from kedge.cli.session import tokens_given

SKIPPED_SHOWN = 8
"""Files that were passed over and are named; `--json` has them all."""


def index(
    paths: Annotated[
        list[Path] | None,
        typer.Argument(help="Documents, or folders of them; none brings all up to date."),
    ] = None,
    chunk_tokens: Annotated[
        int | None,
        typer.Option(parser=tokens_given, metavar="TOKENS", help="Largest chunk, estimated."),
    ] = None,
    bank: BankOption = None,
    json: Json = False,
) -> None:
    """Split documents into chunks with summaries, and write the catalog that leads to them.

    Only what changed is written again.
    """
    from kedge.bank.catalog import index as indexed
    from kedge.cli.kept import redactor
    from kedge.settings import load_settings

    done = indexed(
        paths or [],
        opened_bank(bank).path,
        chunk_tokens=chunk_tokens or load_settings().chunk_tokens,
        redactor=redactor(),
    )
    if json:
        write_json(done)
        return
    typer.echo(
        f"{done.documents:,} documents, {done.chunks:,} chunks, {done.tags:,} tags; "
        f"{len(done.written):,} files written, {len(done.removed):,} removed",
        err=True,
    )
    for one in done.skipped[:SKIPPED_SHOWN]:
        typer.echo(f"passed over {harmless(one.path)}: {harmless(one.why)}", err=True)
    if (rest := len(done.skipped) - SKIPPED_SHOWN) > 0:
        typer.echo(f"passed over {rest:,} more; --json lists them", err=True)
    for note in done.notes:
        typer.echo(f"note: {harmless(note)}", err=True)

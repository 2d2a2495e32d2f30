"""`kedge bench`: measurements."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kedge.cli.output import Json, console, write_json

bench = typer.Typer(help="Measure kedge on sessions of your own.", no_args_is_help=True)

LARGE = 1_000
"""MB of the synthetic session: the size that must go through in 256 MB of memory."""


@bench.command()
def throughput(
    folder: Annotated[Path, typer.Argument(help="Folder of Claude Code sessions (.jsonl).")],
    json: Json = False,
    large: Annotated[int, typer.Option(help="MB of the synthetic session.")] = LARGE,
    rounds: Annotated[int, typer.Option(help="How often each measure is taken.")] = 5,
    write: Annotated[
        list[Path] | None,
        typer.Option(help="Markdown file to write the table into; may be given again."),
    ] = None,
) -> None:
    """Measure how fast sessions are read into turns, and in how much memory."""
    from rich.console import Console
    from rich.table import Table

    from kedge.bench.report import markdown_table, throughput_rows, write_block
    from kedge.bench.throughput import MEGABYTE, measure

    with Console(stderr=True).status("measuring") as status:
        found = measure(
            folder,
            large=large * MEGABYTE,
            rounds=rounds,
            watch=lambda what: status.update(f"measuring: {what}"),
        )
    rows = throughput_rows(found)
    for path in write or ():
        write_block(path, "throughput", markdown_table(rows))
    if json:
        write_json(found)
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("measure", "value", "goal"):
        table.add_column(name, justify="left" if name == "measure" else "right")
    for row in rows:
        table.add_row(*row)
    console().print(table)

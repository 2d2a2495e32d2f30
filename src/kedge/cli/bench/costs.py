"""Measurements of what sessions cost, and of what advice about it rests on."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kedge.cli.bench.tables import LARGE, Write, finish, measuring, publish
from kedge.cli.output import Json


def paying(
    folder: Annotated[Path, typer.Argument(help="Folder of sessions of any format.")],
    json: Json = False,
    write: Write = None,
) -> None:
    """Measure what `advice` rests on: turns to come, files read again, tokens left."""
    from kedge.bench import paying as report
    from kedge.bench.report import origin_line

    with measuring() as watch:
        found = report.measure(folder, watch=watch)
    origin = origin_line(found.origin)
    publish("paying-turns", report.TURNS, report.turn_rows(found), write, origin, quiet=json)
    publish("paying-again", report.AGAIN, report.again_rows(found), write, origin, quiet=json)
    publish("paying-left", report.LEFT, report.left_rows(found), write, origin, quiet=json)
    finish(found, origin, json)


def ledger(
    corpus: Annotated[Path, typer.Argument(help="Folder of sessions of any format.")],
    json: Json = False,
    large: Annotated[
        int, typer.Option(min=0, help="MB of the synthetic session; 0 leaves it out.")
    ] = LARGE,
    write: Write = None,
) -> None:
    """Compare what `kedge cost` counts in Claude Code sessions with a count of the raw lines."""
    from kedge.bench.ledger import HEADER, measure, remarks, rows
    from kedge.bench.processes import MEGABYTE
    from kedge.bench.report import origin_line

    with measuring() as watch:
        found = measure(corpus, large=large * MEGABYTE, watch=watch)
    origin = f"{remarks(found)} {origin_line(found.origin)}"
    publish("ledger", HEADER, rows(found), write, origin, quiet=json)
    finish(found, origin, json)
    if not all(one.is_equal for one in found.folders):
        raise typer.Exit(1)

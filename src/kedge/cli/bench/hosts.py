"""Measurements of what a coding agent's host sees of kedge."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kedge.cli.bench.tables import Write, finish, measuring, publish
from kedge.cli.output import Json


def hook(json: Json = False, write: Write = None) -> None:
    """Measure how long a coding agent's host waits for `kedge hook`."""
    from kedge.bench.hook import HEADER, measure, rows

    with measuring() as watch:
        found = measure(watch=watch)
    origin = f"kedge {found.version}; the interpreter alone takes {found.start:.0f} ms."
    publish("hook", HEADER, rows(found), write, origin, quiet=json)
    finish(found, origin, json)


def put_back(
    folder: Annotated[Path, typer.Argument(help="Folder of sessions of any format.")],
    json: Json = False,
    write: Write = None,
) -> None:
    """Measure what hooks put back after real compactions of coding agents, and what it is worth."""
    from kedge.bench.put_back import HEADER, NARROW, measure, rows
    from kedge.bench.report import origin_line

    with measuring() as watch:
        found = measure(folder, watch=watch)
    origin = origin_line(found.origin)
    publish("put-back", HEADER, rows(found), write, origin, quiet=True)
    publish("put-back", NARROW, rows(found), None, "", quiet=json)
    finish(found, origin, json)

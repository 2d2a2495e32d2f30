"""Measurements of speed and memory: reading, keeping, loading."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kedge.cli.bench.tables import LARGE, Write, finish, measuring, publish
from kedge.cli.output import Json

LATE = 100_000
"""Turns: what a session of some weeks may come to."""


def throughput(
    folder: Annotated[Path, typer.Argument(help="Folder of Claude Code sessions (.jsonl).")],
    json: Json = False,
    large: Annotated[int, typer.Option(help="MB of the synthetic session.")] = LARGE,
    rounds: Annotated[int, typer.Option(help="How often each measure is taken.")] = 5,
    write: Write = None,
) -> None:
    """Measure how fast sessions are read into turns, and in how much memory."""
    from kedge.bench.processes import MEGABYTE
    from kedge.bench.report import THROUGHPUT, origin_line, throughput_rows
    from kedge.bench.throughput import measure

    with measuring() as watch:
        found = measure(folder, large=large * MEGABYTE, rounds=rounds, watch=watch)
    origin = origin_line(found.origin)
    publish("throughput", THROUGHPUT, throughput_rows(found), write, origin, quiet=json)
    finish(found, origin, json)


def sessions(
    json: Json = False,
    large: Annotated[int, typer.Option(help="MB of the synthetic session.")] = LARGE,
    turns: Annotated[int, typer.Option(help="Turns of the session that is appended to.")] = LATE,
    write: Write = None,
) -> None:
    """Measure kept sessions: appending, a session of a gigabyte, finding originals in it."""
    from kedge.bench.processes import MEGABYTE
    from kedge.bench.sessions import SESSIONS, measure, rows

    with measuring() as watch:
        found = measure(large=large * MEGABYTE, turns=turns, watch=watch)
    origin = f"kedge {found.version}, sessions invented for measuring."
    publish("sessions", SESSIONS, rows(found), write, origin, quiet=json)
    finish(found, origin, json)


def loading(json: Json = False, write: Write = None) -> None:
    """Measure how long it takes to load a memory bank into budgets of several sizes."""
    from kedge.bench.loading import LOADING, measure, rows

    with measuring() as watch:
        found = measure(watch=watch)
    origin = f"kedge {found.version}, an invented bank of {found.tokens:,} tokens."
    publish("loading", LOADING, rows(found), write, origin, quiet=json)
    finish(found, origin, json)

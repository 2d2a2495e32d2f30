"""Measurements of what compactions keep: anchors, facts, summaries, probes."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kedge.cli.bench.tables import Write, finish, measuring, publish
from kedge.cli.output import Json, console
from kedge.cli.session import tokens_given

LARGE_PLAN = 100
"""MB of the synthetic session that is planned: a long one of today."""
MUTATIONS = 1_000
"""Cases of the mutation check: enough for each kind of entry."""
SEED = 1
"""Of what is drawn by chance: any number, and the same one gives the same cases."""


def compaction(
    folder: Annotated[Path, typer.Argument(help="Folder of sessions of any format.")],
    json: Json = False,
    large: Annotated[int, typer.Option(help="MB of the synthetic session.")] = LARGE_PLAN,
    write: Write = None,
) -> None:
    """Measure anchors and compactions: how many are found, how much is freed, what is broken."""
    from kedge.bench import compaction_report as report
    from kedge.bench.compaction import measure
    from kedge.bench.processes import MEGABYTE
    from kedge.bench.report import origin_line

    with measuring() as watch:
        found = measure(folder, large=large * MEGABYTE, watch=watch)
    origin = origin_line(found.origin)
    publish("anchors", report.FOUND, report.found_rows(found), write, origin, quiet=json)
    publish("reduction", report.SQUEEZED, report.squeezed_rows(found), write, origin, quiet=json)
    publish("plan", report.LARGE, report.large_rows(found), write, "", quiet=json)
    finish(found, origin, json)


def facts(
    folder: Annotated[Path, typer.Argument(help="Folder of sessions of any format.")],
    json: Json = False,
    write: Write = None,
) -> None:
    """Measure facts and summaries: are files and citations right, and what does it cost."""
    from kedge.bench import facts_report as report
    from kedge.bench.facts import measure
    from kedge.bench.report import origin_line

    with measuring() as watch:
        found = measure(folder, watch=watch)
    cited, origin = report.citation_header(found), origin_line(found.origin)
    publish("files", report.FILES, report.file_rows(found), write, origin, quiet=json)
    publish("citations", cited, report.citation_rows(found), write, origin, quiet=json)
    best = origin_line(found.origin, intervals=False)
    publish("facts", report.COST, report.cost_rows(found), write, best, quiet=json)
    finish(found, origin, json)


def replay(
    corpus: Annotated[Path, typer.Argument(help="Folder of sessions of any format.")],
    json: Json = False,
    tokens: Annotated[
        list[int] | None,
        typer.Option(min=1, help="Compact to so many tokens; may be given again. 2048 and 4096."),
    ] = None,
    method: Annotated[
        list[str] | None,
        typer.Option(help="Compare only this method, named as in the table; may be given again."),
    ] = None,
    write: Write = None,
    report: Annotated[
        Path | None,
        typer.Option(help="Folder to write replay.md into, with its pictures (extra `plots`)."),
    ] = None,
) -> None:
    """Cut real sessions, compact what is before, and score what the agent needed after.

    Cuts lie at real compactions, where the other system's own summary is scored too, and at points
    where the agent still had everything. What comes after a cut is read for scoring only.
    """
    from kedge.bench.pages import write_replay
    from kedge.bench.replay.measuring import BUDGETS, measure
    from kedge.bench.replay.registry import chosen
    from kedge.bench.replay.report import (
        NARROW,
        kinds_markdown,
        narrow_rows,
        origin,
        replay_markdown,
    )
    from kedge.bench.report import has_block, write_block

    compared = chosen(method) if method else None
    messages = console(stderr=True)
    with measuring() as watch:
        found = measure(
            corpus,
            compared=compared,
            budgets=tuple(dict.fromkeys(tokens or BUDGETS)),
            watch=watch,
        )
    for path in write or ():
        write_block(path, "replay", replay_markdown(found))
        if has_block(path, "replay-kinds"):
            write_block(path, "replay-kinds", kinds_markdown(found))
    if report and (missing := write_replay(found, report).missing):
        messages.print(f"no pictures: {missing}", markup=False)
    publish("replay", NARROW, narrow_rows(found), None, "", quiet=json)
    finish(found, origin(found), json)


def probes(
    corpus: Annotated[Path, typer.Argument(help="Folder of sessions of any format.")],
    json: Json = False,
    window: Annotated[
        list[int] | None,
        typer.Option(
            parser=tokens_given,
            metavar="TOKENS",
            help="Compact for this context window, e.g. 200k; may be given again. 8k to 200k.",
        ),
    ] = None,
    mutations: Annotated[
        int, typer.Option(min=0, help="Cases of the mutation check; 0 leaves it out.")
    ] = MUTATIONS,
    seed: Annotated[int, typer.Option(help="Of the cases and the intervals.")] = SEED,
    write: Write = None,
    pictures: Annotated[
        Path | None, typer.Option(help="Folder to draw the dimensions into (extra `plots`).")
    ] = None,
) -> None:
    """Ask summaries of real sessions what they must say, and check the probes themselves.

    The mutation check deletes or corrupts one entry of a summary that was accepted, and counts how
    often the probes notice.
    """
    from kedge.bench.compaction import WINDOWS
    from kedge.bench.pages import write_drawn
    from kedge.bench.probes.measuring import measure
    from kedge.bench.probes.report import dimensions_picture, on_screen, tables

    messages = console(stderr=True)
    with measuring() as watch:
        found = measure(
            corpus,
            windows=sorted(set(window or WINDOWS)),
            mutations=mutations,
            seed=seed,
            watch=watch,
        )
    if pictures and (missing := write_drawn([dimensions_picture(found)], pictures)):
        messages.print(f"no pictures: {missing}", markup=False)
    for table in tables(found):
        publish(table.name, table.header, table.rows, write, table.origin, quiet=True)
        publish(table.name, table.narrow_header, table.narrow_rows, None, "", quiet=json)
    finish(found, on_screen(found), json)

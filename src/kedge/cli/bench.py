"""`kedge bench`: measurements."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kedge.cli.output import Json, console, write_json
from kedge.cli.session import tokens_given

if TYPE_CHECKING:
    from kedge.model import Value

bench = typer.Typer(help="Measure kedge on sessions of your own.", no_args_is_help=True)

LATE = 100_000
"""Turns: what a session of some weeks may come to."""
LARGE = 1_000
"""MB of the synthetic session: the size that must go through in 256 MB of memory."""
LARGE_PLAN = 100
"""MB of the synthetic session that is planned: a long one of today."""
MUTATIONS = 1_000
"""Cases of the mutation check: enough for each kind of entry."""
SEED = 1
"""Of what is drawn by chance: any number, and the same one gives the same cases."""

Write = Annotated[
    list[Path] | None,
    typer.Option(help="Markdown file to write the tables into; may be given again."),
]


@bench.command()
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

    with console(stderr=True).status("measuring") as status:
        found = measure(
            folder,
            large=large * MEGABYTE,
            rounds=rounds,
            watch=lambda what: status.update(f"measuring: {what}"),
        )
    origin = origin_line(found.origin)
    _publish("throughput", THROUGHPUT, throughput_rows(found), write, origin, quiet=json)
    _finish(found, origin, json)


@bench.command()
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

    with console(stderr=True).status("measuring") as status:
        found = measure(
            folder,
            large=large * MEGABYTE,
            watch=lambda what: status.update(f"measuring: {what}"),
        )
    origin = origin_line(found.origin)
    _publish("anchors", report.FOUND, report.found_rows(found), write, origin, quiet=json)
    _publish("reduction", report.SQUEEZED, report.squeezed_rows(found), write, origin, quiet=json)
    _publish("plan", report.LARGE, report.large_rows(found), write, "", quiet=json)
    _finish(found, origin, json)


@bench.command()
def sessions(
    json: Json = False,
    large: Annotated[int, typer.Option(help="MB of the synthetic session.")] = LARGE,
    turns: Annotated[int, typer.Option(help="Turns of the session that is appended to.")] = LATE,
    write: Write = None,
) -> None:
    """Measure kept sessions: appending, a session of a gigabyte, finding originals in it."""
    from kedge.bench.processes import MEGABYTE
    from kedge.bench.sessions import SESSIONS, measure, rows

    with console(stderr=True).status("measuring") as status:
        found = measure(
            large=large * MEGABYTE,
            turns=turns,
            watch=lambda what: status.update(f"measuring: {what}"),
        )
    origin = f"kedge {found.version}, sessions invented for measuring."
    _publish("sessions", SESSIONS, rows(found), write, origin, quiet=json)
    _finish(found, origin, json)


@bench.command()
def loading(json: Json = False, write: Write = None) -> None:
    """Measure how long it takes to load a memory bank into budgets of several sizes."""
    from kedge.bench.loading import LOADING, measure, rows

    with console(stderr=True).status("measuring") as status:
        found = measure(watch=lambda what: status.update(f"measuring: {what}"))
    origin = f"kedge {found.version}, an invented bank of {found.tokens:,} tokens."
    _publish("loading", LOADING, rows(found), write, origin, quiet=json)
    _finish(found, origin, json)


@bench.command()
def hook(json: Json = False, write: Write = None) -> None:
    """Measure how long a coding agent's host waits for `kedge hook`."""
    from kedge.bench.hook import HEADER, measure, rows

    with console(stderr=True).status("measuring") as status:
        found = measure(watch=lambda what: status.update(f"measuring: {what}"))
    origin = f"kedge {found.version}; the interpreter alone takes {found.start:.0f} ms."
    _publish("hook", HEADER, rows(found), write, origin, quiet=json)
    _finish(found, origin, json)


@bench.command()
def facts(
    folder: Annotated[Path, typer.Argument(help="Folder of sessions of any format.")],
    json: Json = False,
    write: Write = None,
) -> None:
    """Measure facts and summaries: are files and citations right, and what does it cost."""
    from kedge.bench import facts_report as report
    from kedge.bench.facts import measure
    from kedge.bench.report import origin_line

    with console(stderr=True).status("measuring") as status:
        found = measure(folder, watch=lambda what: status.update(f"measuring: {what}"))
    cited, origin = report.citation_header(found), origin_line(found.origin)
    _publish("files", report.FILES, report.file_rows(found), write, origin, quiet=json)
    _publish("citations", cited, report.citation_rows(found), write, origin, quiet=json)
    best = origin_line(found.origin, intervals=False)
    _publish("facts", report.COST, report.cost_rows(found), write, best, quiet=json)
    _finish(found, origin, json)


@bench.command()
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
    with messages.status("measuring") as status:
        found = measure(
            corpus,
            compared=compared,
            budgets=tuple(dict.fromkeys(tokens or BUDGETS)),
            watch=lambda what: status.update(f"measuring: {what}"),
        )
    for path in write or ():
        write_block(path, "replay", replay_markdown(found))
        if has_block(path, "replay-kinds"):
            write_block(path, "replay-kinds", kinds_markdown(found))
    if report and (missing := write_replay(found, report).missing):
        messages.print(f"no pictures: {missing}", markup=False)
    _publish("replay", NARROW, narrow_rows(found), None, "", quiet=json)
    _finish(found, origin(found), json)


@bench.command()
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
    with messages.status("measuring") as status:
        found = measure(
            corpus,
            windows=sorted(set(window or WINDOWS)),
            mutations=mutations,
            seed=seed,
            watch=lambda what: status.update(f"measuring: {what}"),
        )
    if pictures and (missing := write_drawn([dimensions_picture(found)], pictures)):
        messages.print(f"no pictures: {missing}", markup=False)
    for table in tables(found):
        _publish(table.name, table.header, table.rows, write, table.origin, quiet=True)
        _publish(table.name, table.narrow_header, table.narrow_rows, None, "", quiet=json)
    _finish(found, on_screen(found), json)


@bench.command()
def paying(
    folder: Annotated[Path, typer.Argument(help="Folder of sessions of any format.")],
    json: Json = False,
    write: Write = None,
) -> None:
    """Measure what `advice` rests on: turns to come, files read again, tokens left."""
    from kedge.bench import paying as report
    from kedge.bench.report import origin_line

    with console(stderr=True).status("measuring") as status:
        found = report.measure(folder, watch=lambda what: status.update(f"measuring: {what}"))
    origin = origin_line(found.origin)
    _publish("paying-turns", report.TURNS, report.turn_rows(found), write, origin, quiet=json)
    _publish("paying-again", report.AGAIN, report.again_rows(found), write, origin, quiet=json)
    _publish("paying-left", report.LEFT, report.left_rows(found), write, origin, quiet=json)
    _finish(found, origin, json)


@bench.command()
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

    with console(stderr=True).status("measuring") as status:
        found = measure(
            corpus,
            large=large * MEGABYTE,
            watch=lambda what: status.update(f"measuring: {what}"),
        )
    origin = f"{remarks(found)} {origin_line(found.origin)}"
    _publish("ledger", HEADER, rows(found), write, origin, quiet=json)
    _finish(found, origin, json)
    if not all(one.is_equal for one in found.folders):
        raise typer.Exit(1)


def _publish(
    name: str,
    header: Sequence[str],
    rows: Iterable[Sequence[str]],
    write: Sequence[Path] | None,
    origin: str,
    *,
    quiet: bool,
) -> None:
    """A table into the files that have a place for it, with what it was measured on below, and onto
    the screen."""
    from rich.table import Table

    from kedge.bench.report import has_block, markdown_table, write_block

    listed = list(rows)
    files = list(write or ())
    placed = [path for path in files if has_block(path, name)]
    for path in placed or files:  # where none has a place for it, the first one says so
        table = markdown_table(header, listed)
        write_block(path, name, f"{table}\n\n{origin}" if origin else table)
    if quiet:
        return
    shown = Table(box=None, pad_edge=False, header_style="bold")
    for position, column in enumerate(header):
        shown.add_column(column, justify="right" if position else "left")
    for row in listed:
        shown.add_row(*row)
    console().print(shown)


def _finish(found: Value, origin: str, json: bool) -> None:
    """All values as JSON, or what the tables were measured on."""
    if json:
        write_json(found)
    else:
        console(stderr=True).print(origin, markup=False)

"""`kedge bench`: measurements."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated

import typer

from kedge.cli.output import Json, console, write_json

bench = typer.Typer(help="Measure kedge on sessions of your own.", no_args_is_help=True)

LARGE = 1_000
"""MB of the synthetic session: the size that must go through in 256 MB of memory."""
LARGE_PLAN = 100
"""MB of the synthetic session that is planned: a long one of today."""

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
    from rich.console import Console

    from kedge.bench.processes import MEGABYTE
    from kedge.bench.report import THROUGHPUT, throughput_rows
    from kedge.bench.throughput import measure

    with Console(stderr=True).status("measuring") as status:
        found = measure(
            folder,
            large=large * MEGABYTE,
            rounds=rounds,
            watch=lambda what: status.update(f"measuring: {what}"),
        )
    _publish("throughput", THROUGHPUT, throughput_rows(found), write, quiet=json)
    if json:
        write_json(found)


@bench.command()
def compaction(
    folder: Annotated[Path, typer.Argument(help="Folder of sessions of any format.")],
    json: Json = False,
    large: Annotated[int, typer.Option(help="MB of the synthetic session.")] = LARGE_PLAN,
    write: Write = None,
) -> None:
    """Measure anchors and compactions: how many are found, how much is freed, what is broken."""
    from rich.console import Console

    from kedge.bench import compaction_report as report
    from kedge.bench.compaction import measure
    from kedge.bench.processes import MEGABYTE

    with Console(stderr=True).status("measuring") as status:
        found = measure(
            folder,
            large=large * MEGABYTE,
            watch=lambda what: status.update(f"measuring: {what}"),
        )
    _publish("anchors", report.FOUND, report.found_rows(found), write, quiet=json)
    _publish("reduction", report.SQUEEZED, report.squeezed_rows(found), write, quiet=json)
    _publish("plan", report.LARGE, report.large_rows(found), write, quiet=json)
    if json:
        write_json(found)


@bench.command()
def facts(
    folder: Annotated[Path, typer.Argument(help="Folder of sessions of any format.")],
    json: Json = False,
    write: Write = None,
) -> None:
    """Measure facts and summaries: are files and citations right, and what does it cost."""
    from rich.console import Console

    from kedge.bench import facts_report as report
    from kedge.bench.facts import measure

    with Console(stderr=True).status("measuring") as status:
        found = measure(folder, watch=lambda what: status.update(f"measuring: {what}"))
    cited = report.citation_header(found)
    _publish("files", report.FILES, report.file_rows(found), write, quiet=json)
    _publish("citations", cited, report.citation_rows(found), write, quiet=json)
    _publish("facts", report.COST, report.cost_rows(found), write, quiet=json)
    if json:
        write_json(found)


@bench.command()
def replay(
    corpus: Annotated[Path, typer.Argument(help="Folder of sessions of any format.")],
    json: Json = False,
    tokens: Annotated[
        list[int] | None,
        typer.Option(min=1, help="Compact to so many tokens; may be given again. 2048 and 4096."),
    ] = None,
    write: Write = None,
) -> None:
    """Cut real sessions, compact what is before, and score what the agent needed after.

    Cuts lie at real compactions, where the other system's own summary is scored too, and at points
    where the agent still had everything. What comes after a cut is read for scoring only.
    """
    from rich.console import Console

    from kedge.bench.replay.measuring import BUDGETS, measure
    from kedge.bench.replay.report import NARROW, narrow_rows, origin, replay_markdown
    from kedge.bench.report import write_block

    messages = Console(stderr=True)
    with messages.status("measuring") as status:
        found = measure(
            corpus,
            budgets=tuple(dict.fromkeys(tokens or BUDGETS)),
            watch=lambda what: status.update(f"measuring: {what}"),
        )
    for path in write or ():
        write_block(path, "replay", replay_markdown(found))
    if json:
        write_json(found)
        return
    _publish("replay", NARROW, narrow_rows(found), None, quiet=False)
    messages.print(origin(found), markup=False, highlight=False)


def _publish(
    name: str,
    header: Sequence[str],
    rows: Iterable[Sequence[str]],
    write: Sequence[Path] | None,
    *,
    quiet: bool,
) -> None:
    """A table into the files that have a place for it, and onto the screen."""
    from rich.table import Table

    from kedge.bench.report import has_block, markdown_table, write_block

    listed = list(rows)
    files = list(write or ())
    placed = [path for path in files if has_block(path, name)]
    for path in placed or files:  # where none has a place for it, the first one says so
        write_block(path, name, markdown_table(header, listed))
    if quiet:
        return
    table = Table(box=None, pad_edge=False, header_style="bold")
    for position, column in enumerate(header):
        table.add_column(column, justify="right" if position else "left")
    for row in listed:
        table.add_row(*row)
    console().print(table)

"""What every measurement does with what it found: tables into files and onto the screen."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kedge.cli.output import console, write_json

if TYPE_CHECKING:
    from kedge.model import Value

LARGE = 1_000
"""MB of the synthetic session: the size that must go through in 256 MB of memory."""

Write = Annotated[
    list[Path] | None,
    typer.Option(help="Markdown file to write the tables into; may be given again."),
]


@contextmanager
def measuring() -> Iterator[Callable[[str], None]]:
    """Say on stderr that it is being measured; what is given is told what."""
    with console(stderr=True).status("measuring") as status:
        yield lambda what: status.update(f"measuring: {what}")


def publish(
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


def finish(found: Value, origin: str, json: bool) -> None:
    """All values as JSON, or what the tables were measured on."""
    if json:
        write_json(found)
    else:
        console(stderr=True).print(origin, markup=False)

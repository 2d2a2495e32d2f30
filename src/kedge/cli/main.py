"""The command line: one file per command, loaded when it is called.

Data goes to stdout, everything else to stderr.

Exit codes: 0 done · 1 the work failed · 2 wrong usage, settings or names · 3 the input cannot be
read or is no transcript · 130 interrupted."""

from __future__ import annotations

import sys
from typing import Annotated

import typer

from kedge.cli.bench import bench
from kedge.cli.stats import stats
from kedge.cli.turns import turns
from kedge.errors import KedgeError

app = typer.Typer(
    name="kedge",
    no_args_is_help=True,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
)
app.command()(stats)
app.command()(turns)
app.add_typer(bench, name="bench")


def _version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        typer.echo(f"kedge {version('kedge')}")
        raise typer.Exit


@app.callback(
    epilog="Exit codes: 0 done, 1 work failed, 2 wrong usage, 3 unreadable input, 130 interrupted."
)
def kedge(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Context compaction for LLM agents that keeps what matters and proves it."""


def run() -> None:
    """Run the command line; every error kedge raises becomes one sentence and an exit code."""
    try:
        app()
    except KedgeError as error:
        typer.echo(f"kedge: {error}", err=True)
        sys.exit(error.exit_code)

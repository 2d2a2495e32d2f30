"""The command line: `kedgeline`.

Data goes to stdout, everything else to stderr. What is heavy is imported by the command that needs
it.

Exit codes: 0 done · 1 the work failed · 2 wrong usage, settings or names · 3 the input cannot be
read or is no transcript · 130 interrupted."""

from __future__ import annotations

import os
import sys
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated

import typer

from kedgeline.cli.bank import bank_app
from kedgeline.cli.compact import compact, plan, undo, view
from kedgeline.cli.cost import cost
from kedgeline.cli.hosts import hook, install, mcp, status, statusline, uninstall
from kedgeline.cli.look import anchors, facts, show, stats, turns
from kedgeline.cli.recall import pin, recall, unpin
from kedgeline.cli.serve import serve
from kedgeline.cli.sessions import add, export, fsck, gc, history, import_, sessions
from kedgeline.cli.summarize import handoff, probe, summarize, todos
from kedgeline.errors import KedgelineError, OutputUnwritable

app = typer.Typer(
    name="kedgeline",
    no_args_is_help=True,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
)
for command in (
    *(stats, turns, show, facts, todos, anchors, plan, compact, probe, summarize, handoff),
    *(sessions, add, view, undo, history, pin, unpin, recall, fsck, export, import_, gc),
    *(cost, mcp, serve, install, uninstall, status, statusline, hook),
):
    app.command(command.__name__.rstrip("_"))(command)  # import is no name for a function
app.add_typer(bank_app, name="bank")


def _add_bench() -> None:
    """The measurements, where their folder lies beside the package: they are not in the wheel."""
    root = Path(__file__).parents[3]
    if (root / "bench" / "commands.py").is_file():
        sys.path.append(str(root))
        from bench.commands import bench

        app.add_typer(bench, name="bench")
        return

    @app.command("bench", context_settings={"ignore_unknown_options": True}, hidden=True)
    def missing(arguments: list[str]) -> None:
        """Measure kedgeline on sessions of your own."""
        typer.echo("kedgeline: the measurements are not in the package; use a clone", err=True)
        raise typer.Exit(2)


_add_bench()


def _version(asked: bool) -> None:
    if asked:
        from importlib.metadata import version

        typer.echo(f"kedgeline {version('kedgeline')}")
        raise typer.Exit


@app.callback(
    epilog="Exit codes: 0 done, 1 work failed, 2 wrong usage, 3 unreadable input, 130 interrupted."
)
def kedgeline(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Context compaction for LLM agents that keeps what matters and checks it."""


def run() -> None:
    """Run the command line; every error kedgeline raises becomes one sentence and an exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # what the encoding lacks is replaced, not an error
            stream.reconfigure(errors="replace")
    try:
        _run_to_the_end()
    except KedgelineError as error:
        typer.echo(f"kedgeline: {error}", err=True)
        sys.exit(error.exit_code)


def _run_to_the_end() -> None:
    """Run the command and write out what it left in the buffer, so that a full disk is noticed
    here and not after the exit code is settled."""
    if sys.stdout is None:
        raise OutputUnwritable("stdout is closed")
    try:
        try:
            app()
        finally:
            sys.stdout.flush()
    except OSError as error:
        # The interpreter writes the rest of the buffer when it exits; nowhere is a place for it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):  # the reader has seen enough: nothing to say
            sys.exit(OutputUnwritable.exit_code)
        raise OutputUnwritable((error.strerror or str(error)).lower()) from error

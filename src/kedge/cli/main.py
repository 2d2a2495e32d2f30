"""The command line: one file per command, loaded when it is called.

Data goes to stdout, everything else to stderr.

Exit codes: 0 done · 1 the work failed · 2 wrong usage, settings or names · 3 the input cannot be
read or is no transcript · 130 interrupted."""

from __future__ import annotations

import os
import sys
from io import TextIOWrapper
from typing import Annotated

import typer

from kedge.cli.add import add
from kedge.cli.anchors import anchors
from kedge.cli.bank.main import bank
from kedge.cli.bench.main import bench
from kedge.cli.compact import compact
from kedge.cli.cost import cost
from kedge.cli.export import export
from kedge.cli.facts import facts
from kedge.cli.fsck import fsck
from kedge.cli.gc import gc
from kedge.cli.handoff import handoff
from kedge.cli.history import history
from kedge.cli.hook import hook, statusline
from kedge.cli.import_ import import_
from kedge.cli.install import install
from kedge.cli.mcp import mcp
from kedge.cli.pin import pin, unpin
from kedge.cli.plan import plan
from kedge.cli.probe import probe
from kedge.cli.recall import recall
from kedge.cli.sessions import sessions
from kedge.cli.show import show
from kedge.cli.stats import stats
from kedge.cli.status import status
from kedge.cli.summarize import summarize
from kedge.cli.todos import todos
from kedge.cli.turns import turns
from kedge.cli.undo import undo
from kedge.cli.uninstall import uninstall
from kedge.cli.view import view
from kedge.errors import KedgeError, OutputUnwritable

app = typer.Typer(
    name="kedge",
    no_args_is_help=True,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
)
COMMANDS = (
    stats,
    turns,
    show,
    facts,
    todos,
    anchors,
    plan,
    compact,
    probe,
    summarize,
    handoff,
    sessions,
    add,
    view,
    undo,
    history,
    pin,
    unpin,
    recall,
    fsck,
    export,
    import_,
    gc,
    cost,
    mcp,
    install,
    uninstall,
    status,
    statusline,
    hook,
)
for command in COMMANDS:
    app.command(command.__name__.rstrip("_"))(command)  # import is no name for a function
app.add_typer(bank, name="bank")
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
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # what the encoding lacks is replaced, not an error
            stream.reconfigure(errors="replace")
    try:
        _run_to_the_end()
    except KedgeError as error:
        typer.echo(f"kedge: {error}", err=True)
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

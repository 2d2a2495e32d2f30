"""The command line: `kedgeline`.

Data goes to stdout, everything else to stderr. What is heavy is imported by the command that needs
it.

Exit codes: 0 done · 1 the work failed · 2 wrong usage, settings or names · 3 the input cannot be
read or is no transcript · 130 interrupted."""

from __future__ import annotations

import codecs
import os
import sys
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated, Any

import typer

from kedgeline.cli import bank
from kedgeline.cli.compact import compact_command, plan, undo, view_command
from kedgeline.cli.cost import cost
from kedgeline.cli.hosts import (
    apply,
    doctor,
    hook,
    install_command,
    relay,
    status,
    statusline,
    uninstall_command,
)
from kedgeline.cli.look import anchors, facts, show_command, stats, todos, turns
from kedgeline.cli.options import Command, QuietCommand, QuietGroup, expanded, flag, register
from kedgeline.cli.recall import handoff_command, pin, recall_command, summarize_command, unpin
from kedgeline.cli.serving import html, mcp, serve, web
from kedgeline.cli.sessions import add, batch, export, fsck, gc, history, import_command, sessions
from kedgeline.cli.verdict import probe_command
from kedgeline.errors import KedgelineError, OutputUnwritable

LOOK, COMPACT, KEPT = "Look at a session", "Compact", "Kept sessions"
BANK, MANY, AGENTS, MEASURE = "Memory bank", "Many sessions", "Coding agents", "Measure"
COMMANDS: dict[str, tuple[tuple[Command, str], ...]] = {
    LOOK: (
        (stats, "stats session.jsonl"),
        (turns, "turns session.jsonl --last 6"),
        (show_command, "show session.jsonl t12-15"),
        (facts, "facts session.jsonl --kind files"),
        (todos, "todos session.jsonl"),
        (anchors, "anchors session.jsonl"),
        (cost, "cost ~/.claude/projects"),
        (web, "web"),
        (html, "html session.jsonl --out session.html"),
    ),
    COMPACT: (
        (plan, "plan session.jsonl --window 200k"),
        (compact_command, "compact session.jsonl --window 200k --to anthropic"),
        (probe_command, "probe session.jsonl --window 200k"),
        (summarize_command, "summarize session.jsonl --tokens 4k"),
        (handoff_command, "handoff --product harbour --task T-7"),
    ),
    KEPT: (
        (sessions, "sessions"),
        (add, "add harbour session.jsonl"),
        (view_command, "view harbour --to anthropic"),
        (undo, "undo harbour"),
        (history, "history harbour"),
        (pin, "pin harbour 'The port is 4711'"),
        (unpin, "unpin harbour t12"),
        (recall_command, "recall 'why did we drop redis?'"),
        (fsck, "fsck --repair"),
        (export, "export harbour harbour.kedgeline"),
        (import_command, "import harbour.kedgeline --as copy"),
        (gc, "gc --older-than 90d"),
    ),
    MANY: ((batch, "batch sessions/ --do stats,summary --out reports"),),
    AGENTS: (
        (install_command, "install claude-code --dry-run"),
        (uninstall_command, "uninstall claude-code"),
        (apply, "apply --host codex"),
        (relay, "relay --upstream https://api.openai.com/v1"),
        (doctor, "doctor"),
        (status, "status"),
        (statusline, "statusline < status.json"),
        (hook, "hook --host codex < event.json"),
        (mcp, "mcp --session harbor"),
        (serve, "serve --window 200k"),
    ),
}
"""The commands by what they are for, each with an example."""
BANK_COMMANDS: tuple[tuple[Command, str], ...] = (
    (bank.init, "init"),
    (bank.add, "add progress 'The pier is lit.'"),
    (bank.status, "status"),
    (bank.compact_command, "compact --dry-run"),
    (bank.undo, "undo"),
    (bank.history, "history"),
    (bank.verify_command, "verify"),
    (bank.file_command, "file session.jsonl"),
    (bank.index_command, "index docs"),
    (bank.find_command, "find 'tide table'"),
    (bank.load, "load --tokens 20k"),
)
USAGE: Any = typer.BadParameter.__mro__[2]
"""What Typer raises where the command line is wrong."""
UPDATE = "The same as compact, under the name that agents use: `update memory bank`."


app = typer.Typer(
    name="kedgeline",
    cls=QuietGroup,
    no_args_is_help=True,
    rich_markup_mode="rich",
    context_settings={"help_option_names": ["-h", "--help"]},
    pretty_exceptions_enable=False,
)
bank_app = typer.Typer(
    cls=QuietGroup,
    help="Keep a memory bank: Markdown files that agents share.",
    no_args_is_help=True,
)


for panel, commands in COMMANDS.items():
    for command, example in commands:
        register(app, command, example, panel)
for command, example in BANK_COMMANDS:
    register(bank_app, command, f"bank {example}")
bank_app.command("update", cls=QuietCommand, help=UPDATE)(expanded(bank.compact_command))
app.add_typer(bank_app, name="bank", rich_help_panel=BANK)


def _add_bench() -> None:
    """The measurements, where their folder lies beside the package: they are not in the wheel."""
    root = Path(__file__).parents[3]
    if (root / "bench" / "commands.py").is_file():
        sys.path.append(str(root))
        from bench.commands import bench

        app.add_typer(bench, name="bench", rich_help_panel=MEASURE)
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
        bool, flag("Show the version.", "--version", callback=_version, is_eager=True)
    ] = False,
) -> None:
    """Context compaction for LLM agents that keeps what matters and checks it."""


SIGNS = dict(zip("█▓▒░▚▁·…–—─┼┤│→✓✗▶○●⋮⊘“”’×", '#%:./_-~---+||>+x>o*:/""\'x', strict=True))
"""What stands for our signs on a screen without Unicode: one character for one."""


def _without_unicode(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    missing = error.object[error.start : error.end]
    return "".join(SIGNS.get(one, "?") for one in missing), error.end


def run_program() -> None:
    """Run the command line; every error kedgeline raises becomes one sentence and an exit code."""
    codecs.register_error("signs", _without_unicode)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # what the encoding lacks is replaced, not an error
            stream.reconfigure(errors="signs")
    try:
        code = _run_to_the_end()
    except KedgelineError as error:
        typer.echo(f"kedgeline: {error}", err=True)
        sys.exit(error.exit_code)
    except USAGE as error:
        if not error.format_message() or "NoArgs" in type(error).__name__:
            error.show()  # a command without arguments shows its help
        else:
            path = error.ctx.command_path if error.ctx else "kedgeline"
            told = error.format_message().rstrip(".")
            typer.echo(f"{path}: {told}; see `{path} --help`", err=True)
        sys.exit(error.exit_code)
    sys.exit(code if isinstance(code, int) else 0)


def _run_to_the_end() -> object:
    """Run the command and write out what it left in the buffer, so that a full disk is noticed
    here and not after the exit code is settled."""
    if sys.stdout is None:
        raise OutputUnwritable("stdout is closed")
    try:
        try:
            code = app(standalone_mode=False)
        finally:
            sys.stdout.flush()
    except OSError as error:
        # The interpreter writes the rest of the buffer when it exits; nowhere is a place for it.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        if isinstance(error, BrokenPipeError):  # the reader has seen enough: all is well
            sys.exit(0)
        raise OutputUnwritable((error.strerror or str(error)).lower()) from error
    return code

"""Writes docs/command-line.md from the commands; `make docs` runs it and a test compares."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import typer.main

from kedge.cli.main import app

TARGET = Path(__file__).with_name("command-line.md")
INTRODUCTION = """# The command line

Written by `make docs` from the commands themselves.

Data goes to stdout, everything else to stderr. Every command has `--json`: one JSON object, or one
a line where there are several. `-` reads stdin. `NO_COLOR` is respected. `kedge
--install-completion` sets up completion for your shell. A progress bar appears on a terminal when a
job takes longer than a second. The keys of all JSON: [json.md](json.md).

| exit code | meaning |
|--:|---|
| 0 | done |
| 1 | the work failed |
| 2 | wrong usage, settings or names |
| 3 | the input cannot be read, or is no transcript |
| 130 | interrupted |
"""


def reference() -> str:
    root = typer.main.get_command(app)
    return INTRODUCTION + "".join(
        _section(name, command) for name, command in commands(root, "kedge")
    )


def commands(command: Any, name: str) -> list[tuple[str, Any]]:
    """Every command below this one, by its full name."""
    inner = getattr(command, "commands", None)
    if not inner:
        return [(name, command)]
    return [found for key in sorted(inner) for found in commands(inner[key], f"{name} {key}")]


def _section(name: str, command: Any) -> str:
    arguments = [p for p in command.params if p.param_type_name == "argument"]
    options = [p for p in command.params if p.param_type_name == "option" and p.name != "help"]
    usage = " ".join([name, *(f"{a.metavar or a.name.upper()}" for a in arguments), "[OPTIONS]"])
    rows = [(f"`{a.metavar or a.name.upper()}`", a.help or "") for a in arguments]
    rows += [(f"`{', '.join(o.opts)}`", _described(o)) for o in options]
    table = "\n".join(f"| {left} | {right} |" for left, right in rows)
    help_text = (command.help or "").strip()
    return f"\n## {name}\n\n{help_text}\n\n```\n{usage}\n```\n\n| | |\n|---|---|\n{table}\n"


def _described(option: Any) -> str:
    default = option.default
    shown = isinstance(default, (int, str)) and not isinstance(default, bool)
    return f"{option.help or ''}{f' Default: {default}.' if shown else ''}"


if __name__ == "__main__":
    TARGET.write_text(reference(), "utf-8")

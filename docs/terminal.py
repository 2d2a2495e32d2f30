"""What commands print, as pictures: `make docs` runs them on a sample and draws a terminal.

A picture gets nothing from the network: no font is fetched, any of equal widths will do."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

from rich.console import Console
from rich.text import Text

ROOT = Path(__file__).parents[1]
PICTURES = Path(__file__).with_name("pictures")
WIDTH, SECONDS = 92, 60
SAMPLE = "examples/claude-code-long.jsonl"
COMMANDS = {
    "stats": (f"kedgeline stats {SAMPLE}", 32),
    "plan": (f"kedgeline plan {SAMPLE} --window 32k", 24),
    "compact": (f"kedgeline compact {SAMPLE} --window 32k", 26),
}
"""By the name of the picture: what is typed, and how many lines of the answer are shown."""
_FONTS = re.compile(r"@font-face \{.*?\}\s*", re.DOTALL)


def svg_of(out: Console, title: str) -> str:
    """All that was printed to a recording console, as a picture."""
    name = re.sub(r"\W+", "-", title.lower())
    picture = out.export_svg(title=title, unique_id=name)
    return _FONTS.sub("", picture)


def typed(command: str, lines: int) -> str:
    """A picture of a terminal in which the command was typed."""
    done = subprocess.run(
        [sys.executable, "-m", *shlex.split(command)],
        cwd=ROOT,
        env={**os.environ, "COLUMNS": str(WIDTH), "FORCE_COLOR": "1", "TERM": "xterm-256color"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        timeout=SECONDS,
        check=True,
    )
    printed = done.stdout.decode().rstrip().splitlines()
    out = Console(record=True, width=WIDTH, file=open(os.devnull, "w"))  # noqa: SIM115
    out.print(Text(f"$ {command}", style="bold"))
    out.print(Text.from_ansi("\n".join(printed[:lines])))
    if len(printed) > lines:
        out.print(Text(f"… {len(printed) - lines} more lines", style="dim"))
    return svg_of(out, command.partition(" examples")[0])


def draw() -> None:
    """Every picture into its file."""
    PICTURES.mkdir(exist_ok=True)
    for name, (command, lines) in COMMANDS.items():
        (PICTURES / f"terminal-{name}.svg").write_text(typed(command, lines), "utf-8")


if __name__ == "__main__":
    draw()

"""Writes the table of damaged variants into a Markdown file: `make torture` runs it."""

from __future__ import annotations

import sys
from pathlib import Path

from bench.tables import write_block
from tests.formats.test_damage import ALL_FORMATS, run


def table() -> str:
    lines = ["| format | damaged variants | with a complaint |", "|---|--:|--:|"]
    for name in ALL_FORMATS:
        read, wrong = run(name, often=5)
        lines.append(f"| `{name}` | {read.total():,} | {len(wrong)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    write_block(Path(sys.argv[1]), "damage", table())

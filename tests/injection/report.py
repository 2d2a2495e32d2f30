"""Writes the table of planted texts into a Markdown file: `make torture` runs it."""

from __future__ import annotations

import sys
from collections import Counter
from pathlib import Path

from bench.tables import write_block
from tests.injection.files import FILES
from tests.injection.voices import CHANNELS, EVERY, run

PLACES = (
    *("rules", "requests", "decisions", "next steps"),
    *("pins", "bank", "hooks", "recall", "hand-off"),
)
KEPT = "a rule of the user's is gone"


def table() -> str:
    heads = ("channel", "texts", *PLACES, "rules of the user's lost")
    lines = [f"| {' | '.join(heads)} |", f"|---|{'--:|' * (len(heads) - 1)}"]
    for channel in CHANNELS:
        planted, found = 0, Counter[str]()
        for name in FILES:
            count, wrong = run(name, channel, EVERY)
            planted += count
            found.update(one.where for one in wrong)
        counts = [f"{planted:,}", *(f"{found[place]}" for place in (*PLACES, KEPT))]
        lines.append(f"| {channel} | {' | '.join(counts)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    write_block(Path(sys.argv[1]), "voices", table())

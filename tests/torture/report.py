"""Writes the table of the long runs into a Markdown file: `make torture` runs it behind them."""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from bench.tables import write_block
from tests.torture import outcome
from tests.torture.rows import ODD_ROWS, ROWS, Row

NOT_RUN = "–"


BLOCKS = {"torture": ROWS, "odd": ODD_ROWS}
"""Each is written where anything of it was run."""


def runs_in(folder: Path) -> list[dict[str, Any]]:
    return [json.loads(path.read_text("utf-8")) for path in sorted(folder.glob("*.json"))]


def table(folder: Path, rows: Sequence[Row] = ROWS) -> str:
    """One row a check, from what the long runs have left in a folder."""
    names = {row.name for row in rows}
    found = [run for run in runs_in(folder) if run["check"] in names]
    lines = [
        "| check | `make test` | `make torture` | acknowledged | violations | seconds |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for row in rows:
        runs = [one for one in found if one["check"] == row.name]
        normal = f"{row.cases:,}" if row.cases else NOT_RUN
        lines.append(f"| {row.what} | {normal} | {' | '.join(_sums(runs))} |")
    return "\n".join([*lines, *_notes(found)])


def _sums(runs: list[dict[str, Any]]) -> list[str]:
    if not runs:
        return [NOT_RUN] * 4
    counts = [sum(run[field] for run in runs) for field in ("cases", "acknowledged")]
    wrong = sum(len(run["violations"]) for run in runs)
    seconds = sum(run["seconds"] for run in runs)
    return [*(f"{count:,}" for count in counts), f"{wrong:,}", f"{seconds:,.0f}"]


def _notes(found: list[dict[str, Any]]) -> list[str]:
    """How long writers waited for each other."""
    told = []
    for run in found:
        if run["check"] in ("crowd", "crowd-20"):
            durability = run["options"]["durability"]
            waits = run["measured"]
            told.append(
                f"`{durability}`: half of the calls waited less than {waits['wait_p50_ms']:.1f} ms "
                f"for the session, 99 of 100 less than {waits['wait_p99_ms']:,.0f} ms, and took "
                f"{waits['append_p99_ms']:,.0f} ms in all, at a load of {waits['load']:.0f}; "
                f"{waits['kills']:.0f} writers were killed and started again, "
                f"{waits['compactions']:.0f} compactions were written."
            )
    return ["", *told] if told else []


def main(path: Path) -> None:
    ran = {run["check"] for run in runs_in(outcome.RESULTS)}
    for block, rows in BLOCKS.items():
        if ran & {row.name for row in rows}:
            write_block(path, block, table(outcome.RESULTS, rows))


if __name__ == "__main__":
    main(Path(sys.argv[1]))

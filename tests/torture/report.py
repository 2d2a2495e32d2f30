"""Writes the table of the long runs into a Markdown file: `make torture` runs it behind them."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any, NamedTuple

from kedge.bench.report import write_block
from tests.bank.torture import test_bank_crash, test_bank_crowd, test_bank_faults
from tests.bank.torture.crash import SCENARIOS
from tests.torture import outcome, test_clock, test_crowd, test_faults, test_kill, test_power

BLOCK = "torture"
NOT_RUN = "–"


class Row(NamedTuple):
    """A check in the table."""

    name: str
    """Of the files that its long runs leave."""
    what: str
    normal: int | str
    """Cases in the normal test run."""


ROWS = (
    Row(
        "kill",
        "`kill -9` at a random moment: append, compact, archive, migrate, undo",
        test_kill.NORMAL,
    ),
    Row("kill-postgres", "the same, the client of a PostgreSQL server", test_kill.POSTGRES),
    Row(
        "crash",
        "`kill -9` at every system call that changes a file, nine scenarios",
        "one scenario",
    ),
    Row(
        "power-durable",
        "power cut, `durable`: unsynced writes lost or torn",
        test_power.NORMAL // 2,
    ),
    Row("power-fast", "power cut, `fast`: a beginning is left, undamaged", test_power.NORMAL // 2),
    Row("faults", "EIO, ENOSPC, EINTR, short writes, failed syncs", test_faults.FAULTS),
    Row("disk", "full disk of 256 kB to 16 MB, then space again", test_faults.DISKS),
    Row(
        "crowd",
        "entries of many processes at once, with a compactor and a killer",
        test_crowd.NORMAL,
    ),
    Row("weight", "images kept once, one huge record in little memory, speed", 3),
    Row("clock", "clocks that go backwards, stand still, jump", test_clock.NORMAL),
    Row(
        "bank-kill",
        "memory bank: `kill -9` at a random moment: add, compact, undo",
        test_bank_crash.KILLS,
    ),
    Row(
        "bank-crash",
        "memory bank: `kill -9` at every system call of adding, compacting, undoing, recovering",
        len(SCENARIOS) * test_bank_crash.CALLS,
    ),
    Row("bank-power", "memory bank: power cut", test_bank_faults.CUTS),
    Row("bank-faults", "memory bank: EIO, ENOSPC, EMFILE …", test_bank_faults.FAULTS),
    Row(
        "bank-crowd",
        "memory bank: entries of many processes at once, with a compactor and a killer",
        test_bank_crowd.WRITERS * test_bank_crowd.EACH,
    ),
    Row(
        "bank-story",
        "memory bank: the same with entries and decisions in their shapes; the bank proves itself",
        test_bank_crowd.STORY_WRITERS * test_bank_crowd.STORY_EACH,
    ),
)


def table(folder: Path) -> str:
    """One row a check, from what the long runs have left in a folder."""
    found = [json.loads(path.read_text("utf-8")) for path in sorted(folder.glob("*.json"))]
    lines = [
        "| check | `make test` | `make torture` | acknowledged | violations | seconds |",
        "|---|--:|--:|--:|--:|--:|",
    ]
    for row in ROWS:
        runs = [one for one in found if one["check"] == row.name]
        normal = f"{row.normal:,}" if isinstance(row.normal, int) else row.normal
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
        if run["check"] == "crowd":
            durability = run["options"]["durability"]
            waits = run["measured"]
            told.append(
                f"`{durability}`: half of the calls waited less than {waits['wait_p50_ms']:.1f} ms "
                f"for the session, 99 of 100 less than {waits['wait_p99_ms']:,.0f} ms; "
                f"{waits['kills']:.0f} writers were killed and started again, "
                f"{waits['compactions']:.0f} compactions were written."
            )
        if run["check"] in ("bank-crowd", "bank-story"):
            waits = run["measured"]
            plain = run["check"] == "bank-crowd"
            told.append(
                f"memory bank, {'files alone' if plain else 'whole'}: half of the entries "
                f"{'waited' if plain else 'took'} less than {waits['wait_p50_ms']:,.0f} ms, "
                f"99 of 100 less than {waits['wait_p99_ms']:,.0f} ms; "
                f"{waits['kills']:.0f} processes were killed and started again, "
                f"{waits['compactions']:.0f} compactions and undos were made, and the files were "
                f"looked at {waits['looks']:,.0f} times meanwhile."
            )
    return ["", *told] if told else []


if __name__ == "__main__":
    write_block(Path(sys.argv[1]), BLOCK, table(outcome.RESULTS))

"""How long it takes to load a bank of 20,000 tokens into budgets of several sizes."""

from __future__ import annotations

import tempfile
import time
from datetime import UTC, datetime, timedelta
from importlib.metadata import version
from pathlib import Path

from bench.corpus import Watch
from kedgeline.economy.loading import LEVELS, Loaded, load_context
from kedgeline.model import Value
from kedgeline.tokens import EXACT

TOKENS = 20_000
"""Of the bank: what it may have before it is compacted (seed 003)."""
BUDGETS = (40_000, 20_000, 10_000, 5_000, 2_000)
"""All fits, nearly all, half, a quarter, a tenth."""
ROUNDS = 15
"""How often each is loaded; the best counts, as other work can only slow it down."""
FILES = {
    "systemPatterns.md": 0.15,
    "activeContext.md": 0.35,
    "decisionLog.md": 0.30,
    "progress.md": 0.12,
    "productContext.md": 0.08,
}
"""Share of the tokens that each file has: the log and the work at hand are the largest."""
BEGIN = datetime(2026, 1, 1, tzinfo=UTC)
SAID = (
    "The pier decides first, then the length of the vessel; `assign` in src/berths/plan_{n}.py "
    "asks the tide table for berth {n} and keeps {m} metres below the keel. Tests pass. "
    "Still open: what becomes of barges without an engine when the tide turns before {h}:30."
)


class Budgeted(Value, frozen=True):
    budget: int
    tokens: int
    levels: dict[str, int]
    """How many texts were loaded at each level."""
    left_out: int
    milliseconds: float


class Loading(Value, frozen=True):
    version: str
    files: int
    tokens: int
    """Of the bank, counted exactly."""
    budgets: tuple[Budgeted, ...]


def measure(*, watch: Watch, rounds: int = ROUNDS) -> Loading:
    with tempfile.TemporaryDirectory() as folder:
        watch("writing a bank")
        tokens = write_bank(Path(folder))
        found = []
        for budget in BUDGETS:
            watch(f"{budget:,} tokens")
            found.append(_budgeted(Path(folder), budget, rounds))
    return Loading(
        version=version("kedgeline"), files=len(FILES), tokens=tokens, budgets=tuple(found)
    )


def write_bank(folder: Path, tokens: int = TOKENS) -> int:
    """An invented bank of so many tokens; how many it came to."""
    written = 0
    for name, share in FILES.items():
        text, number = f"# {name.removesuffix('.md')}\n\n", 0
        while EXACT.count(text) < share * tokens:
            text += _entry(name, number)
            number += 1
        (folder / name).write_text(text, "utf-8")
        written += EXACT.count(text)
    return written


def _entry(name: str, number: int) -> str:
    at = BEGIN + timedelta(hours=7 * number)
    said = SAID.format(n=number, m=number % 9 + 2, h=number % 24)
    if name == "decisionLog.md":
        return (
            f"### DEC-{number + 1:03}: Berth {number} by its pier\n\n- **Date**: {at:%Y-%m-%d}\n"
            f"- **Decision**: {said}\n- **Rationale**: fewer moves\n- **Status**: Active\n\n"
        )
    if name == "progress.md":
        return f"- [{'x' if number % 3 else ' '}] Berth {number}: {said} ({at:%Y-%m-%d})\n"
    if name == "activeContext.md":
        return (
            f"### [{at:%Y-%m-%dT%H:%M:%SZ}] planner\n\n{said}\n\n- src/berths/plan_{number}.py\n\n"
        )
    return f"## Rule {number}\n\n{said}\n\n"


def _budgeted(folder: Path, budget: int, rounds: int) -> Budgeted:
    best, loaded = min((_timed(folder, budget) for _ in range(rounds)), key=lambda one: one[0])
    levels = {level: sum(part.level == level for part in loaded.parts) for level in LEVELS}
    return Budgeted(
        budget=budget,
        tokens=loaded.tokens,
        levels={level: number for level, number in levels.items() if number},
        left_out=len(loaded.left_out),
        milliseconds=1_000 * best,
    )


def _timed(folder: Path, budget: int) -> tuple[float, Loaded]:
    begun = time.perf_counter()
    loaded = load_context(budget, bank=folder)
    return time.perf_counter() - begun, loaded


LOADING = ("budget", "loaded", "levels", "left out", "best of several", "goal")


def rows(found: Loading) -> list[tuple[str, ...]]:
    return [
        (
            f"{one.budget:,}",
            f"{one.tokens:,}",
            ", ".join(f"{number} × {level}" for level, number in one.levels.items()),
            f"{one.left_out}",
            f"{one.milliseconds:.1f} ms",
            "≤ 50 ms",
        )
        for one in found.budgets
    ]

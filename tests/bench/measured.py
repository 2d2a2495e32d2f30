"""A replay as it would have been measured, invented."""

from __future__ import annotations

from collections.abc import Sequence

from bench.corpus import Mean
from bench.replay.measuring import OWN, UNLIMITED, Group, MethodMeans, Replay
from bench.replay.names import Where

SHARES = ("names", "commands", "request", "files", "files_f1")
BUDGETED = ("last turns", "masking", "names only", "kedgeline")


def group(where: Where, budget: int, methods: Sequence[str]) -> Group:
    """Every mean differs from every other."""
    made = []
    for place, method in enumerate(methods):
        means = {
            name: mean((place + 1) / 10 + number / 100)
            for number, name in enumerate(SHARES)
            if method != "no compaction"
        }
        means["tokens"] = mean(100.0 * (place + 1))
        made.append(MethodMeans(method=method, tokens=100.0 * (place + 1), means=means))
    return Group(where=where, budget=budget, cuts=7, sessions=3, methods=tuple(made))


def mean(value: float) -> Mean:
    return Mean(mean=value, low=value * 0.9, high=value * 1.1, over=7)


def replay() -> Replay:
    loose = ("no compaction", "last 10 turns")
    return Replay(
        fingerprint="f00d" * 16,
        files=4,
        sessions=5,
        seed=1,
        resamples=1_000,
        groups=(
            group("boundary", UNLIMITED, loose),
            group("boundary", OWN, ("recorded summary", *BUDGETED)),
            group("boundary", 2_048, BUDGETED),
            group("fair", UNLIMITED, loose),
            group("fair", 2_048, BUDGETED),
            group("fair", 4_096, BUDGETED),
        ),
        cuts=(),
    )

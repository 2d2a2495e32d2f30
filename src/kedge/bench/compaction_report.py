"""The tables of `kedge bench compaction`."""

from __future__ import annotations

from collections.abc import Sequence

from kedge.bench.compaction import Compactions, Found, Squeezed
from kedge.model import ANCHOR_TYPES
from kedge.planning import POLICY

FOUND = (
    "sessions of",
    "sessions",
    "turns",
    *(f"{name.replace('_', ' ')} per 100" for name in ANCHOR_TYPES),
    "all per 100",
    "with a natural anchor",
)
SQUEEZED = (
    "window",
    "sessions that do not fit",
    "freed: least",
    "lower tenth",
    "median",
    "upper tenth",
    "60 % or more",
    "over budget",
    "outputs masked",
    "violations",
)
LARGE = ("measure", "value")


def found_rows(found: Compactions) -> list[tuple[str, ...]]:
    """Anchors by kind of session; sessions that count twice are summed once."""
    everything = [one for one in found.found if not one.kind.startswith("research-like")]
    total = Found(
        kind="all",
        sessions=sum(one.sessions for one in everything),
        turns=sum(one.turns for one in everything),
        by_type={
            name: sum(one.by_type.get(name, 0) for one in everything) for name in ANCHOR_TYPES
        },
        natural=sum(one.natural for one in everything),
    )
    return [_found(one) for one in (*found.found, total)]


def squeezed_rows(found: Compactions) -> list[tuple[str, ...]]:
    return [_squeezed(one) for one in found.squeezed]


def large_rows(found: Compactions) -> list[tuple[str, str]]:
    size = f"one session of {found.plan_megabytes:,.0f} MB ({found.plan_turns:,} turns)"
    return [
        (f"`kedge plan` on {size}: seconds, start included", f"{found.plan_seconds:,.1f}"),
        ("the same: MB/s", f"{found.plan_megabytes / found.plan_seconds:,.0f}"),
        ("the same: peak memory", f"{found.plan_memory:,.0f} MB"),
        (
            "finding anchors: cost of a turn near turn 100,000 over its cost at the beginning",
            f"{found.growth:.2f} ×",
        ),
    ]


def _found(one: Found) -> tuple[str, ...]:
    turns = max(1, one.turns)
    rates = [100 * one.by_type.get(name, 0) / turns for name in ANCHOR_TYPES]
    return (
        one.kind,
        f"{one.sessions:,}",
        f"{one.turns:,}",
        *(f"{rate:.1f}" for rate in rates),
        f"{sum(rates):.1f}",
        f"{one.natural / max(1, one.sessions):.0%}",
    )


def _squeezed(one: Squeezed) -> tuple[str, ...]:
    freed = one.reductions
    enough = sum(share >= POLICY.least_reduction for share in freed)
    return (
        f"{one.window:,}",
        f"{len(freed):,}",
        *(f"{_at(freed, share):.0%}" for share in (0.0, 0.1, 0.5, 0.9)),
        f"{enough} of {len(freed)}",
        f"{one.over_budget:,}",
        f"{one.masked:,}",
        f"{one.violations:,}",
    )


def _at(ascending: Sequence[float], share: float) -> float:
    """A quantile, as one of the values themselves."""
    return ascending[round(share * (len(ascending) - 1))] if ascending else 0.0

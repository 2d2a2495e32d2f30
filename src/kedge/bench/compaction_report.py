"""The tables of `kedge bench compaction`."""

from __future__ import annotations

from collections.abc import Sequence

from kedge.bench.compaction import ALL, Compactions, Found, Squeezed
from kedge.bench.report import NOTHING, with_interval
from kedge.model import ANCHOR_TYPES

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
    "mean",
    "60 % or more",
    "over budget",
    "outputs masked",
    "violations",
)
LARGE = ("measure", "value")


def found_rows(found: Compactions) -> list[tuple[str, ...]]:
    """Anchors by kind of session; the last row is all of them."""
    return [_found(one) for one in found.found]


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
    rates = (one.per_100.get(name) for name in (*ANCHOR_TYPES, ALL))
    return (
        one.kind,
        f"{one.sessions:,}",
        f"{one.turns:,}",
        *(with_interval(rate, ".1f") for rate in rates),
        with_interval(one.natural_share, ".0%"),
    )


def _squeezed(one: Squeezed) -> tuple[str, ...]:
    freed = one.reductions
    return (
        f"{one.window:,}",
        f"{len(freed):,}",
        *(_at(freed, share) for share in (0.0, 0.1, 0.5, 0.9)),
        with_interval(one.freed, ".0%"),
        with_interval(one.enough, ".0%"),
        f"{one.over_budget:,}",
        f"{one.masked:,}",
        f"{one.violations:,}",
    )


def _at(ascending: Sequence[float], share: float) -> str:
    """A quantile, as one of the values themselves."""
    return f"{ascending[round(share * (len(ascending) - 1))]:.0%}" if ascending else NOTHING

"""What test and build runs came to."""

from __future__ import annotations

from kedge.model import BuildStatus
from kedge.outcomes import Outcome, Run

CHECKS = frozenset({"test", "build"})
"""Purposes of runs that say whether the work is in order."""


def runs_of(outcome: Outcome) -> tuple[Run, ...]:
    """The runs of a call that took place: a refused or interrupted one has none to speak of."""
    result = outcome.result
    return () if result is None or result.refused or result.interrupted else outcome.runs


def status_of(run: Run) -> BuildStatus | None:
    """None where a run does not tell. What a test runner counts outranks an exit code, which may
    be that of a pipe."""
    if run.success is False or (run.counts is not None and run.counts.failed):
        return "failing"
    if run.counts is not None:
        return "passing" if run.counts.passing else None
    return "passing" if run.success else None

"""A compaction on its way: what is planned, what is told, what the probes found."""

from __future__ import annotations

from typing import NamedTuple

from kedge.model import Plan, Summary, Verdict
from kedge.summary import Standing


class Told(NamedTuple):
    text: str
    """What the agent reads."""
    state: Summary | None = None
    """All that is known of the folded turns."""
    standing: Standing = "beside"
    """Where the current request stands verbatim."""


class Draft(NamedTuple):
    plan: Plan
    told: Told
    verdict: Verdict | None = None
    """None where nothing new is folded."""

"""The steps of a compaction that bring several stages together."""

from kedge.steps.alone import alone
from kedge.steps.budget import budget_for
from kedge.steps.draft import Draft, Told, Writer
from kedge.steps.job import STYLES, Job, Style
from kedge.steps.outcomes import outcomes_of_session
from kedge.steps.plan import plan_of
from kedge.steps.prepared import prepared
from kedge.steps.record import record_of
from kedge.steps.repair import repaired
from kedge.steps.summary import summary_of
from kedge.steps.verdict import verdict_of

__all__ = [
    "STYLES",
    "Draft",
    "Job",
    "Style",
    "Told",
    "Writer",
    "alone",
    "budget_for",
    "outcomes_of_session",
    "plan_of",
    "prepared",
    "record_of",
    "repaired",
    "summary_of",
    "verdict_of",
]

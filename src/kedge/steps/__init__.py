"""The steps of a compaction that bring several stages together."""

from kedge.steps.budget import budget_for
from kedge.steps.job import STYLES, Job, Style
from kedge.steps.outcomes import outcomes_of_session
from kedge.steps.plan import plan_of
from kedge.steps.prepared import prepared
from kedge.steps.record import record_of
from kedge.steps.summary import Told, summary_of

__all__ = [
    "STYLES",
    "Job",
    "Style",
    "Told",
    "budget_for",
    "outcomes_of_session",
    "plan_of",
    "prepared",
    "record_of",
    "summary_of",
]

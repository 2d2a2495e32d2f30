"""The steps of a compaction that bring several stages together."""

from kedge.steps.budget import budget_for
from kedge.steps.job import Job, Style
from kedge.steps.plan import plan_of
from kedge.steps.record import record_of
from kedge.steps.summary import Told, summary_of

__all__ = ["Job", "Style", "Told", "budget_for", "plan_of", "record_of", "summary_of"]

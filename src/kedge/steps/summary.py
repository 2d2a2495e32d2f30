"""The summary of a compaction, in one of its styles."""

from __future__ import annotations

from typing import NamedTuple

from kedge.model import ConversationFlow, Plan
from kedge.model.summary import Summary
from kedge.steps.anchored import anchored_summary
from kedge.steps.job import Job
from kedge.steps.outcomes import outcomes_summary


class Told(NamedTuple):
    text: str
    """What the agent reads."""
    state: Summary | None = None
    """All that is known, where the style keeps it."""


def summary_of(job: Job, flow: ConversationFlow, plan: Plan) -> Told:
    """What stands for all folded turns: the earlier summary and what is new, merged, never made
    anew. Where nothing is folded it is what it was."""
    if not plan.folded:
        done = job.previous
        return Told(done.summary, done.state) if done else Told("")
    if job.style == "outcomes":
        return Told(outcomes_summary(job, flow, plan))
    return Told(*anchored_summary(job, plan))

"""The summary of a compaction, in one of its styles."""

from __future__ import annotations

from kedge.model import ConversationFlow, Plan
from kedge.steps.anchored import anchored_summary
from kedge.steps.draft import Told
from kedge.steps.job import Job
from kedge.steps.outcomes import outcomes_summary


def summary_of(job: Job, flow: ConversationFlow, plan: Plan) -> Told:
    """What stands for all folded turns: the earlier summary and what is new, merged, never made
    anew. Where nothing is folded it is what it was."""
    if not plan.folded:
        done = job.previous
        return Told(done.summary, done.state) if done else Told("")
    if job.style == "outcomes":
        return outcomes_summary(job, flow, plan)
    return anchored_summary(job, plan)

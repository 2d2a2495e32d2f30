"""The plan of a compaction."""

from __future__ import annotations

from msgspec.structs import replace

from kedge.model import Budget, ConversationFlow, Plan
from kedge.planning import WORTH_NAMING, make_plan, rules_for
from kedge.steps.job import Job


def plan_of(job: Job, flow: ConversationFlow, budget: Budget | None = None) -> Plan:
    """The words that wait take their room; where there are no tool calls, recency alone counts.
    Another `budget` than the job's is for trying out."""
    budget = budget or job.budget
    previous = job.previous
    if previous is not None and job.is_settled:
        return replace(previous.plan, folded=(), reason="there are no new turns")
    waiting = job.waiting
    by_recency = flow.migration_strategy == "legacy_fallback"
    plan = make_plan(
        job.transcript.turns,
        () if by_recency else flow.anchor_points,
        replace(budget, target=budget.target - waiting, usable=budget.usable - waiting),
        rules=rules_for(job.provider),
        count=job.counter.count,
        start=job.start,
        earlier=job.earlier,
        masked=previous.plan.masked if previous else (),
        masking=job.masking,
        pending=job.transcript.pending,
        fixed=job.fixed,
        name=job.name,
    )
    if previous is not None and not plan.folded:
        plan = replace(plan, repeated=previous.plan.repeated)  # what leads the view stays
    if plan.over_budget and waiting > 0 and waiting >= WORTH_NAMING * job.budget.target:
        advice = f"the words that wait for an answer have {waiting:,} tokens: give them as a file"
        return replace(plan, advice=(advice, *plan.advice))
    return plan

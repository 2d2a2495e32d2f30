"""The style `anchored`: forced sections, from exact facts."""

from __future__ import annotations

from msgspec.structs import replace

from kedge.earlier import earlier_summary, told
from kedge.model import AnyFact, Plan, Requested, Summary
from kedge.planning import SUMMARY_OF_SPAN
from kedge.steps.draft import Told
from kedge.steps.job import Job
from kedge.summary import Standing, fit, items_of, merged
from kedge.viewing import wrapped


def anchored_summary(job: Job, plan: Plan) -> Told:
    """The rendering in its room, and the state behind it."""
    state, standing = state_of(job, plan)
    fitted = fit(items_of(state, standing), room_of(job, plan), job.counter.count)
    return Told(fitted.text, state, standing, fitted.items)


def room_of(job: Job, plan: Plan) -> int:
    """Tokens of the text alone, without what stands around it."""
    return plan.summary_room - job.counter.count(wrapped("", job.kept_as))


def most_room(job: Job, plan: Plan, limit: int) -> int:
    """Tokens the summary may have where all together may have so many."""
    budget = replace(job.budget, target=limit - job.waiting)
    left = (
        budget.room(plan.tokens_before, job.fixed) if limit == job.budget.target else budget.target
    )
    span = sum(one.tokens for one in plan.folded) + job.earlier
    return min(left - plan.tokens_kept, int(SUMMARY_OF_SPAN * span))


def state_of(job: Job, plan: Plan) -> tuple[Summary, Standing]:
    """The earlier state with the facts of the turns that are newly folded. Whether the current
    request is among what is folded: then the view says it again."""
    last = job.transcript.turns[plan.cut - 1].index
    state = merged(earlier_state(job, plan), newly_folded(job, plan), through=last)
    asked = [f.turn for f in job.facts if isinstance(f, Requested) and f.scope != "step"]
    return state, "later" if asked and asked[-1] > last else "beside"


def newly_folded(job: Job, plan: Plan) -> list[AnyFact]:
    turns = job.transcript.turns
    first = turns[job.start].index if job.start < len(turns) else 0
    last = turns[plan.cut - 1].index
    return [fact for fact in job.facts if first <= fact.turn <= last]


def earlier_state(job: Job, plan: Plan) -> Summary:
    """The state of the compaction before; or, where only its text is left, what that tells."""
    if job.previous is not None:
        return job.previous.state or told(job.previous.summary)
    return earlier_summary(job.transcript, before=plan.cut)

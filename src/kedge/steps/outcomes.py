"""The style `outcomes`: the context, and a line for what each folded turn came to."""

from __future__ import annotations

from functools import partial

from msgspec.structs import replace

from kedge.context import goals_of, relative
from kedge.earlier import leading
from kedge.flow import flow_of
from kedge.model import ConversationFlow, Plan, Transcript, Turn
from kedge.steps.draft import Told
from kedge.steps.job import Job
from kedge.summary.outcomes import (
    Effect,
    Outcomes,
    effect_of,
    fit,
    merged,
    outcome_lines,
    parse,
    render,
)
from kedge.tokens import Counter
from kedge.viewing import wrapped


def outcomes_summary(job: Job, flow: ConversationFlow, plan: Plan) -> Told:
    """What stands for all folded turns: the earlier lines as they were, and the new ones."""
    turns = job.transcript.turns
    first = turns[plan.cut].index if plan.cut < len(turns) else len(turns)
    new = Outcomes(
        context=replace(flow.preservation_context, current_goals=goals_of(turns, kept_from=first)),
        lines=outcome_lines(
            turns[job.start : plan.cut], flow.anchor_points, effect=partial(_effect, job)
        ),
    )
    room = plan.summary_room - job.counter.count(wrapped("", job.kept_as))
    text = render(fit(_with_earlier(job, plan, new), room, job.counter.count))
    return Told(text)


def outcomes_of_session(transcript: Transcript, room: int, counter: Counter) -> str:
    """A whole session in this style."""
    flow = flow_of(transcript.turns, root=transcript.session.latest("root"))
    lines = outcome_lines(transcript.turns, flow.anchor_points)
    told = Outcomes(context=flow.preservation_context, lines=lines)
    return render(fit(told, room, counter.count))


def _effect(job: Job, turn: Turn) -> Effect:
    """What a turn's calls came to, with the files that commands changed and paths as seen from the
    session's root."""
    root = job.transcript.session.latest("root")
    changed = (path for outcome in job.outcomes(turn) for path in outcome.changed)
    named = dict.fromkeys(relative(path, root) for path in changed)
    return replace(effect_of(turn), changed=tuple(named))


def _with_earlier(job: Job, plan: Plan, new: Outcomes) -> Outcomes:
    """With the summary of the compaction before, or with one that stands in the conversation."""
    if job.previous is not None:
        return merged(parse(job.previous.summary), new) if job.previous.summary else new
    text = leading(job.transcript) if plan.cut else ""
    return merged(parse(text), new, unseen=True) if text else new

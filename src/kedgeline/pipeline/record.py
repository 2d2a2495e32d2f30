"""The record of a compaction: measured on the rebuilt context, with what there is to say of it."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from kedgeline.model import Compaction, Losses, Plan, Transcript, Turn, Verdict
from kedgeline.pipeline.draft import Draft, Told, losses_of, renditions_of
from kedgeline.pipeline.job import ConversationFlow, Job
from kedgeline.pipeline.view import view
from kedgeline.planning import POLICY
from kedgeline.tokens import tokens_of

NOTHING_GAINED = "the summary would not be shorter than what it stands for"
WORTH_IT = 3
"""A compaction that would free less than the so-manieth part of what it should is not made: it
would soon be due again, and each one costs what it leaves out and the cached prefix."""


def record_of(job: Job, flow: ConversationFlow, draft: Draft) -> Compaction:
    """The record; one that would free nothing or too little is not made, and all stays as it
    was."""
    plan = draft.plan
    before = _before(job)
    made = _measured(job, flow, draft)
    changes = plan.folded or plan.masked != (job.previous.plan.masked if job.previous else ())
    idle = not changes or not _is_worth_it(job, plan, before, made.tokens_after)
    if idle:
        reason = plan.reason if not changes else _too_little(job, plan, before - made.tokens_after)
        made = _unchanged(job, flow, plan, reason)
    else:
        counted = job.previous.count if job.previous else 0
        made = replace(made, count=counted + 1, at=job.at)
    kind: str = "counted" if job.counter.exact else "estimated"
    if job.context is not None:
        before, kind = job.context.total, job.context.kind
    made = replace(
        made,
        tokens_before=before,
        tokens_kind=kind,
        tokens_after=before if idle else made.tokens_after,
        hidden=job.hidden,
    )
    return replace(made, warnings=tuple(_warnings(job, made, idle=idle)))


def _is_worth_it(job: Job, plan: Plan, before: int, after: int) -> bool:
    """Whether it frees enough, or makes a context fit its window that does not."""
    freed, should = before - after, plan.tokens_before - job.room(plan.tokens_before)
    window = job.budget.usable + job.fixed - job.waiting
    return freed > 0 and (WORTH_IT * freed >= should or after <= window < before)


def _too_little(job: Job, plan: Plan, freed: int) -> str:
    if freed <= 0:
        return NOTHING_GAINED
    should = plan.tokens_before - job.room(plan.tokens_before)
    return (
        f"it would free {freed:,} of the {should:,} tokens that it should, less than a third: "
        f"{plan.held_up or NOTHING_GAINED}"
    )


def _measured(job: Job, flow: ConversationFlow, draft: Draft) -> Compaction:
    transcript, (plan, told, verdict, wording) = job.transcript, draft
    made = Compaction(
        plan=plan,
        summary=told.text,
        state=told.state,
        method=job.style,
        strategy=flow.migration_strategy,
        anchors=flow.anchor_points,
        first=transcript.turns[0].index if transcript.turns else 0,
        turns=len(transcript.turns),
        covered_through=transcript.turns[plan.cut - 1].index if plan.cut else -1,
        counted_as=job.counter.name,
        summary_tokens=job.counter.count(told.text),
        span_tokens=sum(span.tokens for span in plan.folded) + job.earlier,
        verdict=verdict,
        renditions=renditions_of(transcript.turns, plan, told),
        losses=_losses(job, plan, told),
        wording=wording,
        name=job.kept_as,
    )
    after = _tokens(job, view(transcript, made))
    return replace(made, plan=_settled(job, plan, after), tokens_after=after)


def _losses(job: Job, plan: Plan, told: Told) -> Losses | None:
    """Where nothing new is folded, those of the summary that stays; none for a style without
    sections, which cannot say what it left out."""
    if plan.folded:
        return losses_of(plan, told) if job.style == "anchored" else None
    return job.previous.losses if job.previous else None


def _settled(job: Job, plan: Plan, after: int) -> Plan:
    """The plan with what it really came to: the summary may be shorter than it may be."""
    overhead = job.fixed - job.waiting
    excess = max(0, after - overhead - job.budget.target)
    if not excess:
        return replace(plan, excess=0, held_up="", advice=())
    held_up = plan.held_up or "what the summary must say takes more room than was planned"
    advice = plan.advice or ("a larger window",)
    return replace(plan, excess=excess, held_up=held_up, advice=advice)


def _unchanged(job: Job, flow: ConversationFlow, plan: Plan, reason: str) -> Compaction:
    """What was there before, under a plan that says why nothing is done."""
    done = job.previous
    still = Plan(
        cut=job.start,
        kept=plan.kept,
        masked=done.plan.masked if done else (),
        repeated=done.plan.repeated if done else (),
        reason=reason,
        held_up=plan.held_up or reason,
        tokens_before=plan.tokens_before,
        tokens_kept=plan.tokens_before,
        excess=plan.excess,
        advice=plan.advice,
    )
    if done is None:
        return _measured(job, flow, Draft(still, Told("")))
    made = _measured(job, flow, Draft(still, Told(done.summary, done.state), done.verdict))
    return replace(made, count=done.count, at=done.at)


def _before(job: Job) -> int:
    shown = view(job.transcript, job.previous) if job.previous else job.transcript
    return _tokens(job, shown)


def _tokens(job: Job, transcript: Transcript) -> int:
    return job.fixed + sum(_counted(turn, job) for turn in transcript.turns)


def _counted(turn: Turn, job: Job) -> int:
    """Turns that were read carry their count; the one that leads a view does not."""
    return turn.tokens or tokens_of(turn, job.counter).total


def _warnings(job: Job, made: Compaction, *, idle: bool) -> Iterator[str]:
    """What there is to say. `idle`: all stays as it was, also what was masked earlier."""
    plan = made.plan
    usual = POLICY.least_reduction
    if idle:
        yield f"nothing was folded: {plan.reason}"
    elif (freed := _share_freed(made)) < usual:
        yield (
            f"only {int(100 * freed)}% of the context was freed, less than "
            f"{usual:.0%}: a fresh conversation may serve better"
        )
    earlier = [one for one in job.transcript.compactions if one.kind == "summary" and one.turn]
    if earlier:
        yield (
            f"{earlier[-1].by} had compacted the session before t{earlier[-1].turn}: turns before "
            f"that are in no request any more, and not in the size of the context"
        )
    if made.strategy == "legacy_fallback":
        yield "no tool calls in this conversation: turns were kept by recency alone"
    if made.verdict is not None and not made.verdict.accepted and not idle:
        yield _unproved(made.verdict)
    if made.wording is not None and made.wording.fallback and not idle:
        wording = made.wording
        told = f"{wording.fallback}: {wording.why}" if wording.why else wording.fallback
        yield f"the words of the model {wording.model} were {wording.outcome}: {told}"
    if plan.over_budget:
        help_ = "; ".join(plan.advice)
        held = f": {plan.held_up}" if plan.held_up else ""
        yield f"{plan.excess:,} tokens above the target{held}; what would help: {help_}"


def _share_freed(made: Compaction) -> float:
    """Of what the session has of the context: no compaction reaches the rest."""
    reached = made.tokens_before - made.hidden
    return max(0.0, (made.tokens_before - made.tokens_after) / reached) if reached > 0 else 0.0


def _unproved(verdict: Verdict) -> str:
    """What the probes found wrong, loud enough to be acted on."""
    failed, critical = len(verdict.failed), verdict.critical_failures
    worst = (critical or verdict.failed)[:1]
    named = f", such as: {worst[0].probe.question}" if worst else ""
    lines = f"; {len(verdict.strays)} of its lines are held by no fact" if verdict.strays else ""
    return (
        f"the summary fails {failed:,} of {len(verdict.answers):,} probes, {len(critical):,} of "
        f"them critical{named}{lines}; a larger window or budget keeps more, and the originals "
        f"hold everything"
    )

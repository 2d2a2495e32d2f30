"""The record of a compaction: measured on the rebuilt context, with what there is to say of it."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from kedge.model import Compaction, ConversationFlow, Losses, Plan, Transcript, Turn, Verdict
from kedge.planning import POLICY
from kedge.steps.draft import Draft, Told
from kedge.steps.job import Job
from kedge.steps.losses import losses_of
from kedge.tokens import tokens_of
from kedge.viewing import view

NOTHING_GAINED = "the summary would not be shorter than what it stands for"


def record_of(job: Job, flow: ConversationFlow, draft: Draft) -> Compaction:
    """The record; one that would free nothing is not made, and all stays as it was."""
    plan = draft.plan
    before = _before(job)
    made = _measured(job, flow, draft)
    changes = plan.folded or plan.masked != (job.previous.plan.masked if job.previous else ())
    idle = not changes or made.tokens_after >= before
    if idle:
        reason = plan.reason if not changes else NOTHING_GAINED
        made = _unchanged(job, flow, plan, reason)
    else:
        counted = job.previous.count if job.previous else 0
        made = replace(made, count=counted + 1, at=job.at)
    made = replace(made, tokens_before=before)
    return replace(made, warnings=tuple(_warnings(job, made, idle=idle)))


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
        losses=_losses(job, plan, told),
        wording=wording,
        name=job.kept_as,
    )
    after = _tokens(job, view(transcript, made))
    return replace(made, plan=_settled(job, plan, after), tokens_after=after)


def _losses(job: Job, plan: Plan, told: Told) -> Losses | None:
    """Where nothing new is folded, those of the summary that stays."""
    if plan.folded:
        return losses_of(plan, told)
    return job.previous.losses if job.previous else None


def _settled(job: Job, plan: Plan, after: int) -> Plan:
    """The plan with what it really came to: the summary may be shorter than it may be."""
    overhead = job.fixed - job.waiting
    excess = max(0, after - overhead - job.budget.target)
    return replace(plan, excess=excess, advice=plan.advice if excess else ())


def _unchanged(job: Job, flow: ConversationFlow, plan: Plan, reason: str) -> Compaction:
    """What was there before, under a plan that says why nothing is done."""
    done = job.previous
    still = Plan(
        cut=job.start,
        kept=plan.kept,
        masked=done.plan.masked if done else (),
        repeated=done.plan.repeated if done else (),
        reason=reason,
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
    elif made.context_reduction < usual:
        yield (
            f"only {int(100 * made.context_reduction)}% of the context was freed, less than "
            f"{usual:.0%}: a fresh conversation may serve better"
        )
    earlier = [one for one in job.transcript.compactions if one.kind == "summary" and one.turn]
    if earlier:
        yield (
            f"{earlier[-1].by} had compacted the session before t{earlier[-1].turn}: sizes count "
            f"all turns of the file"
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
        yield f"{plan.excess:,} tokens above the target; what would help: {help_}"


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

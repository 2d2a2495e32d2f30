"""What the probes find in the summary of a compaction."""

from __future__ import annotations

from collections.abc import Sequence

from kedge.model import Plan, Probe, Summary, Verdict
from kedge.steps.anchored import newly_folded, room_of, state_of
from kedge.steps.draft import Told
from kedge.steps.job import Job
from kedge.summary import Standing
from kedge.verifying import asked, verify
from kedge.viewing import said_again


def verdict_of(
    job: Job, plan: Plan, told: Told, probes: Sequence[Probe] | None = None
) -> Verdict | None:
    """Probes from the facts of all folded turns, or those given, asked of what the agent will see.
    A style that keeps no state is asked the same."""
    if not plan.folded:
        return job.previous.verdict if job.previous else None
    state, standing = _known(job, plan, told)
    return verify(
        state,
        told.text,
        probes_for(job, plan, told, room=room_of(job, plan)) if probes is None else probes,
        standing=standing,
        beside=said_again(job.transcript, plan.repeated),
    )


def probes_for(job: Job, plan: Plan, told: Told, *, room: int) -> tuple[Probe, ...]:
    """What a summary of so many tokens is asked; with those of the compaction before."""
    state, standing = _known(job, plan, told)
    done = job.previous.verdict if job.previous else None
    return asked(
        state,
        room,
        standing=standing,
        earlier=[answer.probe for answer in done.answers] if done else (),
        since=newly_folded(job, plan),
    )


def _known(job: Job, plan: Plan, told: Told) -> tuple[Summary, Standing]:
    return state_of(job, plan) if told.state is None else (told.state, told.standing)

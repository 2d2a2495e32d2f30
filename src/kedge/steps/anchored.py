"""The style `anchored`: forced sections, from exact facts."""

from __future__ import annotations

from collections.abc import Sequence

from msgspec.structs import replace

from kedge.facts import facts_of
from kedge.model import AnyFact, Plan, Requested
from kedge.model.summary import Carried, SectionName, Summary
from kedge.steps.job import Job
from kedge.summary import Standing, handoff, merged, parse
from kedge.viewing import unwrapped, wrapped

ELSEWHERE: SectionName = "Current State"
"""Where the lines of an earlier summary go that has no sections."""


def anchored_summary(job: Job, plan: Plan) -> tuple[str, Summary]:
    """The rendering in its room, and the state behind it."""
    turns = job.transcript.turns
    first = turns[job.start].index if job.start < len(turns) else 0
    last = turns[plan.cut - 1].index
    facts = list(facts_of(job.transcript))
    folded = (fact for fact in facts if first <= fact.turn <= last)
    state = merged(earlier_state(job, plan), folded, through=last)
    count = job.counter.count
    room = plan.summary_room - count(wrapped(""))
    return handoff(state, room, count, standing=_standing(facts, last)), state


def _standing(facts: Sequence[AnyFact], last: int) -> Standing:
    """Whether the current request is among what is folded: then the view says it again."""
    asked = [f.turn for f in facts if isinstance(f, Requested) and f.scope != "step"]
    return "later" if asked and asked[-1] > last else "beside"


def earlier_state(job: Job, plan: Plan) -> Summary:
    """The state of the compaction before; or, where only its text is left, what that tells."""
    if job.previous is not None:
        return job.previous.state or told(job.previous.summary)
    for earlier in reversed(job.transcript.compactions):
        if earlier.by == "kedge" and earlier.turn < plan.cut:
            return told(unwrapped(earlier.summary))
    return Summary()


def told(text: str) -> Summary:
    """The entries of a text, each as it stands there."""
    items, _ = parse(text)
    entries = tuple(
        Carried(
            section=item.section,
            text=item.text,
            turns=item.turns,
            action=item.action,
            detail=item.detail,
            topic=item.topic,
        )
        for item in items
    )
    if not entries:
        lines = (line.removeprefix("- ") for line in text.split("\n") if line.strip())
        entries = tuple(Carried(section=ELSEWHERE, text=line) for line in lines)
    return replace(Summary(), carried=entries)

"""What is done where probes fail: put back what is missing, give the summary more room, keep more
turns as they are."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from msgspec.structs import replace

from kedge.model import ConversationFlow, Probe, Verdict
from kedge.steps.anchored import most_room, room_of
from kedge.steps.draft import Draft, Told
from kedge.steps.job import Job
from kedge.steps.plan import plan_of
from kedge.steps.summary import summary_of
from kedge.steps.verdict import probes_for, verdict_of
from kedge.summary import fit, items_of, render
from kedge.summary.items import Item
from kedge.verifying import must_be_said, wanted
from kedge.viewing import wrapped

MORE_ROOM = 2
"""For what is asked for by rank alone a summary may become so many times as long as it was meant to
be."""
SPARE = 0.01
"""Share of the window that is left free: parts that are counted apart come to a little less than
what they make together."""
MORE_TURNS = 2
"""The recent window is made so many times as long where the summary cannot say enough."""


def repaired(job: Job, flow: ConversationFlow, draft: Draft) -> Draft:
    """The best that can be done within the budget; what still fails stays in the verdict. What
    answers no probe gives way, and turns are kept, only where the summary may not stand else."""
    first = draft.verdict
    if first is None or not first.failed or not draft.plan.folded:
        return draft
    room = max(_room_for(job, draft), draft.plan.summary_room)
    best = _better(_added(job, draft, room), draft)
    if not _is_accepted(best):
        best = _better(_put_back(job, best, room), best)
    if not _is_accepted(best):
        best = _better(_keeping_more(job, flow, draft), best)
    return best._replace(verdict=_counted(job, best, first))


def _added(job: Job, draft: Draft, room: int) -> Draft | None:
    """With what answers the probes added to what is there, where the budget has room for it."""
    return _rendered(job, draft, room, added=True) if room > draft.plan.summary_room else None


def _put_back(job: Job, draft: Draft, room: int) -> Draft | None:
    """With entries that answer probes in the place of those that answer none."""
    return _rendered(job, draft, room)


def _room_for(job: Job, draft: Draft) -> int:
    """Tokens for what is asked for beside what is there.

    What every hand-off must say gets all that the target leaves, what is asked for by rank up to
    twice what was meant. What is critical gets what the window leaves: a context that can be sent
    and says what matters is worth more than a little room."""
    state, verdict, plan = draft.told.state, draft.verdict, draft.plan
    if state is None or verdict is None:
        return 0
    items = items_of(state, draft.told.standing)
    failed = [answer.probe for answer in verdict.failed]
    must = [probe for probe in failed if must_be_said(probe)]
    target = most_room(job, plan, job.budget.target)
    usable = most_room(job, plan, int(job.budget.usable * (1 - SPARE)))
    room = plan.summary_room
    rooms = [
        min(target, room + _needs(job, items, must)),
        min(target, MORE_ROOM * room, room + _needs(job, items, failed)),
    ]
    if verdict.critical_failures:
        critical = [answer.probe for answer in verdict.answers if answer.probe.critical]
        around = job.counter.count(wrapped("", job.kept_as))
        rooms.append(min(usable, around + _needs(job, items, critical)))
    return max(rooms)


def _keeping_more(job: Job, flow: ConversationFlow, draft: Draft) -> Draft | None:
    """A longer recent window, where that keeps the budget. Of what is still folded the summary is
    asked as much as before."""
    kept = sum(span.last - span.first + 1 for span in draft.plan.kept)
    longer = MORE_TURNS * max(kept, job.budget.recent_turns)
    plan = plan_of(job, flow, replace(job.budget, recent_turns=longer))
    if not plan.folded or plan.cut >= draft.plan.cut:
        return None
    if plan.summary_room > most_room(job, plan, job.budget.target):
        return None  # too little would be freed
    told = summary_of(job, flow, plan)
    probes = probes_for(job, plan, told, room=room_of(job, draft.plan))
    found = Draft(plan, told, verdict_of(job, plan, told, probes))
    return _better(_put_back(job, found, plan.summary_room), found)


def _rendered(job: Job, draft: Draft, room: int, *, added: bool = False) -> Draft | None:
    """The summary again, with what answers the probes first, or added to what is there."""
    state, standing, plan = draft.told.state, draft.told.standing, draft.plan
    if state is None or draft.verdict is None:
        return None
    probes = [one.probe for one in draft.verdict.answers]
    missing = [one.probe for one in draft.verdict.failed] if added else probes
    longer = replace(plan, summary_room=room)
    items = items_of(state, standing)
    fitted = fit(
        items,
        room_of(job, plan if added else longer),
        job.counter.count,
        wanted(items, missing),
        besides=room - plan.summary_room if added else 0,
    )
    told = Told(fitted.text, state, standing, fitted.items)
    return Draft(longer, told, verdict_of(job, longer, told, probes))


def _needs(job: Job, items: Sequence[Item], probes: Iterable[Probe]) -> int:
    """Tokens of a text that answers these probes and says nothing else."""
    asked = wanted(items, probes)
    told = (
        item if (place, True) in asked else item._replace(detail="")
        for place, item in enumerate(items)
        if (place, True) in asked or (place, False) in asked
    )
    left_out = dict(Counter(item.section for item in items))
    return job.counter.count(render(told, left_out))


def _is_accepted(draft: Draft) -> bool:
    return draft.verdict is None or draft.verdict.accepted


def _better(found: Draft | None, than: Draft) -> Draft:
    return found if found is not None and _rank(found.verdict) > _rank(than.verdict) else than


def _rank(verdict: Verdict | None) -> tuple[int, float]:
    if verdict is None:
        return (0, 0.0)
    return (-len(verdict.critical_failures), verdict.score or 0.0)


def _counted(job: Job, best: Draft, first: Verdict) -> Verdict | None:
    """With what became of the probes that failed at first: what is asked no longer is repaired
    where its turn is kept."""
    if best.verdict is None:
        return None
    passing = {answer.probe for answer in best.verdict.answers if answer.passed}
    last = job.transcript.turns[best.plan.cut - 1].index
    failed = [answer.probe for answer in first.failed]
    repaired = sum(probe in passing or probe.turn > last for probe in failed)
    return replace(best.verdict, failed_first=len(failed), repaired=repaired)

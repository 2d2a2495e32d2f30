"""Whether a model's words may stand in a summary: only where nothing becomes worse by them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from kedge.model import Fallback, Summary, Verdict, Worded
from kedge.steps.anchored import most_room, room_of
from kedge.steps.draft import Draft, Told
from kedge.steps.job import Job
from kedge.steps.verdict import verdict_of
from kedge.summary import Fitted, fit, items_of, merged
from kedge.summary.items import WORDS, Item
from kedge.verifying import wanted
from kedge.viewing import WORDED, wrapped

BEHIND_PROBES = 3
"""How urgently words are wanted where they take the place of other entries: behind all that answers
a probe."""
OF_THE_WHOLE = ("intent", "state", "next step", "question")
"""What a model says of the whole, and not of one file or decision: kept where not all fits."""


class Accepted(NamedTuple):
    draft: Draft
    taken: int = 0
    """How many of the words stand in it."""
    fallback: Fallback = ""
    why: str = ""


def accepted(job: Job, draft: Draft, worded: Sequence[Worded]) -> Accepted:
    """The summary with as many of the words as do no harm; as it was where all of them would."""
    state = draft.told.state
    if state is None:
        return Accepted(draft, fallback="no room", why="the summary has no place for words")
    worse = ""
    for words in _choices(worded):
        known = merged(state, words)
        for told in (_added(job, draft, known), _in_place(job, draft, known)):
            new = _new(told.items, draft) if told is not None else 0
            if told is None or not new:
                continue
            found = _judged(job, draft, told)
            if not (worse_now := _worse(found.verdict, draft.verdict)):
                most = _new(items_of(merged(state, worded), draft.told.standing), draft)
                return _named(Accepted(found, new), most, worse)
            worse = worse or worse_now
    return _named(Accepted(draft), len(worded), worse)


def _named(found: Accepted, most: int, worse: str) -> Accepted:
    """With why it is not all, of as many as could stand there."""
    if found.taken == most:
        return found
    which = "all of the model's words" if found.taken else "the model's words"
    if worse:
        return found._replace(fallback="probes", why=f"with {which} {worse}")
    return found._replace(fallback="no room", why=f"the budget leaves no room for {which}")


def _choices(worded: Sequence[Worded]) -> Iterator[tuple[Worded, ...]]:
    """All of the words, then fewer."""
    yield tuple(worded)
    whole = tuple(one for one in worded if one.about in OF_THE_WHOLE)
    if whole and len(whole) < len(worded):
        yield whole
    intent = tuple(one for one in whole if one.about == "intent")
    if intent and len(intent) < len(whole):
        yield intent


def _added(job: Job, draft: Draft, state: Summary) -> Told | None:
    """All facts that are there, and all words besides; none where the budget has no room."""
    told = draft.told
    shown = {_key(item): item for item in told.items}
    items = items_of(state, told.standing)
    chosen = [
        item if item.tier == WORDS else shown[_key(item)]
        for item in items
        if item.tier == WORDS or _key(item) in shown
    ]
    left = Counter(item.section for item in items if item.tier != WORDS)
    left -= Counter(item.section for item in chosen if item.tier != WORDS)
    fitted = Fitted(tuple(chosen), dict(left))
    most = max(draft.plan.summary_room, most_room(job, draft.plan, job.budget.target))
    if job.counter.count(wrapped(fitted.text, job.kept_as)) > most:
        return None
    return Told(fitted.text, state, told.standing, fitted.items)


def _in_place(job: Job, draft: Draft, state: Summary) -> Told | None:
    """The words in the place of entries that answer no probe."""
    told = draft.told
    if draft.verdict is None:
        return None
    items = items_of(state, told.standing)
    words = {(n, False): BEHIND_PROBES for n, item in enumerate(items) if item.tier == WORDS}
    asked = wanted(items, [answer.probe for answer in draft.verdict.answers])
    room = room_of(job, draft.plan) - job.counter.count(WORDED)
    fitted = fit(items, room, job.counter.count, {**words, **asked})
    return Told(fitted.text, state, told.standing, fitted.items)


def _new(items: Sequence[Item], draft: Draft) -> int:
    """Words that were not there before."""
    before = {_key(item) for item in draft.told.items}
    return sum(item.tier == WORDS and _key(item) not in before for item in items)


def _judged(job: Job, draft: Draft, told: Told) -> Draft:
    """With the same questions as before."""
    needs = job.counter.count(wrapped(told.text, job.kept_as))
    plan = replace(draft.plan, summary_room=max(draft.plan.summary_room, needs))
    probes = [answer.probe for answer in draft.verdict.answers] if draft.verdict else []
    found = verdict_of(job, plan, told, probes)
    if found is not None and draft.verdict is not None:
        done = draft.verdict
        found = replace(found, failed_first=done.failed_first, repaired=done.repaired)
    return Draft(plan, told, found)


def _worse(now: Verdict | None, before: Verdict | None) -> str:
    """What was lost, in a few words; nothing where nothing was."""
    if now is None or before is None:
        return ""
    passing = {answer.probe for answer in now.answers if answer.passed}
    lost = [one.probe for one in before.answers if one.passed and one.probe not in passing]
    if lost:
        return f"{len(lost):,} probes would fail that pass now, such as: {lost[0].question}"
    if len(now.strays) > len(before.strays):
        return f"the summary would not add up: {now.strays[0]}"
    return ""


def _key(item: Item) -> tuple[str, str, str]:
    return (item.section, item.topic, item.text)

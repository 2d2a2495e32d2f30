"""Whether a model's words may stand in a summary: only where nothing becomes worse by them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from kedge.model import Fallback, Verdict, Worded
from kedge.steps.anchored import most_room, room_of
from kedge.steps.draft import Draft, Told
from kedge.steps.job import Job
from kedge.steps.verdict import verdict_of
from kedge.summary import Fitted, fit, items_of, merged
from kedge.summary.items import Item
from kedge.verifying import wanted
from kedge.viewing import wrapped

BEHIND_PROBES = 3
"""How urgently prose is wanted where it takes the place of other entries: behind all that answers a
probe."""
OF_THE_WHOLE = ("intent", "state", "next step", "question")
"""What a model says of the whole, and not of one file or decision: kept where not all fits."""


class Accepted(NamedTuple):
    draft: Draft
    worded: tuple[Worded, ...] = ()
    """What of the words stands in it."""
    fallback: Fallback = ""
    why: str = ""


def accepted(job: Job, draft: Draft, worded: Sequence[Worded]) -> Accepted:
    """The summary with as many of the words as find room and do no harm; as it was where all of
    them would."""
    best, worse = Accepted(draft), ""
    most = _most(draft.told, worded)
    for words in _choices(worded):
        for told in (_added(job, draft, words), _in_place(job, draft, words)):
            there = _there(told.items, words) if told else ()
            if told is None or len(there) <= len(best.worded):
                continue
            found = _judged(job, draft, told)
            worse_now = _worse(found.verdict, draft.verdict)
            worse = worse or worse_now
            if not worse_now:
                best = Accepted(found, there)
            if len(best.worded) == most:
                return best
    which = "all of the model's words" if best.worded else "the model's words"
    if worse:
        return best._replace(fallback="probes", why=f"with {which} {worse}")
    return best._replace(fallback="no room", why=f"the budget leaves no room for {which}")


def _most(told: Told, words: Sequence[Worded]) -> int:
    """How many of the words a summary without a limit shows: of a file only the newest."""
    state = merged(told.state, words) if told.state else None
    return len(_there(items_of(state, told.standing), words)) if state else 0


def _there(items: Sequence[Item], words: Iterable[Worded]) -> tuple[Worded, ...]:
    """Those of the words that stand in the items."""
    texts = [f"{item.text}\n{item.detail}" for item in items]
    return tuple(one for one in words if any(one.text in text for text in texts))


def _choices(worded: Sequence[Worded]) -> Iterator[tuple[Worded, ...]]:
    """All of the words, then fewer."""
    yield tuple(worded)
    whole = tuple(one for one in worded if one.about in OF_THE_WHOLE)
    if whole and len(whole) < len(worded):
        yield whole
    intent = tuple(one for one in whole if one.about == "intent")
    if intent and len(intent) < len(whole):
        yield intent


def _added(job: Job, draft: Draft, words: Sequence[Worded]) -> Told | None:
    """All that is there, and the words besides; none where the budget has no room for them."""
    told = draft.told
    if told.state is None:
        return None
    state = merged(told.state, words)
    shown = {_key(item): bool(item.detail) for item in told.items}
    before = {_key(item): item.detail for item in items_of(told.state, told.standing)}
    items = items_of(state, told.standing)
    chosen = [item for item in items if _key(item) in shown or _key(item) not in before]
    bare = {key for key, detailed in shown.items() if not detailed and before.get(key)}
    fitted = Fitted(
        tuple(item._replace(detail="") if _key(item) in bare else item for item in chosen),
        dict(Counter(item.section for item in items) - Counter(item.section for item in chosen)),
    )
    most = max(draft.plan.summary_room, most_room(job, draft.plan, job.budget.target))
    if job.counter.count(wrapped(fitted.text, job.kept_as)) > most:
        return None
    return Told(fitted.text, state, told.standing, fitted.items)


def _in_place(job: Job, draft: Draft, words: Sequence[Worded]) -> Told | None:
    """The words in the place of entries that answer no probe."""
    told = draft.told
    if told.state is None or draft.verdict is None:
        return None
    state = merged(told.state, words)
    items = items_of(state, told.standing)
    asked = wanted(items, [answer.probe for answer in draft.verdict.answers])
    urgent = {**_prose(items, items_of(told.state, told.standing)), **asked}
    fitted = fit(items, room_of(job, draft.plan), job.counter.count, urgent)
    return Told(fitted.text, state, told.standing, fitted.items)


def _prose(items: Sequence[Item], before: Iterable[Item]) -> dict[tuple[int, bool], int]:
    """What is new in the items, as it is wanted."""
    known = {_key(item): item.detail for item in before}
    return {
        (place, _key(item) in known): BEHIND_PROBES
        for place, item in enumerate(items)
        if known.get(_key(item)) != item.detail
    }


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

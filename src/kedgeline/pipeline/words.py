"""A model's words on top of the summary that code has made: only where nothing becomes worse."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

from msgspec.structs import replace

from kedgeline.errors import BadSettings
from kedgeline.model import Ask, Fallback, Step, Summary, Verdict, Worded, Wording
from kedgeline.model.ask import words_of
from kedgeline.models import (
    TERMS,
    AsyncModel,
    Meter,
    Model,
    ModelPatience,
    Terms,
    guarded_step,
    name_of,
)
from kedgeline.pipeline.asking import (
    PROBLEM,
    Checked,
    Material,
    Request,
    WrittenProse,
    ask_of,
    asked_again,
    checked_words,
    material_of,
    prose_asked,
    request_for,
)
from kedgeline.pipeline.draft import (
    Draft,
    Told,
    earlier_state,
    most_room,
    newly_folded,
    room_of,
    verdict_of,
)
from kedgeline.pipeline.handoff import wanted
from kedgeline.pipeline.job import Job
from kedgeline.pipeline.view import WORDED, wrapped
from kedgeline.redact import Redactor
from kedgeline.summary import Fitted, fit, handoff, items_of, merged, render, story_of
from kedgeline.summary.state import WORDS, Item
from kedgeline.text.shortening import shortened
from kedgeline.tokens import EXACT

BEHIND_PROBES = 3
"""How urgently words are wanted where they take the place of other entries: behind all that answers
a probe."""


class Accepted(NamedTuple):
    draft: Draft
    taken: int = 0
    """How many of the words stand in it."""
    fallback: Fallback = ""
    why: str = ""


def accepted(job: Job, draft: Draft, worded: Sequence[Worded]) -> Accepted:
    """The summary with the words: added to what is there, or else in the place of entries that
    answer no probe; as it was where both do harm."""
    state = draft.told.state
    if state is None:
        return Accepted(draft, fallback="no room", why="the summary has no place for words")
    known, worse = merged(state, worded), ""
    most = _new(items_of(known, draft.told.standing), draft)
    for told in (_added(job, draft, known), _in_place(job, draft, known)):
        if told is None or not (taken := _new(told.items, draft)):
            continue
        found = _judged(job, draft, told)
        if not (worse_now := _worse(found.verdict, draft.verdict)):
            if taken == most:
                return Accepted(found, taken)
            return Accepted(found, taken, "no room", "the budget has no room for all of them")
        worse = worse or worse_now
    if worse:
        return Accepted(draft, 0, "probes", f"with the model's words {worse}")
    return Accepted(draft, 0, "no room", "the budget has no room for the model's words")


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
    chosen += [item for item in told.items if item.section == "Story"]
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
    needed = wanted(items, [answer.probe for answer in draft.verdict.answers], story_of(state))
    room = room_of(job, draft.plan) - job.counter.count(WORDED)
    fitted = fit(items, room, job.counter.count, {**words, **needed}, story=story_of(state))
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


def _key(item: Item) -> tuple[str, str]:
    return (item.section, item.text)


# What a model is asked: the turns that are newly folded, as the summary tells them in its window.

HEADINGS = ("Session Intent", "Current State", "Next Steps")
"""Sections of the earlier summary that a model is told, so that it goes on from there."""
REPLY_TOKENS = 1_500
"""Of one reply: all that may be written, with the JSON around it."""
REPLY_SHARE = 4
"""In a small window a reply gets one part in so many."""
KNOWN = 300
"""Tokens of what is known already, at the most."""
LEAST_ROOM = 200
"""Tokens in which turns can be told."""
TOKENS_A_LINE = 200
"""Of the window, for one more file in the list of them."""
SLACK = 60
"""Tokens by which a request may differ from what was counted: codes on fences, joints of texts."""
DROPPED_SHOWN = 100
"""Things that were not taken that a record names: more than a person reads."""


def material_for(job: Job, draft: Draft, window: int) -> tuple[Material, Request[WrittenProse]]:
    """What a model with such a window is told of the turns that are newly folded, and asked."""
    count, plan = job.counter.count, draft.plan
    facts = newly_folded(job, plan)
    earlier = items_of(earlier_state(job, plan), "later")
    known = render([item for item in earlier if item.section in HEADINGS]) if earlier else ""
    material = material_of(
        facts,
        job.transcript.turns[job.start].index,
        job.transcript.turns[plan.cut - 1].index,
        known=shortened(known, room=KNOWN, count=count),
        most=window // TOKENS_A_LINE,
    )
    reply_tokens = min(REPLY_TOKENS, window // REPLY_SHARE)
    bare = asked_again(ask_of(request_for(material, reply_tokens)), "wrong " * (PROBLEM // 6))
    room = window - reply_tokens - count(words_of(bare)) - SLACK
    if room < LEAST_ROOM:
        raise BadSettings(
            "the window of the model",
            f"{window:,} tokens leave no room for turns after the prompt and the reply; use a "
            "model with a larger window, or none",
        )
    text = handoff(merged(Summary(), facts, through=material.last), room, count)
    material = material._replace(turns=shortened(text, room=room, count=count))
    return material, request_for(material, reply_tokens)


@dataclass(frozen=True)
class ModelWriter:
    """A model by its name, and how it is asked. The model itself is with whoever runs the step."""

    name: str
    meter: Meter
    """What it uses, and may use."""
    clean: Callable[[str], str]
    """Takes secrets out of all that is sent."""
    terms: Terms = TERMS
    clock: Callable[[], float] = time.monotonic

    @cached_property
    def patience(self) -> ModelPatience:
        """One for all that it writes: a compaction that begins again has no new time."""
        return ModelPatience(self.terms, model=self.clean(self.name), clock=self.clock)

    def words(self, job: Job, draft: Draft) -> Step[Draft]:
        """The draft with what the model says of the newly folded turns, where nothing becomes worse
        by it. Whatever happens to the model, the draft stands; what happened is in its
        `wording`."""
        if not draft.plan.folded or draft.told.state is None:
            return draft
        name, asked_before = self.clean(self.name), len(self.meter.calls)
        try:
            material, request = material_for(job, draft, self.terms.window)
        except BadSettings as error:  # a compaction may not fail by it
            return draft._replace(wording=Wording(model=name, fallback="failed", why=str(error)))
        reply = yield from guarded_step(
            prose_asked(request),
            self.terms,
            model=name,
            clean=self.clean,
            meter=self.meter,
            clock=self.clock,
            patience=self.patience,
        )
        said = checked_words(reply.value, material) if reply.value is not None else Checked()
        if reply.value is None:
            found = Accepted(draft, 0, reply.kind, reply.problem)
        elif said.worded:
            found = accepted(job, draft, said.worded)
        elif said.dropped:
            found = Accepted(draft, 0, "unsupported", "nothing of what it wrote may be taken")
        else:
            found = Accepted(draft, 0, "empty", "every text of its reply is empty")
        wording = Wording(
            model=reply.model or name,
            taken=found.taken,
            fallback=found.fallback,
            why=found.why,
            not_taken=len(said.dropped),
            dropped=said.dropped[:DROPPED_SHOWN],
            calls=tuple(self.meter.calls[asked_before:]),
            prompts=reply.prompts,
        )
        return found.draft._replace(wording=wording)


@dataclass(frozen=True)
class Rehearsal:
    """Asks nobody, and knows then what a model would be sent."""

    terms: Terms = TERMS
    clean: Callable[[str], str] = str
    asks: list[Ask] = field(default_factory=list)

    def words(self, job: Job, draft: Draft) -> Step[Draft]:
        if draft.plan.folded and draft.told.state is not None:
            ask = ask_of(material_for(job, draft, self.terms.window)[1])
            self.asks[:] = [
                replace(ask, system=self.clean(ask.system), prompt=self.clean(ask.prompt))
            ]
        return draft
        yield  # it is a step like the other, and asks nothing


def writer_for(
    model: Model | AsyncModel, terms: Terms | None, redactor: Redactor | None
) -> ModelWriter:
    """One without a session behind it: what it uses is counted from nothing."""
    terms = terms or TERMS
    meter = Meter(terms, count=EXACT.count)
    return ModelWriter(name_of(model), meter, cleaning(redactor), terms)


def rehearsal_for(terms: Terms | None, redactor: Redactor | None) -> Rehearsal:
    return Rehearsal(terms or TERMS, cleaning(redactor))


def cleaning(redactor: Redactor | None) -> Callable[[str], str]:
    return str if redactor is None else redactor.clean

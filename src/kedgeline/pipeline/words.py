"""Whether a model's words may stand in a summary: only where nothing becomes worse by them."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple, TypedDict

from msgspec.structs import replace

from kedgeline.errors import BadSettings
from kedgeline.model import (
    AnyFact,
    Ask,
    Fallback,
    Step,
    Summary,
    Verdict,
    Worded,
    Wording,
)
from kedgeline.models import TERMS, AsyncModel, Meter, Model, Patience, Terms, guarded, name_of
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
from kedgeline.pipeline.job import ConversationFlow, Job
from kedgeline.pipeline.view import WORDED, wrapped
from kedgeline.prose.material import Packet, Sources, Written, sources_of
from kedgeline.prose.writing import packets_of, requests_of, write
from kedgeline.redact import Redactor
from kedgeline.summary import Fitted, facts_in, fit, items_of, merged, render, story_of
from kedgeline.summary.state import WORDS, Item
from kedgeline.tokens import EXACT

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
    asked = wanted(items, [answer.probe for answer in draft.verdict.answers], story_of(state))
    room = room_of(job, draft.plan) - job.counter.count(WORDED)
    fitted = fit(items, room, job.counter.count, {**words, **asked}, story=story_of(state))
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


# A model's words on top of the summary that code has made.

HEADINGS = ("Session Intent", "Current State", "Next Steps")
"""Sections of the earlier summary that a model is told, so that it goes on from there."""
BY_TOOLS = ("Current State", "Error Context", "Index")
"""Sections of the earlier summary in which words of tools stand: what they demand nobody said."""
REPLY_TOKENS = 1_500
"""Of one reply: all that may be written, with the JSON around it."""
REPLY_SHARE = 4
"""In a small window a reply gets one part in so many."""
DROPPED_SHOWN = 100
"""Things that were not taken that a record names: more than a person reads."""


class _Material:
    """What a model is given of the turns that are newly folded."""

    def __init__(self, job: Job, flow: ConversationFlow, draft: Draft, window: int) -> None:
        self._facts = newly_folded(job, draft.plan)
        self._turns = [
            turn for turn in job.transcript.turns[job.start : draft.plan.cut] if not turn.is_blank
        ]
        before = earlier_state(job, draft.plan)
        self._before = facts_in(before)
        earlier = items_of(before, "later")
        self._known = render([item for item in earlier if item.section not in BY_TOOLS])
        self._reported = render([item for item in earlier if item.section in BY_TOOLS])
        told = [item for item in earlier if item.section in HEADINGS]
        reply = min(REPLY_TOKENS, window // REPLY_SHARE)
        self._request: _Request = {
            "headings": render(told) if earlier else "",
            "reply_tokens": reply,
            "count": job.counter.count,
        }
        self._packets = packets_of(
            self._turns,
            self._facts,
            {anchor.turn_index for anchor in flow.anchor_points},
            headings=self._request["headings"],
            window=window - reply,
            count=job.counter.count,
        )

    def writing(self) -> Step[Written]:
        return write(self._packets, sources=self._sources, facts=self._facts_of, **self._request)

    def requests(self) -> tuple[Ask, ...]:
        return requests_of(self._packets, **self._request)

    def _sources(self, packet: Packet) -> Sources:
        own = [fact for fact in self._facts if packet.first <= fact.turn <= packet.last]
        turns = [turn for turn in self._turns if packet.first <= turn.index <= packet.last]
        return sources_of(turns, own, self._known, self._reported)

    def _facts_of(self, packet: Packet) -> Sequence[AnyFact]:
        """Up to the end of the packet, also of turns that were folded before: what holds in it may
        have happened then."""
        return [*self._before, *(fact for fact in self._facts if fact.turn <= packet.last)]


class _Request(TypedDict):
    headings: str
    reply_tokens: int
    count: Callable[[str], int]


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
    def patience(self) -> Patience:
        """One for all that it writes: a compaction that begins again has no new time."""
        return Patience(self.terms, model=self.clean(self.name), clock=self.clock)

    def words(self, job: Job, flow: ConversationFlow, draft: Draft) -> Step[Draft]:
        """The draft with what the model says of the newly folded turns, where nothing becomes worse
        by it. Whatever happens to the model, the draft stands; what happened is in its
        `wording`."""
        if not draft.plan.folded or draft.told.state is None:
            return draft
        name, asked_before = self.clean(self.name), len(self.meter.calls)
        try:
            writing = _Material(job, flow, draft, self.terms.window).writing()
        except BadSettings as error:  # a window that holds nothing: a compaction may not fail by it
            return draft._replace(wording=Wording(model=name, fallback="failed", why=str(error)))
        written = yield from guarded(
            writing,
            self.terms,
            model=name,
            clean=self.clean,
            meter=self.meter,
            clock=self.clock,
            patience=self.patience,
        )
        wording = Wording(
            model=written.model or name,
            calls=tuple(self.meter.calls[asked_before:]),
            fallback=written.fallback,
            why=written.why,
            not_taken=len(written.dropped),
            dropped=written.dropped[:DROPPED_SHOWN],
            requests=written.requests,
            prompts=written.prompts,
        )
        if written.worded:
            found = accepted(job, draft, written.worded)
            draft = found.draft
            why = "; ".join(filter(None, (wording.why, found.why)))
            fallback = found.fallback or wording.fallback
            wording = replace(wording, taken=found.taken, fallback=fallback, why=why)
        return draft._replace(wording=wording)


@dataclass(frozen=True)
class Rehearsal:
    """Asks nobody, and knows then what a model would be sent, if it replies to every part."""

    terms: Terms = TERMS
    clean: Callable[[str], str] = str
    asks: list[Ask] = field(default_factory=list)

    def words(self, job: Job, flow: ConversationFlow, draft: Draft) -> Step[Draft]:
        if draft.plan.folded and draft.told.state is not None:
            self.asks[:] = [
                replace(one, system=self.clean(one.system), prompt=self.clean(one.prompt))
                for one in _Material(job, flow, draft, self.terms.window).requests()
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

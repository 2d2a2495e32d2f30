"""A model's words on top of the summary that code has made."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from msgspec.structs import replace

from kedge.errors import BadSettings
from kedge.model import AnyFact, Ask, ConversationFlow, Step, Turn, Wording
from kedge.models import Meter, Patience, Terms, guarded
from kedge.steps.accepting import accepted
from kedge.steps.anchored import earlier_state, newly_folded
from kedge.steps.draft import Draft
from kedge.steps.job import Job
from kedge.summary import facts_in, items_of, render
from kedge.summary.items import Item
from kedge.wording import Packet, Sources, Written, packets_of, requests_of, sources_of, write

HEADINGS = ("Session Intent", "Current State", "Next Steps")
"""Sections of the earlier summary that a model is told, so that it goes on from there."""
BY_TOOLS = ("Current State", "Error Context", "Index")
"""Sections of the earlier summary in which words of tools stand: what they demand nobody said."""
REPLY_TOKENS = 1_500
"""Of one reply: all that may be written, with the JSON around it."""
DROPPED_SHOWN = 100
"""Things that were not taken that a record names: more than a person reads."""
REPLY_SHARE = 4
"""In a small window a reply gets one part in so many."""


def worded(
    job: Job,
    flow: ConversationFlow,
    draft: Draft,
    *,
    name: str,
    terms: Terms,
    meter: Meter,
    clean: Callable[[str], str],
    clock: Callable[[], float],
    patience: Patience,
) -> Step[Draft]:
    """The draft with what the model of this name says of the newly folded turns, where nothing
    becomes worse by it. Whatever happens to the model, the draft stands; what happened is in its
    `wording`."""
    if not draft.plan.folded or draft.told.state is None:
        return draft
    asked_before = len(meter.calls)
    try:
        material = _Material(job, flow, draft, terms.window)
    except BadSettings as error:  # a window that holds nothing: a compaction is not to fail by it
        return draft._replace(wording=Wording(model=name, fallback="failed", why=str(error)))
    written = yield from guarded(
        material.writing(),
        terms,
        model=name,
        clean=clean,
        meter=meter,
        clock=clock,
        patience=patience,
    )
    calls = tuple(meter.calls[asked_before:])
    return _taken(job, draft, written, Wording(model=name, calls=calls))


def requests_for_words(
    job: Job, flow: ConversationFlow, draft: Draft, *, terms: Terms, clean: Callable[[str], str]
) -> list[Ask]:
    """What would be sent, where every part is replied to."""
    if not draft.plan.folded or draft.told.state is None:
        return []
    asks = _Material(job, flow, draft, terms.window).requests()
    return [replace(one, system=clean(one.system), prompt=clean(one.prompt)) for one in asks]


def _taken(job: Job, draft: Draft, written: Written, wording: Wording) -> Draft:
    wording = replace(
        wording,
        model=written.model or wording.model,
        fallback=written.fallback,
        why=written.why,
        not_taken=len(written.dropped),
        dropped=written.dropped[:DROPPED_SHOWN],
        requests=written.requests,
        prompts=written.prompts,
    )
    if not written.worded:
        return draft._replace(wording=wording)
    found = accepted(job, draft, written.worded)
    fallback = found.fallback or wording.fallback
    why = "; ".join(filter(None, (wording.why, found.why)))
    wording = replace(wording, taken=found.taken, fallback=fallback, why=why)
    return found.draft._replace(wording=wording)


class _Material:
    """What a model is given of the turns that are newly folded."""

    def __init__(self, job: Job, flow: ConversationFlow, draft: Draft, window: int) -> None:
        self._count = job.counter.count
        self._facts = newly_folded(job, draft.plan)
        self._turns = [
            turn for turn in job.transcript.turns[job.start : draft.plan.cut] if not turn.is_blank
        ]
        before = earlier_state(job, draft.plan)
        self._before = facts_in(before)
        earlier = items_of(before, "later")
        self._known = render([item for item in earlier if item.section not in BY_TOOLS])
        self._reported = render([item for item in earlier if item.section in BY_TOOLS])
        self._headings = _headings(earlier)
        self._reply = min(REPLY_TOKENS, window // REPLY_SHARE)
        self._packets = packets_of(
            self._turns,
            self._facts,
            {anchor.turn_index for anchor in flow.anchor_points},
            headings=self._headings,
            window=window - self._reply,
            count=self._count,
        )

    def writing(self) -> Step[Written]:
        return write(
            self._packets,
            sources=self._sources,
            facts=self._facts_of,
            headings=self._headings,
            reply_tokens=self._reply,
            count=self._count,
        )

    def requests(self) -> tuple[Ask, ...]:
        return requests_of(
            self._packets,
            headings=self._headings,
            reply_tokens=self._reply,
            count=self._count,
        )

    def _sources(self, packet: Packet) -> Sources:
        own = [fact for fact in self._facts if packet.first <= fact.turn <= packet.last]
        return sources_of(self._turns_of(packet), own, self._known, self._reported)

    def _turns_of(self, packet: Packet) -> list[Turn]:
        return [turn for turn in self._turns if packet.first <= turn.index <= packet.last]

    def _facts_of(self, packet: Packet) -> Sequence[AnyFact]:
        """Up to the end of the packet, also of turns that were folded before: what holds in it may
        have happened then."""
        newly = (fact for fact in self._facts if fact.turn <= packet.last)
        return [*self._before, *newly]


def _headings(items: Sequence[Item]) -> str:
    return render([item for item in items if item.section in HEADINGS]) if items else ""

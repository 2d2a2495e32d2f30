"""A compaction on its way: what is planned, what is told, what the probes found."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, Protocol

from msgspec.structs import replace

from kedgeline.model import (
    AnyFact,
    Compaction,
    Entry,
    Level,
    Losses,
    Lost,
    Plan,
    Probe,
    Rendition,
    Requested,
    SectionName,
    Step,
    Summary,
    Transcript,
    Turn,
    Verdict,
    Wording,
)
from kedgeline.pipeline.handoff import asked, must_be_said, verify, wanted
from kedgeline.pipeline.job import ConversationFlow, Job, plan_of
from kedgeline.pipeline.view import earlier_summary, said_again, told, view, wrapped
from kedgeline.planning import POLICY, SUMMARY_OF_SPAN
from kedgeline.summary import Standing, as_entry, entries_of, items_of, levels_of, story_of
from kedgeline.summary import fit as fitting_fit
from kedgeline.summary import merged as state_merged
from kedgeline.summary import render as markdown_render
from kedgeline.summary.state import WORDS, Item
from kedgeline.summary.story import Raise, line_position
from kedgeline.text.prose import plain
from kedgeline.tokens import tokens_of


class Told(NamedTuple):
    text: str
    """What the agent reads."""
    state: Summary | None = None
    """All that is known of the folded turns."""
    standing: Standing = "beside"
    """Where the current request stands verbatim."""
    items: tuple[Item, ...] = ()
    """What the text is made of, for the style `anchored`."""


class Draft(NamedTuple):
    plan: Plan
    told: Told
    verdict: Verdict | None = None
    """None where nothing new is folded."""
    wording: Wording | None = None
    """What a model made of it, where one was asked."""


class Writer(Protocol):
    """Whoever puts words on top of a draft, and never makes it worse."""

    def words(self, job: Job, draft: Draft) -> Step[Draft]: ...


# How much of each turn stands in the rebuilt context.


def renditions_of(turns: Sequence[Turn], plan: Plan, told: Told) -> tuple[Rendition, ...]:
    """Every turn once, neighbours of one level together: the kept ones are messages, the folded
    ones as far as the text tells them."""
    levels = levels_of(told.state, told.items) if told.state is not None else {}
    shortened = {one.turn for one in plan.masked}
    return tuple(_together(turns, plan.cut, shortened, levels))


def _together(
    turns: Sequence[Turn], cut: int, shortened: set[int], levels: dict[int, Level]
) -> Iterator[Rendition]:
    found: Rendition | None = None
    for place, turn in enumerate(turns):
        level: Level = "whole"
        if place < cut:
            level = levels.get(turn.index, "mention")
        elif turn.index in shortened:
            level = "outputs shortened"
        if found is not None and found.level == level:
            tokens = found.tokens + turn.tokens
            found = Rendition(first=found.first, last=turn.index, level=level, tokens=tokens)
            continue
        if found is not None:
            yield found
        found = Rendition(first=turn.index, last=turn.index, level=level, tokens=turn.tokens)
    if found is not None:
        yield found


# The loss report: what is known of the folded turns and does not stand in the text.

_MARKS = re.compile(r"\[t[\dt, -]{1,200}\]")
NAMED = 12
"""Entries that are told by name: a screen of them."""


def losses_of(plan: Plan, told: Told) -> Losses | None:
    """None where nothing is known of what is folded."""
    if told.state is None:
        return None
    shown, items = _shown_by_head(told), _known_items(told)
    gone = left_out(told)
    folded = sum(span.last - span.first + 1 for span in plan.folded)
    return Losses(
        turns=folded,
        tokens=sum(span.tokens for span in plan.folded),
        earlier=max(0, told.state.through + 1 - folded),
        left_out=dict(Counter(item.section for item in gone)),
        undetailed=sum(
            _is_bare(item, shown.get((item.section, plain(item.text)))) for item in items
        ),
        named=tuple(
            Lost(
                section=item.section,
                text=item.text,
                turn=max(item.turns, default=-1),
            )
            for item in gone[:NAMED]
        ),
    )


def left_out(told: Told) -> list[Item]:
    """All that is known and does not stand in the text, the most salient first."""
    shown = Counter((one.section, _head(one.section, one.text)) for one in _shown(told))
    gone = []
    for item in _known_items(told):
        head = (item.section, _head(item.section, item.text))
        if shown[head]:
            shown[head] -= 1
        else:
            gone.append(item)
    return sorted(gone, key=lambda item: (item.tier, -item.worth))


def _known_items(told: Told) -> list[Item]:
    state = told.state or Summary()
    return [item for item in items_of(state, told.standing) if item.tier != WORDS]


def _shown_by_head(told: Told) -> dict[tuple[SectionName, str], Entry]:
    return {(one.section, _head(one.section, one.text)): one for one in _shown(told)}


def _shown(told: Told) -> Iterable[Entry]:
    """What stands in the text: as it was put there, or else as it reads."""
    return map(as_entry, told.items) if told.items else entries_of(told.text)


def _is_bare(item: Item, there: Entry | None) -> bool:
    """Whether a file stands in the table with nothing but the turns it was changed in."""
    if item.section != "Files Modified" or there is None or not item.detail:
        return False
    return not _MARKS.sub("", there.detail).strip()


def _head(section: SectionName, text: str) -> str:
    """What an entry is about, without the reason that stands behind a file that was read."""
    return plain(text.partition(": ")[0] if section == "Files Read (Not Modified)" else text)


# The style `anchored`: forced sections, from exact facts.


def anchored_summary(job: Job, plan: Plan, state: Summary, standing: Standing) -> Told:
    """The rendering in its room, and the state behind it."""
    items, room = items_of(state, standing), room_of(job, plan)
    fitted = fitting_fit(items, room, job.counter.count, story=story_of(state))
    return Told(fitted.text, state, standing, fitted.items)


def around_of(job: Job) -> int:
    """Tokens of what stands around the text."""
    return job.counter.count(wrapped("", job.kept_as))


def room_of(job: Job, plan: Plan) -> int:
    """Tokens of the text alone."""
    return plan.summary_room - around_of(job)


def most_room(job: Job, plan: Plan, limit: int) -> int:
    """Tokens the summary may have where all together may have so many."""
    room = job.room(plan.tokens_before) if limit == job.budget.target else limit - job.waiting
    span = sum(one.tokens for one in plan.folded) + job.earlier
    return min(room - plan.tokens_kept, int(SUMMARY_OF_SPAN * span))


def _state_of(job: Job, plan: Plan) -> tuple[Summary, Standing]:
    """The earlier state with the facts of the turns that are newly folded. Whether the current
    request is among what is folded: then the view says it again."""
    last = job.transcript.turns[plan.cut - 1].index
    state = state_merged(earlier_state(job, plan), newly_folded(job, plan), through=last)
    asked = [f.turn for f in job.facts if isinstance(f, Requested) and f.scope != "step"]
    return state, "later" if asked and asked[-1] > last else "beside"


def newly_folded(job: Job, plan: Plan) -> list[AnyFact]:
    turns = job.transcript.turns
    first = turns[job.start].index if job.start < len(turns) else 0
    last = turns[plan.cut - 1].index
    return [fact for fact in job.facts if first <= fact.turn <= last]


def earlier_state(job: Job, plan: Plan) -> Summary:
    """The state of the compaction before; or, where only its text is left, what that tells."""
    if job.previous is not None:
        return job.previous.state or told(job.previous.summary)
    return earlier_summary(job.transcript, before=plan.cut)


# What the probes find in the summary of a compaction.


def verdict_of(
    job: Job, plan: Plan, told: Told, probes: Sequence[Probe] | None = None
) -> Verdict | None:
    """Probes from the facts of the folded turns, or those given, asked of what the agent sees."""
    if not plan.folded:
        return job.previous.verdict if job.previous else None
    return verify(
        told.state or Summary(),
        told.text,
        probes_for(job, plan, told, room=room_of(job, plan)) if probes is None else probes,
        standing=told.standing,
        beside=said_again(job.transcript, plan.repeated),
    )


def probes_for(job: Job, plan: Plan, told: Told, *, room: int) -> tuple[Probe, ...]:
    """What a summary of so many tokens is asked; with those of the compaction before."""
    done = job.previous.verdict if job.previous else None
    probes = asked(
        told.state or Summary(),
        room,
        standing=told.standing,
        earlier=[answer.probe for answer in done.answers] if done else (),
        since=newly_folded(job, plan),
    )
    if job.style == "outcomes":
        from kedgeline.pipeline.outcomes import of_outcomes

        return of_outcomes(probes)
    return probes


# The summary of a compaction, in one of its styles.


def summary_of(job: Job, flow: ConversationFlow, plan: Plan) -> Told:
    """What stands for all folded turns: the earlier summary and what is new, merged, never made
    anew. Where nothing is folded it is what it was."""
    if not plan.folded:
        done = job.previous
        return Told(done.summary, done.state) if done else Told("")
    state, standing = _state_of(job, plan)
    if job.style == "anchored":
        return anchored_summary(job, plan, state, standing)
    from kedgeline.pipeline.outcomes import outcomes

    last = job.transcript.turns[plan.cut - 1].index
    whole = state_merged(state, [fact for fact in job.facts if fact.turn > last])
    known = (*(job.previous.anchors if job.previous else ()), *flow.anchor_points)
    room = room_of(job, plan)
    text = outcomes(state, known, room, job.counter.count, whole=whole, kept_from=last + 1)
    return Told(text, state, standing)


# What is done where probes fail: give the summary more room, which turns that would stay have to
# give up where it may not stand else, and put back what is missing.

MORE_ROOM = 2
"""For what is asked for by rank alone a summary may become so many times as long as it was meant to
be."""
MOST_OF_TARGET = 0.5
"""Share of the target that a summary may take from turns that would stay."""
SPARE = 0.01
"""Share of the window that is left free: parts that are counted apart come to a little less than
what they make together."""


def repaired(job: Job, flow: ConversationFlow, draft: Draft) -> Draft:
    """The best that can be done within the budget; what still fails stays in the verdict. Turns,
    and what answers no probe, give way only where the summary may not stand else."""
    first = draft.verdict
    if first is None or not first.failed or job.style != "anchored" or not draft.plan.folded:
        return draft
    if not _is_accepted(draft):
        draft = _better(_folding_more(job, flow, _Repair(job, draft)), draft)
    repair = _Repair(job, draft)
    room = repair.room()
    best = draft
    if (besides := room - draft.plan.summary_room) > 0:
        best = _better(repair.rendered(room, repair.failed, besides=besides), draft)
    for probes in (repair.must, repair.asked):
        if not _is_accepted(best):
            best = _better(repair.rendered(room, probes), best)
    return best._replace(verdict=_counted(job, best, first))


def _folding_more(job: Job, flow: ConversationFlow, repair: _Repair) -> Draft | None:
    """Fewer turns kept, where what the summary must say takes more than they leave."""
    needs = around_of(job) + repair.needs(repair.must)
    room = min(needs, int(job.budget.target * MOST_OF_TARGET))
    if room <= most_room(job, repair.plan, job.budget.target):
        return None
    plan = plan_of(job, flow, replace(job.budget, summary=room))
    told = summary_of(job, flow, plan)
    return Draft(plan, told, verdict_of(job, plan, told)) if plan.folded else None


class _Repair:
    """What a draft could say, and what its probes ask."""

    def __init__(self, job: Job, draft: Draft) -> None:
        self._job, self.plan = job, draft.plan
        self._state, self._standing = draft.told.state or Summary(), draft.told.standing
        self._items, self._story = items_of(self._state, self._standing), story_of(self._state)
        answers = draft.verdict.answers if draft.verdict else ()
        self.asked = [one.probe for one in answers]
        self.failed = [one.probe for one in answers if not one.passed]
        self.must = [probe for probe in self.asked if must_be_said(probe)]

    def needs(self, probes: Iterable[Probe]) -> int:
        """Tokens of a text that answers these probes and says nothing else."""
        asked = wanted(self._items, probes, self._story)
        told = [
            item.raised(item.rungs - 1 if (place, True) in asked else 0)
            for place, item in enumerate(self._items)
            if (place, True) in asked or (place, False) in asked
        ]
        told += self._story.items(
            Raise(line, 0, 0.0)
            for line in range(len(self._story.lines))
            if (line_position(line), False) in asked
        )
        return self._job.counter.count(markdown_render(told, len(self._items)))

    def room(self) -> int:
        """Tokens for what is asked for beside what is there.

        What every hand-off must say gets all that the target leaves, what is asked for by rank up
        to twice what was meant. What is critical gets what the window leaves: a context that can be
        sent and says what matters is worth more than a little room."""
        job, room = self._job, self.plan.summary_room
        target = most_room(job, self.plan, job.budget.target)
        rooms = [
            room,
            min(target, room + self.needs(filter(must_be_said, self.failed))),
            min(target, MORE_ROOM * room, room + self.needs(self.failed)),
        ]
        if any(probe.critical for probe in self.failed):
            usable = most_room(job, self.plan, int(job.budget.usable * (1 - SPARE)))
            critical = (probe for probe in self.asked if probe.critical)
            rooms.append(min(usable, around_of(job) + self.needs(critical)))
        return max(rooms)

    def rendered(self, room: int, probes: Sequence[Probe], *, besides: int = 0) -> Draft:
        """The summary again, with what answers these probes first; or, in so many tokens of the
        room, besides what is there."""
        job, longer = self._job, replace(self.plan, summary_room=room)
        fitted = fitting_fit(
            self._items,
            room_of(job, longer) - besides,
            job.counter.count,
            wanted(self._items, probes, self._story),
            besides=besides,
            story=self._story,
        )
        told = Told(fitted.text, self._state, self._standing, fitted.items)
        return Draft(longer, told, verdict_of(job, longer, told, self.asked))


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


# The record of a compaction: measured on the rebuilt context, with what there is to say of it.

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
    return job.fixed + sum(_tokens_of(turn, job) for turn in transcript.turns)


def _tokens_of(turn: Turn, job: Job) -> int:
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

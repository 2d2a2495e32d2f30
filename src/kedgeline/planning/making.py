"""Making a plan: mask, fold, shorten, until the budget is kept or no step is left."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple

from kedgeline.model import Anchor, Budget, Masked, Plan, Repeat, Span, Turn
from kedgeline.planning.masking import FILE, giants, maskable
from kedgeline.planning.rules import EVERYWHERE, REACH, Repeats, Rule, forbidden, request_from
from kedgeline.tokens import Estimate

# Where to cut: so that as much stays as should, on an anchor where one is near.


class Cut(NamedTuple):
    position: int
    """Turns before it are folded."""
    anchor: Anchor | None = None
    held: str = ""
    """Why it is not at the position that was looked for: what may not be parted there."""


class Sizes:
    """Tokens of any run of turns, after one pass."""

    def __init__(self, turns: Sequence[Turn]) -> None:
        self._sums = [0, *accumulate(turn.tokens for turn in turns)]

    def between(self, first: int, end: int) -> int:
        return self._sums[end] - self._sums[first] if end > first else 0


class Bounds(NamedTuple):
    """Between which positions the cut may move."""

    start: int
    """Turns before it were folded earlier."""
    latest: int
    """Where the turns begin that stay whatever they cost."""


def bounds(turns: Sequence[Turn], budget: Budget, *, start: int = 0) -> Bounds:
    end = len(turns)
    return Bounds(start, max(start, min(end - budget.recent_turns, _in_flight(turns))))


def cuts_from(
    first: int, anchors: Mapping[int, Anchor], bounds: Bounds, forbidden: Mapping[int, str]
) -> Iterator[Cut]:
    """The cuts from a position on that the provider's rules allow; where there is none, the last
    before it. No more than `REACH` cuts in a row are forbidden, so that the way is short."""
    first = min(max(first, bounds.start + 1), bounds.latest)
    held = forbidden.get(first, "")
    found = False
    for position in range(first, bounds.latest + 1):
        if position > bounds.start and position not in forbidden:
            yield Cut(position, anchors.get(position), held if not found else "")
            found = True
    while not found and first > bounds.start:
        if found := first not in forbidden:
            yield Cut(first, anchors.get(first), held)
        first -= 1


def usual_cut(
    anchors: Mapping[int, Anchor], bounds: Bounds, forbidden: Mapping[int, str]
) -> Iterator[Cut]:
    """R4, where no budget says how much should stay: on the latest anchor, or before the turns that
    always stay; moved back to where the rules allow it, so that more is kept rather than less."""
    first = min(bounds.latest, max(anchors, default=bounds.latest))
    if first <= bounds.start:
        first = bounds.latest
    return cuts_from(first, anchors, bounds._replace(latest=first), forbidden)


def anchored_at(turns: Sequence[Turn], anchors: Sequence[Anchor]) -> dict[int, Anchor]:
    """The anchors that were found, by their position."""
    base = turns[0].index if turns else 0
    return {one.turn_index - base: one for one in anchors if not one.synthetic}


def _in_flight(turns: Sequence[Turn]) -> int:
    """Where the turns begin that wait for results: the last ones, each with a call that nothing
    answers. Where more than `REACH` would wait, the client writes no results down, and none is
    waited for."""
    end = len(turns)
    answered: set[str] = set()
    for position in range(end, max(0, end - REACH - 1), -1):
        turn = turns[position - 1]
        answered.update(result.call_id for result in turn.tool_results)
        if all(call.id in answered for call in turn.tool_calls):
            return position
    return 0 if end <= REACH else end


# Cuts with what they come to, and the steps that make them smaller.

SUMMARY_OF_SPAN = 0.8
"""A summary has at most this share of what it replaces: else folding would not be worth it."""
LEAST_SUMMARY = 96
"""Tokens below which no summary can say anything, what stands around it included. It has so many in
the smallest window; a cut that does not free more is not made."""
SQUEEZED_SUMMARY = 0.25
"""Share of its room that a summary keeps where nothing else is left to give way."""

NEAR = 0.9
"""A cut on an anchor is taken where at least this share stays of what could stay: turns are best
read from where a task was finished, but not for the price of many of them."""

Count = Callable[[str], int]
Cuts = Callable[[int], Iterable[Cut]]
"""The cuts from a position on, first to last."""


class Attempt(NamedTuple):
    """A cut with what it comes to."""

    cut: Cut
    summary: int
    """What the summary may have at the most."""
    masked: tuple[Masked, ...]
    tokens: int
    """Of everything that would stay: the turns, what is said again, the summary at its largest."""

    def masking(self, found: Iterable[Masked]) -> Attempt:
        """The same with further outputs masked; of two for one output the later counts."""
        chosen = {(one.turn, one.call_id): one for one in (*self.masked, *found)}
        masked = tuple(sorted(chosen.values(), key=lambda one: one.turn))
        return self._replace(
            masked=masked, tokens=self.tokens + _saved(self.masked) - _saved(masked)
        )


class Work:
    """One conversation on its way to a plan."""

    def __init__(
        self,
        turns: Sequence[Turn],
        budget: Budget,
        count: Count,
        *,
        start: int,
        earlier: int,
        pending: Turn | None,
        masked: Sequence[Masked],
        fixed: int,
        name: str,
    ) -> None:
        self.turns, self.budget, self.start, self.earlier = turns, budget, start, earlier
        self.count, self.name, self._masked = count, name, masked
        self.sizes = Sizes(turns)
        self._repeats = Repeats(turns, count, pending=pending)
        self.before = earlier + self.sizes.between(start, len(turns)) - _saved(masked)
        self.room = budget.room(self.before, fixed)
        """What should stay at the most."""

    @property
    def is_roomy(self) -> bool:
        """Whether nothing asks for a compaction but the user."""
        return self.before <= self.room

    def masks(self, old: Iterable[Masked]) -> list[Masked]:
        """Of old outputs, newest first, those in turns that could stay, and not masked yet."""
        known = {(one.turn, one.call_id) for one in self._masked}
        before, saved = _Masks(self._masked), 0
        found: list[Masked] = []
        for one in old:
            behind = one.turn - self.turns[0].index + 1
            kept = self.sizes.between(behind, len(self.turns)) - before.saved(one.turn + 1) - saved
            if kept > self.room:
                break
            if (one.turn, one.call_id) not in known:
                found.append(one)
                saved += _saved([one])
        return found

    def masked(self, old: Sequence[Masked], *, every: bool) -> Attempt:
        """Nothing folded, and of the old outputs, newest first, the oldest masked: as many as the
        budget asks for, or every one."""
        attempt = Attempt(Cut(self.start), 0, (), self.before + _saved(self._masked))
        attempt = attempt.masking(self._masked)
        over, taken = attempt.tokens - self.room, 0
        while taken < len(old) and (every or over > 0):
            taken += 1
            over -= _saved([old[-taken]])
        return attempt.masking(old[len(old) - taken :])

    def folded(self, untouched: Attempt, cuts: Cuts, old: Iterable[Masked]) -> Attempt:
        """Of all cuts the first that frees what it should, or one on an anchor close behind it; or
        else what keeps least."""
        masks = _Masks([*self._masked, *old])
        tried = [one for cut in cuts(self._least(masks)) if (one := self._attempt(cut, masks))]
        fitting = [one for one in tried if one.tokens <= self.room]
        if not fitting:
            chosen = min((untouched, *tried), key=lambda one: one.tokens)
        else:
            least = NEAR * fitting[0].tokens
            near = (one for one in fitting if one.cut.anchor and one.tokens >= least)
            chosen = next(near, fitting[0])
        if chosen is untouched:
            return chosen
        return chosen._replace(masked=tuple(masks.since(self._index(chosen.cut.position))))

    def shortened(self, attempt: Attempt) -> Attempt:
        """Giant outputs cut to head, tail and error lines, the largest first."""
        over = self._over(attempt)
        if over <= 0:
            return attempt
        kept = self.turns[attempt.cut.position :]
        taken = {(one.turn, one.call_id) for one in attempt.masked}
        return attempt.masking(giants(kept, count=self.count, excess=over, taken=taken))

    def squeezed(self, attempt: Attempt) -> Attempt:
        """Less room for the summary: the last thing that can give way."""
        least = max(LEAST_SUMMARY, int(attempt.summary * SQUEEZED_SUMMARY))
        given = min(self._over(attempt), attempt.summary - least)
        if given <= 0:
            return attempt
        return attempt._replace(summary=attempt.summary - given, tokens=attempt.tokens - given)

    def repeated(self, attempt: Attempt) -> tuple[Repeat, ...]:
        """What is said again; nothing where nothing new is folded."""
        return self._repeats.before(attempt.cut.position) if attempt.summary else ()

    def _attempt(self, cut: Cut, masks: _Masks) -> Attempt | None:
        """What a cut comes to; None where folding would free nothing."""
        again = self._repeats.tokens(cut.position)
        freed = self.earlier + self.sizes.between(self.start, cut.position) - again
        summary = min(max(self.budget.summary, LEAST_SUMMARY), int(freed * SUMMARY_OF_SPAN))
        if summary < LEAST_SUMMARY:
            return None
        return Attempt(cut, summary, (), self._kept(cut.position, masks) + again + summary)

    def _kept(self, position: int, masks: _Masks) -> int:
        """Tokens of the turns from a position on."""
        return self.sizes.between(position, len(self.turns)) - masks.saved(self._index(position))

    def _least(self, masks: _Masks) -> int:
        """The first position from which on all turns could stay."""
        every = range(self.start, len(self.turns))
        found = bisect_left(every, True, key=lambda one: self._kept(one, masks) <= self.room)
        return self.start + found

    def _over(self, attempt: Attempt) -> int:
        """Tokens above the target: nothing is cut into for the sake of a ratio."""
        return attempt.tokens - self.budget.target

    def _index(self, position: int) -> int:
        turns = self.turns
        return turns[position].index if position < len(turns) else turns[-1].index + 1


class _Masks:
    """Masks by turn: what those from a turn on save takes no walk over them."""

    def __init__(self, masked: Iterable[Masked]) -> None:
        self._masked = sorted(masked, key=lambda one: one.turn)
        self._turns = [one.turn for one in self._masked]
        self._sums = [0, *accumulate(_saved([one]) for one in self._masked)]

    def since(self, index: int) -> list[Masked]:
        return self._masked[bisect_left(self._turns, index) :]

    def saved(self, index: int) -> int:
        return self._sums[-1] - self._sums[bisect_left(self._turns, index)]


def _saved(masked: Iterable[Masked]) -> int:
    return sum(one.tokens_before - one.tokens_after for one in masked)


# A plan as data: what is kept and folded, why, and what would help where that is not enough.

WORTH_NAMING = 0.1
"""Share of the target from which on a single thing is named as what would help."""


def planned(attempt: Attempt, work: Work, limits: Bounds, forbidden: Mapping[int, str]) -> Plan:
    turns, cut = work.turns, attempt.cut
    repeated = work.repeated(attempt)
    over = max(0, attempt.tokens - work.budget.target)
    folds = cut.position > work.start
    kept = _why_kept(attempt, work)
    return Plan(
        cut=cut.position,
        folded=_span(work, work.start, cut.position, "older than the cut") if folds else (),
        kept=_span(work, cut.position, len(turns), kept),
        masked=attempt.masked,
        repeated=repeated,
        anchor=cut.anchor.turn_index if cut.anchor else None,
        reason=_why_here(attempt, work, limits, forbidden)
        if folds
        else _why_nothing(attempt, work, limits, forbidden),
        held_up=_held_up(attempt, work, limits, forbidden) if attempt.tokens > work.room else "",
        tokens_before=work.before,
        tokens_kept=attempt.tokens - attempt.summary,
        summary_room=attempt.summary,
        excess=over,
        advice=tuple(_advice(repeated, work, turns[cut.position :])) if over else (),
    )


def _span(work: Work, first: int, end: int, reason: str) -> tuple[Span, ...]:
    if first >= end:
        return ()
    turns = work.turns
    tokens = work.sizes.between(first, end)
    return (
        Span(first=turns[first].index, last=turns[end - 1].index, tokens=tokens, reason=reason),
    )


def _why_kept(attempt: Attempt, work: Work) -> str:
    if attempt.cut.position == work.start:
        return "nothing has to be folded" if attempt.tokens <= work.room else "cannot be folded"
    return "from an anchor on" if attempt.cut.anchor else "recent window"


def _why_here(attempt: Attempt, work: Work, limits: Bounds, forbidden: Mapping[int, str]) -> str:
    """Why the cut is where it is, and what it parts where a rule had to give way."""
    cut = attempt.cut
    first = f"t{work.turns[cut.position].index}"
    if attempt.tokens > work.room:
        why = f"no cut leaves less than the one before {first}"
    elif work.is_roomy:
        why = (
            f"the latest anchor is {first}" if cut.anchor else f"the newest turns begin at {first}"
        )
    elif cut.anchor:
        why = f"from the anchor {first} on, what stays fits its {work.room:,} tokens"
    else:
        why = f"from {first} on, what stays fits its {work.room:,} tokens"
    if cut.held:
        why = f"{why}; before it, {cut.held}"
    rule = forbidden.get(cut.position)
    return f"{why}; else nothing fits, so that a rule gave way: {rule}" if rule else why


def _why_nothing(attempt: Attempt, work: Work, limits: Bounds, forbidden: Mapping[int, str]) -> str:
    """Why no turn is folded."""
    start, new = work.start, len(work.turns) - work.start
    if not new:
        return "there are no new turns"
    if attempt.tokens <= work.room and not work.is_roomy:
        return (
            f"with {len(attempt.masked):,} old outputs masked, all turns fit {work.room:,} tokens"
        )
    if limits.latest <= start:
        if new > work.budget.recent_turns:
            return f"all {new} turns wait for results of their calls"
        return f"all {new} turns belong to the recent window"
    if not work.before:
        return "the turns have not been counted: read them with a counter"
    if all(cut in forbidden for cut in range(start + 1, limits.latest + 1)):
        return f"the turns before the newest cannot be parted: {forbidden[limits.latest]}"
    return "what can be folded is too small for a summary to be shorter"


def _held_up(attempt: Attempt, work: Work, limits: Bounds, forbidden: Mapping[int, str]) -> str:
    """What keeps more than should stay: what cannot be parted, or the largest of what must stay."""
    cut, end = attempt.cut.position, len(work.turns)
    if cut == work.start:
        return _why_nothing(attempt, work, limits, forbidden)
    if cut < limits.latest and all(one in forbidden for one in range(cut + 1, limits.latest + 1)):
        first, last = work.turns[cut].index, work.turns[limits.latest].index
        return f"t{first} to t{last} cannot be parted: {forbidden[limits.latest]}"
    said = sum(one.tokens for one in work.repeated(attempt))
    newest = attempt.tokens - attempt.summary - said
    count = end - cut
    holds = [
        (newest, "the newest turn has" if count == 1 else f"the {count:,} newest turns have"),
        (said, "the request and the rules that are said again have"),
        (attempt.summary, "the summary has"),
    ]
    tokens, what = max(holds)
    return f"{what} {tokens:,} of the {work.room:,} tokens that should stay"


def _advice(repeated: Sequence[Repeat], work: Work, kept: Sequence[Turn]) -> Iterator[str]:
    """The largest things that stay, and how to be rid of them."""
    least = max(1, int(work.budget.target * WORTH_NAMING))
    request = sum(one.tokens for one in repeated if one.what == "request")
    rules = sum(one.tokens for one in repeated if one.what != "request")
    if request >= least:
        yield f"the current request has {request:,} tokens: give long material as a file"
    if rules >= least:
        yield f"instructions take {rules:,} tokens: shorten the rules files"
    for turn in sorted(kept, key=lambda turn: -turn.tokens)[:3]:
        if turn.tokens >= least:
            yield f"t{turn.index}, one of the newest turns, has {turn.tokens:,} tokens"
    yield "a larger window"


ESTIMATE = Estimate()
"""Counts texts where no counter is given; turns carry their own count."""


def make_plan(
    turns: Sequence[Turn],
    anchors: Sequence[Anchor],
    budget: Budget,
    *,
    rules: Sequence[Rule] = EVERYWHERE,
    count: Count = ESTIMATE.count,
    start: int = 0,
    earlier: int = 0,
    masked: Sequence[Masked] = (),
    masking: bool = False,
    pending: Turn | None = None,
    fixed: int = 0,
    name: str = FILE,
) -> Plan:
    """What to keep, fold and mask of a conversation, and why. Nothing happens yet.

    `start` is the position of the first turn that no earlier compaction folded, `earlier` the
    tokens of what stands for those before it, `masked` what that compaction masked. `masking` masks
    old outputs even where the budget is kept. `pending` are words of the user that wait for an
    answer; their tokens are no part of the budget. `fixed` tokens of the context are in no turn:
    the system prompt, the tools, words that wait. `name` is the session's, by which `kedgeline
    show` knows it.
    """
    work = Work(
        turns,
        budget,
        count,
        start=start,
        earlier=earlier,
        pending=pending,
        masked=masked,
        fixed=fixed,
        name=name,
    )
    limits = bounds(turns, budget, start=start)
    natural = anchored_at(turns, anchors)
    found = maskable(
        turns[start:],
        count=count,
        task_from=_task(turns, anchors),
        name=name,
    )
    old = work.masks(found) if masking or not work.is_roomy else []
    untouched = work.masked(old, every=masking)
    strict = forbids = forbidden(turns, rules)
    best = _attempt(work, untouched, old, natural, limits, forbids)
    for held in range(len(rules) - 1, -1, -1):
        if best.tokens <= budget.usable:
            break
        last, forbids = forbids, forbidden(turns, rules[:held])
        if forbids != last:
            looser = _attempt(work, untouched, old, natural, limits, forbids)
            best = min(best, looser, key=lambda one: one.tokens)
    return planned(best, work, limits, strict)


def _attempt(
    work: Work,
    untouched: Attempt,
    old: Sequence[Masked],
    anchors: Mapping[int, Anchor],
    limits: Bounds,
    forbids: Mapping[int, str],
) -> Attempt:
    """The best that can be done under some rules. What would not fit its window under all of them
    is tried again without the weakest: a list that can be sent is worth more."""

    def cuts(first: int) -> Iterable[Cut]:
        if work.is_roomy:
            return usual_cut(anchors, limits, forbids)
        return cuts_from(first, anchors, limits, forbids)

    attempt = untouched
    if work.is_roomy or untouched.tokens > work.room:
        attempt = work.folded(untouched, cuts, old)
    return work.squeezed(work.shortened(attempt))


def _task(turns: Sequence[Turn], anchors: Sequence[Anchor]) -> int:
    """Index of the turn the current task begins with: behind the last anchor of the request that
    is under way, or with that request."""
    begun = turns[request_from(turns)].index if turns else 0
    done = [anchor.turn_index + 1 for anchor in anchors if not anchor.synthetic]
    return max([begun, *done[-1:]])

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
WORTH_NAMING = 0.1
"""Share of the target from which on a single thing is named as what would help."""
ESTIMATE = Estimate()
"""Counts texts where no counter is given; turns carry their own count."""

Count = Callable[[str], int]
Forbidden = Mapping[int, str]
"""Cuts that rules forbid, with the reason."""


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
    asked: int | None = None,
    pending: Turn | None = None,
    fixed: int = 0,
    name: str = FILE,
) -> Plan:
    """What to keep, fold and mask of a conversation, and why. Nothing happens yet.

    `start` is the position of the first turn that no earlier compaction folded, `earlier` the
    tokens of what stands for those before it, `masked` what that compaction masked. `masking` masks
    old outputs even where the budget is kept. `asked` is the index of the turn in which the user
    last asked for something, `pending` are words that wait for an answer; their tokens are no part
    of the budget. `fixed` tokens of the context are in no turn:
    the system prompt, the tools, words that wait. `name` is the session's, by which `kedgeline
    show` knows it.
    """
    repeats = Repeats(turns, count, asked=asked, pending=pending, target=budget.target)
    work = _Work(turns, anchors, budget, count, repeats, start, earlier, masked, fixed)
    old: list[Masked] = []
    if masking or not work.is_roomy:
        task_from = _task(turns, anchors, asked)
        old = work.masks(maskable(turns[start:], count=count, task_from=task_from, name=name))
    untouched = work.masked(old, every=masking)
    strict = forbids = forbidden(turns, rules)
    best = work.attempt(untouched, old, forbids)
    # What would not fit its window under all rules is tried without the weakest: a list that can be
    # sent is worth more.
    for held in range(len(rules) - 1, -1, -1):
        if best.tokens <= budget.usable:
            break
        last, forbids = forbids, forbidden(turns, rules[:held])
        if forbids != last:
            best = min(best, work.attempt(untouched, old, forbids), key=lambda one: one.tokens)
    return _planned(best, work, strict)


def _task(turns: Sequence[Turn], anchors: Sequence[Anchor], asked: int | None) -> int:
    """Index of the turn the current task begins with: behind the last anchor of the request that
    is under way, or with that request."""
    begun = turns[request_from(turns, asked)].index if turns else 0
    done = [anchor.turn_index + 1 for anchor in anchors if not anchor.synthetic]
    return max([begun, *done[-1:]])


class Bounds(NamedTuple):
    """Between which positions the cut may move."""

    start: int
    """Turns before it were folded earlier."""
    latest: int
    """Where the turns begin that stay whatever they cost."""


def bounds(turns: Sequence[Turn], budget: Budget, *, start: int = 0) -> Bounds:
    latest = min(len(turns) - budget.recent_turns, _in_flight(turns))
    return Bounds(start, max(start, latest))


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


class _Attempt(NamedTuple):
    """A cut, and the sizes that result from it."""

    cut: int
    """A position: turns before it are folded."""
    summary: int
    """What the summary may have at the most."""
    masked: tuple[Masked, ...]
    tokens: int
    """Of everything that would stay: the turns, what is said again, the summary at its largest."""

    def masking(self, found: Iterable[Masked]) -> _Attempt:
        """The same with further outputs masked; of two for one output the later counts."""
        chosen = {(one.turn, one.call_id): one for one in (*self.masked, *found)}
        masked = tuple(sorted(chosen.values(), key=lambda one: one.turn))
        tokens = self.tokens + _saved(self.masked) - _saved(masked)
        return self._replace(masked=masked, tokens=tokens)


class _Work:
    """One conversation on its way to a plan, and the steps that make it smaller."""

    def __init__(
        self,
        turns: Sequence[Turn],
        anchors: Sequence[Anchor],
        budget: Budget,
        count: Count,
        repeats: Repeats,
        start: int,
        earlier: int,
        masked: Sequence[Masked],
        fixed: int,
    ) -> None:
        self.turns, self.budget, self.start, self.earlier = turns, budget, start, earlier
        self.limits = bounds(turns, budget, start=start)
        self._count, self._repeats, self._masked = count, repeats, masked
        base = turns[0].index if turns else 0
        self._anchors = {one.turn_index - base: one for one in anchors if not one.synthetic}
        self._sums = [0, *accumulate(turn.tokens for turn in turns)]
        self.before = earlier + self.tokens_between(start, len(turns)) - _saved(masked)
        self.room = budget.room(self.before, fixed)
        """What should stay at the most."""

    @property
    def is_roomy(self) -> bool:
        """Whether nothing asks for a compaction but the user."""
        return self.before <= self.room

    def tokens_between(self, first: int, end: int) -> int:
        return self._sums[end] - self._sums[first] if end > first else 0

    def masks(self, old: Iterable[Masked]) -> list[Masked]:
        """Of old outputs, newest first, those in turns that could stay, and not masked yet."""
        known = {(one.turn, one.call_id) for one in self._masked}
        before, saved = _Masks(self._masked), 0
        found: list[Masked] = []
        for one in old:
            behind = one.turn - self.turns[0].index + 1
            kept = self.tokens_between(behind, len(self.turns)) - before.saved(one.turn + 1) - saved
            if kept > self.room:
                break
            if (one.turn, one.call_id) not in known:
                found.append(one)
                saved += _saved([one])
        return found

    def masked(self, old: Sequence[Masked], *, every: bool) -> _Attempt:
        """Nothing folded, and of the old outputs, newest first, the oldest masked: as many as the
        budget asks for, or every one."""
        attempt = _Attempt(self.start, 0, (), self.before + _saved(self._masked))
        attempt = attempt.masking(self._masked)
        over, taken = attempt.tokens - self.room, 0
        while taken < len(old) and (every or over > 0):
            taken += 1
            over -= _saved([old[-taken]])
        return attempt.masking(old[len(old) - taken :])

    def attempt(self, untouched: _Attempt, old: Sequence[Masked], forbids: Forbidden) -> _Attempt:
        """The best that can be done under some rules: mask, fold, shorten giant outputs, the
        largest first, and at last leave less room for the summary."""
        attempt = untouched
        if self.is_roomy or untouched.tokens > self.room:
            attempt = self._folded(untouched, old, forbids)
        # Nothing is cut into for the sake of a ratio: only what is above the target.
        if (over := attempt.tokens - self.budget.target) > 0:
            taken = {(one.turn, one.call_id) for one in attempt.masked}
            kept = self.turns[attempt.cut :]
            attempt = attempt.masking(giants(kept, count=self._count, excess=over, taken=taken))
        least = max(LEAST_SUMMARY, int(attempt.summary * SQUEEZED_SUMMARY))
        given = max(0, min(attempt.tokens - self.budget.target, attempt.summary - least))
        return attempt._replace(summary=attempt.summary - given, tokens=attempt.tokens - given)

    def anchor_at(self, cut: int) -> Anchor | None:
        return self._anchors.get(cut)

    def repeated(self, attempt: _Attempt) -> tuple[Repeat, ...]:
        """What is repeated verbatim; nothing if nothing new is folded."""
        return self._repeats.before(attempt.cut) if attempt.summary else ()

    def _folded(self, untouched: _Attempt, old: Iterable[Masked], forbids: Forbidden) -> _Attempt:
        """Of all cuts the first that frees what it should, or one on an anchor close behind it; or
        else what keeps least."""
        masks = _Masks([*self._masked, *old])
        tried = [one for cut in self._cuts(masks, forbids) if (one := self._cut_at(cut, masks))]
        fitting = [one for one in tried if one.tokens <= self.room]
        if not fitting:
            chosen = min((untouched, *tried), key=lambda one: one.tokens)
        else:
            least = NEAR * fitting[0].tokens
            near = (one for one in fitting if one.cut in self._anchors and one.tokens >= least)
            chosen = next(near, fitting[0])
        if chosen is untouched:
            return chosen
        return chosen._replace(masked=tuple(masks.since(self._index(chosen.cut))))

    def _cuts(self, masks: _Masks, forbids: Forbidden) -> Sequence[int]:
        """The cuts that the rules allow from the first on that leaves what should stay. Where no
        budget says how much that is (R4): on the latest anchor, or before the turns that always
        stay, moved back to where the rules allow it, so that more is kept rather than less.

        Where there is none, the last before it."""
        start, latest = self.limits
        if self.is_roomy:
            first = min(latest, max(self._anchors, default=latest))
            latest = latest if first <= start else first
            first = latest
        else:
            every = range(self.start, len(self.turns))
            first = start + bisect_left(
                every, True, key=lambda one: self._kept(one, masks) <= self.room
            )
        first = min(max(first, start + 1), latest)
        found = [cut for cut in range(first, latest + 1) if cut > start and cut not in forbids]
        before = range(first - 1, start, -1)
        return found or [cut for cut in before if cut not in forbids][:1]

    def _cut_at(self, cut: int, masks: _Masks) -> _Attempt | None:
        """What a cut comes to; None where folding would free nothing."""
        again = self._repeats.tokens(cut)
        freed = self.earlier + self.tokens_between(self.start, cut) - again
        summary = min(max(self.budget.summary, LEAST_SUMMARY), int(freed * SUMMARY_OF_SPAN))
        if summary < LEAST_SUMMARY:
            return None
        return _Attempt(cut, summary, (), self._kept(cut, masks) + again + summary)

    def _kept(self, position: int, masks: _Masks) -> int:
        """Tokens of the turns from a position on."""
        return self.tokens_between(position, len(self.turns)) - masks.saved(self._index(position))

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


def _planned(attempt: _Attempt, work: _Work, forbids: Forbidden) -> Plan:
    """`forbids` are the cuts that no rule allows: a rule may have had to give way."""
    turns, cut = work.turns, attempt.cut
    repeated, anchor = work.repeated(attempt), work.anchor_at(cut)
    over = max(0, attempt.tokens - work.budget.target)
    folds = cut > work.start

    def span(first: int, end: int, reason: str) -> tuple[Span, ...]:
        if first >= end:
            return ()
        tokens = work.tokens_between(first, end)
        return (
            Span(first=turns[first].index, last=turns[end - 1].index, tokens=tokens, reason=reason),
        )

    if folds:
        kept = "from an anchor on" if anchor else "recent window"
    else:
        kept = "nothing has to be folded" if attempt.tokens <= work.room else "cannot be folded"
    return Plan(
        cut=cut,
        folded=span(work.start, cut, "older than the cut"),
        kept=span(cut, len(turns), kept),
        masked=attempt.masked,
        repeated=repeated,
        anchor=anchor.turn_index if anchor and folds else None,
        reason=_why_here(attempt, work, forbids) if folds else _why_nothing(attempt, work, forbids),
        held_up=_held_up(attempt, work, forbids) if attempt.tokens > work.room else "",
        tokens_before=work.before,
        tokens_kept=attempt.tokens - attempt.summary,
        summary_room=attempt.summary,
        excess=over,
        advice=tuple(_advice(repeated, work, turns[cut:])) if over else (),
    )


def _why_here(attempt: _Attempt, work: _Work, forbids: Forbidden) -> str:
    """Why the cut is where it is, and what it parts where a rule had to give way."""
    anchor = work.anchor_at(attempt.cut)
    first = f"t{work.turns[attempt.cut].index}"
    if attempt.tokens > work.room:
        why = f"no cut leaves less than the one before {first}"
    elif work.is_roomy:
        why = f"the {'latest anchor is' if anchor else 'newest turns begin at'} {first}"
    else:
        place = f"the anchor {first}" if anchor else first
        why = f"from {place} on, what stays fits its {work.room:,} tokens"
    rule = forbids.get(attempt.cut)
    return f"{why}; else nothing fits, so that a rule gave way: {rule}" if rule else why


def _why_nothing(attempt: _Attempt, work: _Work, forbids: Forbidden) -> str:
    """Why no turn is folded."""
    start, latest = work.limits
    new = len(work.turns) - start
    if not new:
        return "there are no new turns"
    if attempt.tokens <= work.room and not work.is_roomy:
        return (
            f"with {len(attempt.masked):,} old outputs masked, all turns fit {work.room:,} tokens"
        )
    if latest <= start:
        waiting = new > work.budget.recent_turns
        why = "wait for results of their calls" if waiting else "belong to the recent window"
        return f"all {new} turns {why}"
    if not work.before:
        return "the turns have not been counted: read them with a counter"
    if all(cut in forbids for cut in range(start + 1, latest + 1)):
        return f"the turns before the newest cannot be parted: {forbids[latest]}"
    return "what can be folded is too small for a summary to be shorter"


def _held_up(attempt: _Attempt, work: _Work, forbids: Forbidden) -> str:
    """What keeps more than should stay: what cannot be parted, or the largest of what must stay."""
    cut, latest = attempt.cut, work.limits.latest
    if cut == work.start:
        return _why_nothing(attempt, work, forbids)
    if cut < latest and all(one in forbids for one in range(cut + 1, latest + 1)):
        first, last = work.turns[cut].index, work.turns[latest].index
        return f"t{first} to t{last} cannot be parted: {forbids[latest]}"
    said = sum(one.tokens for one in work.repeated(attempt))
    count = len(work.turns) - cut
    newest = "the newest turn has" if count == 1 else f"the {count:,} newest turns have"
    tokens, what = max(
        (attempt.tokens - attempt.summary - said, newest),
        (said, "the repeated request and rules have"),
        (attempt.summary, "the summary has"),
    )
    return f"{what} {tokens:,} of the {work.room:,} tokens that should stay"


def _advice(repeated: Sequence[Repeat], work: _Work, kept: Sequence[Turn]) -> Iterator[str]:
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

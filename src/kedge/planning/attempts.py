"""Cuts with what they come to, and the steps that make them smaller."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate
from typing import NamedTuple

from kedge.model import Budget, Masked, Repeat, Turn
from kedge.planning.masking import giants
from kedge.planning.repeats import Repeats
from kedge.planning.selection import Cut, Sizes

SUMMARY_OF_SPAN = 0.8
"""A summary has at most this share of what it replaces: else folding would not be worth it."""
LEAST_SUMMARY = 96
"""Tokens below which no summary can say anything, what stands around it included. It has so many in
the smallest window; a cut that does not free more is not made."""
SQUEEZED_SUMMARY = 0.25
"""Share of its room that a summary keeps where nothing else is left to give way."""

Count = Callable[[str], int]


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
        self._room = budget.room(self.before, fixed)
        crowded = self.before > budget.usable
        self._limit = self._room if crowded else budget.target
        """What may stay. A conversation that fits its window is not cut into for the sake of a
        ratio: for it only the target counts."""

    def folded(self, cuts: Iterable[Cut]) -> Attempt:
        """The first that frees what a compaction should, or else the one that keeps least; nothing
        folded where none frees anything."""
        attempts = [self._with_masks(one) for cut in cuts if (one := self._attempt(cut))]
        untouched = Attempt(Cut(self.start, ""), 0, (), self.before + _saved(self._masked))
        fitting = (one for one in attempts if one.tokens <= self._room)
        least = min(attempts, key=lambda one: one.tokens, default=self._with_masks(untouched))
        return next(fitting, least)

    def masked_enough(self, attempt: Attempt, old: Sequence[Masked]) -> Attempt:
        """Old outputs masked, oldest first, as many as the budget asks for."""
        over, taken = self._over(attempt), 0
        known = {(one.turn, one.call_id) for one in attempt.masked}
        new = [one for one in old if (one.turn, one.call_id) not in known]
        while over > 0 and taken < len(new):
            over -= _saved(new[taken : taken + 1])
            taken += 1
        return attempt.masking(new[:taken])

    def shrunk(self, attempt: Attempt, later: Iterable[Cut]) -> Attempt:
        """The recent window made smaller until what stays fits, or to its least."""
        masks = _Masks(attempt.masked)
        least, best = attempt.tokens, attempt
        for cut in later if self._over(attempt) > 0 else ():
            if (one := self._attempt(cut)) is not None:
                tokens = one.tokens - masks.saved(self._index(one))
                least, best = (tokens, one) if tokens < least else (least, best)
            if least <= self._limit:
                break
        return attempt if best is attempt else best.masking(masks.since(self._index(best)))

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

    def _attempt(self, cut: Cut) -> Attempt | None:
        """What a cut comes to without masks; None where folding would free nothing."""
        again = self._repeats.tokens(cut.position)
        freed = self.earlier + self.sizes.between(self.start, cut.position) - again
        summary = min(max(self.budget.summary, LEAST_SUMMARY), int(freed * SUMMARY_OF_SPAN))
        if summary < LEAST_SUMMARY:
            return None
        kept = self.sizes.between(cut.position, len(self.turns))
        return Attempt(cut, summary, (), kept + again + summary)

    def _over(self, attempt: Attempt) -> int:
        """Tokens above what may stay."""
        return attempt.tokens - self._limit

    def _with_masks(self, attempt: Attempt) -> Attempt:
        """With what an earlier compaction masked: it stays so, or the prefix would change."""
        if attempt.cut.position >= len(self.turns):
            return attempt
        return attempt.masking(_Masks(self._masked).since(self._index(attempt)))

    def _index(self, attempt: Attempt) -> int:
        return self.turns[attempt.cut.position].index


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

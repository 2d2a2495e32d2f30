"""Cuts with what they come to, and the steps that make them smaller."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from kedge.model import Budget, Masked, Repeat, Turn
from kedge.planning.masking import giants
from kedge.planning.repeats import Repeats
from kedge.planning.selection import Cut, Sizes

SUMMARY_OF_SPAN = 0.8
"""A summary has at most this share of what it replaces: else folding would not be worth it."""
LEAST_SUMMARY = 96
"""Tokens below which no summary can say anything, what stands around it included: a cut that leaves
it less is not made."""
SQUEEZED_SUMMARY = 0.25
"""Share of its room that a summary keeps where nothing else is left to give way."""

Count = Callable[[str], int]


class Attempt(NamedTuple):
    """A cut with what it comes to."""

    cut: Cut
    repeated: tuple[Repeat, ...]
    summary: int
    """What the summary may have at the most."""
    masked: tuple[Masked, ...]
    tokens: int
    """Of everything that would stay, the summary at its largest included."""

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
        asked: bool,
        masked: Sequence[Masked],
        fixed: int,
    ) -> None:
        self.turns, self.budget, self.start, self.earlier = turns, budget, start, earlier
        self._count, self._masked = count, masked
        self.sizes = Sizes(turns)
        self._repeats = Repeats(turns, count, asked=asked)
        self.before = earlier + self.sizes.between(start, len(turns)) - _saved(masked)
        self._room = budget.room(self.before, fixed)

    def fits(self, attempt: Attempt) -> bool:
        return attempt.tokens <= self._room

    def attempt(self, cut: Cut) -> Attempt | None:
        """What a cut comes to; None where folding would free nothing."""
        repeated = self._repeats.before(cut.position)
        again = sum(one.tokens for one in repeated)
        freed = self.earlier + self.sizes.between(self.start, cut.position) - again
        summary = min(self.budget.summary, int(freed * SUMMARY_OF_SPAN))
        if summary < LEAST_SUMMARY:
            return None
        kept = self.sizes.between(cut.position, len(self.turns))
        return self._with_masks(Attempt(cut, repeated, summary, (), kept + again + summary))

    def folded(self, attempts: Sequence[Attempt]) -> Attempt:
        """The first that fits, or else the one that keeps least; nothing folded where none is."""
        untouched = Attempt(Cut(self.start, ""), (), 0, (), self.before + _saved(self._masked))
        fitting = (one for one in attempts if self.fits(one))
        least = min(attempts, key=lambda one: one.tokens, default=self._with_masks(untouched))
        return next(fitting, least)

    def masked_enough(self, attempt: Attempt, old: Sequence[Masked]) -> Attempt:
        """Old outputs masked, oldest first, as many as the budget asks for."""
        over, taken = attempt.tokens - self._room, 0
        known = {(one.turn, one.call_id) for one in attempt.masked}
        new = [one for one in old if (one.turn, one.call_id) not in known]
        while over > 0 and taken < len(new):
            over -= _saved(new[taken : taken + 1])
            taken += 1
        return attempt.masking(new[:taken])

    def shrunk(self, attempt: Attempt, later: Iterable[Attempt]) -> Attempt:
        """The recent window made smaller until what stays fits, or to its least."""
        for one in later:
            index = self.turns[one.cut.position].index
            trial = one.masking(mask for mask in attempt.masked if mask.turn >= index)
            if trial.tokens < attempt.tokens:
                attempt = trial
            if self.fits(attempt):
                break
        return attempt

    def shortened(self, attempt: Attempt) -> Attempt:
        """Giant outputs cut to head, tail and error lines, the largest first."""
        over = self._over(attempt)
        if over <= 0:
            return attempt
        kept = self.turns[attempt.cut.position :]
        taken = {(one.turn, one.call_id) for one in attempt.masked}
        return attempt.masking(giants(kept, count=self._count, excess=over, taken=taken))

    def squeezed(self, attempt: Attempt) -> Attempt:
        """Less room for the summary: the last thing that can give way."""
        least = max(LEAST_SUMMARY, int(attempt.summary * SQUEEZED_SUMMARY))
        given = min(self._over(attempt), attempt.summary - least)
        if given <= 0:
            return attempt
        return attempt._replace(summary=attempt.summary - given, tokens=attempt.tokens - given)

    def _over(self, attempt: Attempt) -> int:
        """Tokens above the room. A conversation that fits its window is not cut into for the sake
        of a ratio: for it only the target counts."""
        crowded = self.before > self.budget.usable
        return attempt.tokens - (self._room if crowded else self.budget.target)

    def _with_masks(self, attempt: Attempt) -> Attempt:
        """With what an earlier compaction masked: it stays so, or the prefix would change."""
        if attempt.cut.position >= len(self.turns):
            return attempt
        index = self.turns[attempt.cut.position].index
        return attempt.masking(mask for mask in self._masked if mask.turn >= index)


def _saved(masked: Iterable[Masked]) -> int:
    return sum(one.tokens_before - one.tokens_after for one in masked)

"""Means over sessions, with intervals.

What is counted in one session is not independent: whole sessions are resampled (bootstrap)."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence

from kedge.model import Value

RESAMPLES = 1_000
SEED = 1
"""Any number: the same one gives the same intervals."""
OUTSIDE = 0.025
"""Share of the resampled means beyond either end of an interval."""

Scores = Mapping[str, float]
"""By measure; one that has nothing to measure is not there."""
Part = tuple[str, float, int]
"""A session, the sum of what was found in it, and over how many things."""


class Mean(Value, frozen=True):
    mean: float
    low: float
    high: float
    """Ends of the 95 % interval."""
    over: int
    """How many things: cuts, lines, turns, sessions."""


class Resampling:
    """Sessions drawn again and again: the same draws for everything measured on them."""

    def __init__(
        self, sessions: Iterable[str], *, seed: int = SEED, resamples: int = RESAMPLES
    ) -> None:
        self._sessions = sorted(set(sessions))
        chance, every = random.Random(seed), range(len(self._sessions))
        self._draws = [
            Counter(chance.choices(every, k=len(every))) for _ in range(resamples if every else 0)
        ]
        """How often each session is in each resample."""

    def mean(self, parts: Iterable[Part]) -> Mean | None:
        """The sum of all parts over the number of things; none where there is no thing."""
        sums = self._sums(parts)
        total, things = sum(value for value, _ in sums), sum(count for _, count in sums)
        if not things:
            return None
        found = []
        for draw in self._draws:
            value = count = 0.0
            for place, times in draw.items():
                value += times * sums[place][0]
                count += times * sums[place][1]
            if count:
                found.append(value / count)
        found = sorted(found) or [total / things]
        edge = int(len(found) * OUTSIDE)
        return Mean(mean=total / things, low=found[edge], high=found[-1 - edge], over=things)

    def _sums(self, parts: Iterable[Part]) -> list[tuple[float, int]]:
        values: defaultdict[str, list[float]] = defaultdict(list)
        counts: Counter[str] = Counter()
        for session, value, count in parts:
            values[session].append(value)
            counts[session] += count
        return [(sum(values[one]), counts[one]) for one in self._sessions]


def mean_of(parts: Iterable[Part], *, seed: int = SEED, resamples: int = RESAMPLES) -> Mean | None:
    """One mean over the sessions of its parts; none where there is no thing."""
    listed = list(parts)
    drawn = Resampling((session for session, _, _ in listed), seed=seed, resamples=resamples)
    return drawn.mean(listed)


def means(
    rows: Sequence[tuple[str, Scores]],
    measures: Iterable[str],
    *,
    seed: int = SEED,
    resamples: int = RESAMPLES,
) -> dict[str, Mean]:
    """The mean of each measure over rows of scores, each given with its session."""
    drawn = Resampling((session for session, _ in rows), seed=seed, resamples=resamples)
    found = {
        measure: drawn.mean((one, scores[measure], 1) for one, scores in rows if measure in scores)
        for measure in measures
    }
    return {measure: mean for measure, mean in found.items() if mean is not None}

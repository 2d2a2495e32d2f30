"""How long a model is waited for, and how often it is asked again."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from math import inf, isfinite

from msgspec.structs import replace

from kedge.errors import ModelFailed
from kedge.model import Ask, Reply, Step, Wait
from kedge.models.moving import NotAsked
from kedge.models.terms import Terms

FIRST_PAUSE = 1.0
"""Seconds before the second try: a busy server is often free again by then."""
GROWTH = 2.0
"""How much longer each pause is than the one before."""
LONGEST_PAUSE = 20.0
"""Seconds of a pause that nobody asked for: beyond that the deadline is near anyway."""
EVEN = 0.5
"""Share of a pause that chance does not shorten: those who were refused together do not come back
together, and nobody comes back at once."""
LONGEST_WAIT = 3_600.0
"""Seconds that a provider may ask for: more means that the quota of the day is used up."""

Asking = Callable[[Ask], Step[Reply]]
"""One try."""


class Patience:
    """Of all requests of one step together, or of several steps that share it: the time begins with
    the first."""

    def __init__(
        self,
        terms: Terms,
        *,
        model: str,
        clock: Callable[[], float] = time.monotonic,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._terms, self._model = terms, model
        self._clock, self._chance = clock, chance
        self._deadline: float | None = None

    def asked(self, ask: Ask, once: Asking) -> Step[Reply]:
        """Try until a reply comes, the failure is one that stays, or time or tries are used up."""
        if self._deadline is None:
            self._deadline = self._clock() + (self._terms.seconds or inf)
        pause, tries = FIRST_PAUSE, max(1, self._terms.tries)
        while True:
            left = self.left()
            if left <= 0:
                raise self._too_late(NotAsked)
            tries -= 1
            try:
                reply = yield from once(replace(ask, seconds=self._seconds(ask, left)))
            except ModelFailed as failure:
                wait = self._wait(failure, pause)
                if not failure.passes or not tries or wait >= self.left() or wait > LONGEST_WAIT:
                    raise
            else:
                if self.left() <= 0:
                    raise self._too_late(ModelFailed)
                return reply
            yield Wait(seconds=wait)
            pause = min(LONGEST_PAUSE, GROWTH * pause)

    def left(self) -> float:
        """Seconds; without end where there is no limit, or nothing was asked yet."""
        return inf if self._deadline is None else self._deadline - self._clock()

    def _seconds(self, ask: Ask, left: float) -> float:
        """What one try may take; 0 where nothing limits it."""
        least = min(ask.seconds or inf, self._terms.call_seconds or inf, left)
        return least if isfinite(least) else 0.0

    def _wait(self, failure: ModelFailed, pause: float) -> float:
        asked_for = failure.wait if failure.wait is not None and failure.wait > 0 else 0.0
        return max(asked_for, pause * (EVEN + (1 - EVEN) * self._chance()))

    def _too_late(self, failure: type[ModelFailed]) -> ModelFailed:
        return failure(
            self._model,
            f"all requests together took more than {self._terms.seconds:g} seconds",
            next_step="use a faster model, or allow more (model_seconds)",
            kind="timed out",
        )

"""Correcting an estimate by what the provider reported.

Between two turns the reported context grows by what was added: the assistant's message, its
results, the user's next words. Growth over estimate is the factor the estimate was wrong by."""

from __future__ import annotations

from kedge.model import Turn
from kedge.tokens.counting import Counter, Scaled

ENOUGH = 5_000
"""Estimated tokens that must have been compared before a factor is believed."""
LEAST, MOST = 0.5, 3.0
"""No vocabulary is further from o200k than this; beyond it the report measured something else."""


class Calibration:
    """Takes turns one after the other; each costs the same however many came before."""

    def __init__(self) -> None:
        self._last: tuple[int, int] | None = None
        """Reported context and estimated tokens of the turn before."""
        self.estimated = 0
        self.reported = 0

    def observe(self, turn: Turn, tokens: int, *, user_tokens: int = 0) -> None:
        """Take a turn with its estimated tokens, of which `user_tokens` came before the answer."""
        if turn.usage is None or not turn.usage.context:
            self._last = None
            return
        context = turn.usage.context
        if self._last is not None:
            before, added = self._last
            grown, expected = context - before, added + user_tokens
            # A context that shrank was compacted; one without additions says nothing.
            if expected > 0 and LEAST <= grown / expected <= MOST:
                self.reported += grown
                self.estimated += expected
        self._last = (context, tokens - user_tokens)

    @property
    def factor(self) -> float | None:
        """Reported over estimated; None while too little was compared."""
        return self.reported / self.estimated if self.estimated >= ENOUGH else None


def corrected(counter: Counter, calibration: Calibration) -> Counter:
    """The counter, corrected where the reports allow it; an exact one stays as it is."""
    if counter.exact or calibration.factor is None:
        return counter
    base = counter.base if isinstance(counter, Scaled) else counter
    return Scaled(base, calibration.factor)

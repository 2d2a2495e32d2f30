"""Outcomes that several ask for, each found out once."""

from __future__ import annotations

from collections.abc import Callable

from kedge.model import Turn
from kedge.outcomes.calls import outcomes_of
from kedge.outcomes.values import Outcome

OutcomesOf = Callable[[Turn], tuple[Outcome, ...]]
"""How to learn what the calls of a turn came to."""


class Known:
    """Gives the outcomes of a turn again to whoever asks next.

    A turn is known by being the same object, so it is held as long as its outcomes are. Of `most`
    turns they are kept, and all are forgotten when it would be more; without it, of as many as are
    asked for.
    """

    def __init__(self, most: int | None = None) -> None:
        self._most = most
        self._known: dict[int, tuple[Turn, tuple[Outcome, ...]]] = {}

    def __call__(self, turn: Turn) -> tuple[Outcome, ...]:
        known = self._known.get(id(turn))
        if known is not None:
            return known[1]
        if self._most is not None and len(self._known) >= self._most:
            self._known.clear()
        outcomes = outcomes_of(turn)
        self._known[id(turn)] = (turn, outcomes)
        return outcomes

    def __reduce__(self) -> tuple[type[Known], tuple[int | None]]:
        """Put away, it knows nothing: the same turns would be other objects."""
        return Known, (self._most,)

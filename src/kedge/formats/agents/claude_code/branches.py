"""Branches the user left by rewinding, kept so that going back to one finds its turns again."""

from __future__ import annotations

from collections.abc import Iterable

from kedge.formats.agents.claude_code.chain import Place
from kedge.formats.turns.memory import remember
from kedge.model import Turn

TURNS_KEPT = 256
"""Turns of a branch that can be taken up again. A rewind stays within one context window, which
rarely holds more; keeping all would let memory grow with the file."""
BRANCHES_KEPT = 8
"""Branches that can be gone back to: nobody returns further."""


class Branches:
    def __init__(self) -> None:
        self.current = 0
        """Number of the branch the conversation is on."""
        self._count = 0
        self._recent: list[Turn] = []
        self._left: dict[str, list[Turn]] = {}
        """The turns of a branch from where it was left on."""

    def gave(self, turn: Turn) -> None:
        """A turn of the current branch was given out."""
        self._recent.append(turn)
        if len(self._recent) > 2 * TURNS_KEPT:
            del self._recent[:-TURNS_KEPT]

    def switch(self, place: Place, unfinished: Iterable[Turn]) -> list[Turn]:
        """Leave the current branch for a place; the turns of an earlier branch that stand again.

        `unfinished` are turns of the current branch that were not given out yet.
        """
        self._recent.extend(unfinished)
        target = self._left.get(str(place.branch), [])
        returns = bool(target) and place.next_turn > target[0].index
        again = [turn for turn in target if turn.index < place.next_turn] if returns else []
        fork = again[0].index if again else place.next_turn
        leaving = [turn for turn in self._recent if turn.index >= fork]
        remember(self._left, str(self.current), leaving[-TURNS_KEPT:], most=BRANCHES_KEPT)
        self._recent = [turn for turn in self._recent if turn.index < fork] + again
        self._count += 1
        self.current = place.branch if returns else self._count
        return again

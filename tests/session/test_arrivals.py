"""What comes while a compaction runs is neither lost nor reordered (T-C9)."""

from __future__ import annotations

import random
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from kedgeline.errors import KedgelineError, NothingToUndo
from kedgeline.model import Budget, Compaction, Transcript, Turn
from kedgeline.session.session import Session
from tests.conftest import then_longer
from tests.living.sessions import cheaply, folding, memory, session, steps


class Others:
    """Somebody else at the same session, and what it should be after each thing they do."""

    def __init__(self, chance: random.Random, found: Session, turns: list[Turn]) -> None:
        self.chance, self.found, self.turns = chance, found, turns
        self.left = chance.randint(0, 4)

    def act(self) -> None:
        if not self.left:
            return
        self.left -= 1
        kind = self.chance.random()
        if kind < 0.6:
            fresh = steps(self.chance.randint(1, 3), first=len(self.turns), words=" meanwhile")
            self.found.append(fresh)
            self.turns += fresh
        elif kind < 0.75 and self.turns:
            del self.turns[self.chance.randint(0, len(self.turns)) :]
            self.found.append(Transcript(format="kedgeline", turns=tuple(self.turns)))
        elif kind < 0.9:
            with suppress(NothingToUndo):
                self.found.undo()
        else:
            cheaply(self.found)


def stands(found: Session, turns: list[Turn]) -> None:
    """All turns stand in their order, and what a view folds is what its record says."""
    kept, journal = found.transcript().turns, found._journal()
    expected = [(n, t.user_message, t.assistant_response) for n, t in enumerate(turns)]
    assert [(t.index, t.user_message, t.assistant_response) for t in kept] == expected
    standing, context = journal.recorded(), found.context().turns
    if standing is None:
        assert context == kept
        return
    cut = standing.record.compaction.plan.cut
    assert context[1:] == kept[cut:]
    last = journal.number(cut - 1)
    assert (last, journal.chain(last)) == (standing.record.folded, standing.record.chain)


@pytest.mark.parametrize(
    "seeds",
    then_longer(
        (range(n, n + 50) for n in range(0, 500, 50)),
        (range(n, n + 100) for n in range(10_000, 30_000, 100)),
    ),
)
def test_what_arrives_during_a_compaction_is_neither_lost_nor_reordered(seeds: range) -> None:
    """pi#2206, openclaw#15116, t3code#11107: messages sent during compaction were dropped."""
    for seed in seeds:
        chance, opening = random.Random(seed), memory()
        turns = steps(chance.randint(4, 12))
        ours = session(opening)
        ours.append(turns)
        others = Others(chance, session(opening), list(turns))
        for _ in range(chance.randint(1, 3)):
            others.left = chance.randint(0, 4)

            def make(
                region: Any, budget: Budget, others: Others = others, chance: random.Random = chance
            ) -> Compaction:
                others.act()
                made = folding(region.transcript, region.previous, keep=chance.randint(1, 3))
                others.act()
                return made

            others.act()
            with suppress(KedgelineError):  # it gives up where turns are taken back all the time
                cheaply(ours, make)
            stands(ours, others.turns)
        stands(session(opening), others.turns)


@pytest.mark.parametrize(
    ("meanwhile", "turns", "cuts"),
    [("append", 19, {15}), ("rewind", 5, {None, 2}), ("undo", 18, {15}), ("compact", 18, {15})],
)
def test_a_compaction_is_written_only_if_what_it_folded_still_stands(
    meanwhile: str, turns: int, cuts: set[int | None]
) -> None:
    opening, every = memory(), steps(19)
    ours, theirs = session(opening), session(opening)
    ours.append(every[:12])
    cheaply(ours)
    ours.append(every[:18])
    act: dict[str, Callable[[], object]] = {
        "append": lambda: theirs.append(every[18:]),
        "rewind": lambda: theirs.append(Transcript(format="kedgeline", turns=tuple(every[:5]))),
        "undo": theirs.undo,
        "compact": lambda: cheaply(theirs),
    }
    waiting = [act[meanwhile]]

    def make(region: Any, budget: Budget) -> Compaction:
        made = folding(region.transcript, region.previous)
        if waiting:
            waiting.pop()()
        return made

    made, done = cheaply(ours, make), ours.compaction()
    assert (done.plan.cut if done else None) in cuts
    assert meanwhile != "append" or done == made
    stands(ours, every[:turns])

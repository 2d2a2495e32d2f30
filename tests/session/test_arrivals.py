"""What comes while a compaction runs is neither lost nor reordered (T-C9)."""

from __future__ import annotations

import contextlib
import random
from typing import Any

import pytest

from kedgeline.errors import KedgelineError, NothingToUndo
from kedgeline.model import Budget, Compaction, Transcript, Turn
from kedgeline.session.session import Session
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
            with contextlib.suppress(NothingToUndo):
                self.found.undo()
        else:
            cheaply(self.found)


def raced(seed: int) -> None:
    chance = random.Random(seed)
    opening = memory()
    turns = steps(chance.randint(4, 12))
    ours, theirs = session(opening), session(opening)
    ours.append(turns)
    others = Others(chance, theirs, list(turns))
    for _ in range(chance.randint(1, 3)):
        others.left = chance.randint(0, 4)

        def make(region: Any, budget: Budget) -> Compaction:
            others.act()
            made = folding(region.transcript, region.previous, keep=chance.randint(1, 3))
            others.act()
            return made

        others.act()
        try:
            cheaply(ours, make)
        except KedgelineError:
            assert others.left >= 0
        check(ours, others.turns)
    check(session(opening), others.turns)


def all_raced(seeds: range) -> None:
    for seed in seeds:
        raced(seed)


def check(found: Session, turns: list[Turn]) -> None:
    """All turns stand in their order, and what a view folds is what its record says."""
    kept = found.transcript().turns
    assert [turn.assistant_response for turn in kept] == [t.assistant_response for t in turns]
    assert [turn.user_message for turn in kept] == [t.user_message for t in turns]
    assert [turn.index for turn in kept] == list(range(len(turns)))
    standing = found._journal().recorded()
    context = found.context()
    if standing is None:
        assert list(context.turns) == list(kept)
        return
    cut = standing.record.compaction.plan.cut
    assert cut <= len(turns)
    assert list(context.turns[1:]) == list(kept[cut:])
    last = found._journal().place(cut - 1)
    assert last is not None
    assert last.number == standing.record.folded
    assert found._journal().chain(last.number) == standing.record.chain


@pytest.mark.parametrize("block", range(10))
def test_what_arrives_during_a_compaction_is_neither_lost_nor_reordered(block: int) -> None:
    """pi#2206, openclaw#15116, t3code#11107: messages sent during compaction were dropped."""
    all_raced(range(block * 50, block * 50 + 50))


@pytest.mark.torture
@pytest.mark.parametrize("block", range(200))
def test_much_that_arrives_is_neither_lost_nor_reordered(block: int) -> None:
    all_raced(range(10_000 + block * 100, 10_100 + block * 100))


@pytest.mark.parametrize("what", ["append", "rewind", "undo", "compact"])
def test_a_compaction_is_written_only_if_what_it_folded_still_stands(what: str) -> None:
    opening = memory()
    ours, theirs = session(opening), session(opening)
    turns = steps(12)
    ours.append(turns)
    cheaply(ours)
    ours.append([*turns, *steps(6, first=12)])
    done: list[str] = []

    def make(region: Any, budget: Budget) -> Compaction:
        made = folding(region.transcript, region.previous)
        if not done:
            done.append(what)
            if what == "append":
                theirs.append(steps(1, first=18))
            elif what == "rewind":
                theirs.append(Transcript(format="kedgeline", turns=tuple(turns[:5])))
            elif what == "undo":
                theirs.undo()
            else:
                cheaply(theirs)
        return made

    made = cheaply(ours, make)
    standing = ours._journal().recorded()
    if what == "append":
        assert standing is not None
        assert standing.record.compaction == made
        assert len(ours.transcript().turns) == 19
    elif what == "rewind":
        assert len(ours.transcript().turns) == 5
        assert standing is None or standing.record.compaction.plan.cut <= 5
    else:
        assert standing is not None
        assert standing.record.compaction.plan.cut == 15
    check(ours, list(ours.transcript().turns))

"""T-C5: over 10,000 turns, whatever compactions free and however often they fail, they do not loop.

The field has seen 211 compactions in one session and 3,272 failed ones in a row.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import pairwise
from random import Random
from typing import NamedTuple

import pytest

from kedgeline.planning.policy import POLICY, History, Signals, should_compact, within

TURNS = 5_000
FEWER = 3_000
"""Enough where every turn is like the one before."""
SEEDS = range(6)
WINDOW = 200_000
USABLE = POLICY.usable(WINDOW)
TARGET = within(POLICY.target, USABLE)

Compactor = Callable[[Random, int], int | None]
"""What remains of a context, or None where the compaction fails."""


class Outcome(NamedTuple):
    added: int
    compactions: int
    attempts: list[tuple[int, bool]]
    """Turn of each attempt, and whether it failed."""


def simulate(seed: int, compact: Compactor, turns: int = TURNS) -> Outcome:
    """A session whose turns vary in size; it is asked twice a turn, as an eager caller would."""
    random = Random(seed)
    typical = random.choice((50, 500, 2_000))
    history, context, added, compactions = History(), 0, 0, 0
    attempts: list[tuple[int, bool]] = []
    for turn in range(turns):
        tokens = random.choice((0, typical, 2 * typical, random.randrange(10 * typical)))
        context, added = context + tokens, added + tokens
        history = history.turn(tokens, anchor="done" if random.random() < 0.1 else None)
        for _ in range(2):
            signals = Signals(context_tokens=context, window=WINDOW, history=history)
            if not should_compact(signals).compacts:
                break
            assert history.freed is None or history.tokens_since > 0
            after = compact(random, context)
            attempts.append((turn, after is None))
            if after is None:
                history = history.failed()
                continue
            held_up = "" if after <= TARGET else "one turn has it all"
            history = History(freed=max(0, context - after), usable=USABLE, held_up=held_up)
            context, compactions = after, compactions + 1
    return Outcome(added, compactions, attempts)


def honest(random: Random, context: int) -> int:
    return random.randint(TARGET // 3, TARGET)


def exact(random: Random, context: int) -> int:
    """Only just reaches the target, so that the next one comes as soon as it can."""
    return TARGET


def idle(random: Random, context: int) -> int:
    return context


def fickle(random: Random, context: int) -> int | None:
    """Frees anything between nothing and nearly all, or fails."""
    if random.random() < 0.3:
        return None
    return context - int(context * random.choice((0.0, 0.01, 0.05, 0.12, 0.3, 0.9)))


def failing(random: Random, context: int) -> None:
    return None


def bound(added: int, share: float) -> int:
    """So many steps of a share of the usable window, and three."""
    return math.ceil(added / (share * USABLE)) + 3


@pytest.mark.parametrize(("compact", "turns"), [(honest, TURNS), (exact, FEWER)])
def test_honest_compactions_come_as_seldom_as_the_distance_to_the_target_allows(
    compact: Compactor, turns: int
) -> None:
    for seed in SEEDS:
        found = simulate(seed, compact, turns)
        assert 0 < found.compactions <= bound(found.added, POLICY.begin - POLICY.target)


def test_compactions_that_free_nothing_are_bounded_by_new_tokens() -> None:
    for seed in SEEDS:
        found = simulate(seed, idle, FEWER)
        assert 2 < found.compactions <= bound(found.added, POLICY.rest)


def test_compactions_of_every_kind_are_bounded_by_new_tokens() -> None:
    """One that was not made may be followed by one that frees enough: hence two a step."""
    for seed in SEEDS:
        found = simulate(seed, fickle)
        assert 0 < found.compactions <= 2 * bound(found.added, POLICY.rest)
        assert_failures_pause(found.attempts)


def test_failing_compactions_pause_after_three_and_are_tried_again_for_ever() -> None:
    for seed in SEEDS:
        found = simulate(seed, failing, FEWER)
        turns = [turn for turn, _ in found.attempts]
        pauses = [later - turn for turn, later in pairwise(turns[POLICY.failures - 1 :])]
        assert set(pauses) == {POLICY.cool_down}
        assert turns[-1] >= FEWER - POLICY.cool_down


def assert_failures_pause(attempts: list[tuple[int, bool]]) -> None:
    in_a_row, last = 0, 0
    for turn, failed in attempts:
        if in_a_row >= POLICY.failures:
            assert turn - last >= POLICY.cool_down
        in_a_row, last = (in_a_row + 1 if failed else 0), turn

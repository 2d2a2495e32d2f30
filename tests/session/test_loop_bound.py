"""Compactions do not loop, whatever a session is made of (T-C5)."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kedgeline.errors import ModelFailed
from kedgeline.model import Budget, Compaction
from kedgeline.planning import POLICY
from tests.conftest import then_longer
from tests.living.sessions import Opening, cheaply, folder, folding, memory, session
from tests.turns import turn

WINDOW = 20_000
USABLE = POLICY.usable(WINDOW)
Make = Callable[[Any, Budget], Compaction]
Sizes = Callable[[random.Random, int], int]


def _frees_all(region: Any, budget: Budget) -> Compaction:
    return folding(region.transcript, region.previous, keep=1)


def _frees_nothing(region: Any, budget: Budget) -> Compaction:
    before = sum(each.tokens for each in region.transcript.turns)
    done = region.previous
    plan = done.plan if done else folding(region.transcript, None, keep=10**9).plan
    count = done.count if done else 0
    return Compaction(plan=plan, count=count, tokens_before=before, tokens_after=before)


def _fails(region: Any, budget: Budget) -> Compaction:
    raise ModelFailed("m", "it is down", next_step="wait")


def _fails_at_times(region: Any, budget: Budget) -> Compaction:
    if len(region.transcript.turns) % 3:
        return _fails(region, budget)
    return _frees_all(region, budget)


def simulated(
    make: Make, sizes: Sizes, *, turns: int, seed: int = 0, opening: Opening | None = None
) -> tuple[int, int, int, int]:
    """Tokens that came, compactions, attempts, and the longest run of failures within the rest."""
    chance = random.Random(seed)
    found = session(opening or memory(), window=WINDOW)
    added = tried = failed = run = longest = 0
    for number in range(turns):
        size = sizes(chance, number)
        found.append([turn(0, says=f"step {number}", user="go" if not number else "", tokens=size)])
        added += size
        for _ in range(5):  # a host that asks again at once
            if not found.should_compact().compacts:
                break
            tried += 1
            try:
                cheaply(found, make)
                run = 0
            except ModelFailed:
                failed += 1
                run += 1
                longest = max(longest, run if run <= POLICY.failures else 0)
        else:
            raise AssertionError("five compactions in a row")
    found.store.close()
    return added, tried, failed, longest


def bound(added: int) -> int:
    trigger, target = POLICY.begin * USABLE, POLICY.target * USABLE
    return math.ceil(added / (trigger - target)) + 3


CASES: dict[str, tuple[Make, Sizes]] = {
    "small turns": (_frees_all, lambda chance, n: chance.randint(50, 400)),
    "turns too large": (_frees_all, lambda chance, n: chance.randint(50, 30_000)),
    "nothing to free": (_frees_nothing, lambda chance, n: chance.randint(1, 400)),
    "one giant turn": (_frees_nothing, lambda chance, n: 10**6 if n == 5 else 20),
}


LONG: dict[str, Sizes] = {
    "small turns": lambda chance, n: chance.randint(5, 40),
    "turns too large": lambda chance, n: 30_000 if n % 500 == 0 else chance.randint(1, 40),
    "nothing to free": lambda chance, n: chance.randint(1, 4),
    "one giant turn": lambda chance, n: 10**6 if n == 5 else 2,
}
"""The same with turns so small that little is looked at again and again."""


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize(
    ("seed", "turns"), then_longer([(n, 150) for n in range(3)], [(0, 10_000)])
)
def test_compactions_are_bounded_by_what_came(
    name: str, seed: int, turns: int, tmp_path: Path
) -> None:
    """CC#24179 (211 compactions), codex#35669 (111 in one turn), gemini-cli#6563."""
    make, sizes = CASES[name]
    long = {"sizes": LONG[name], "opening": folder(tmp_path / "state")} if turns > 150 else {}
    added, tried, _, _ = simulated(make, **{"sizes": sizes, **long}, turns=turns, seed=seed)
    assert tried <= bound(added)


def test_failures_stop_after_three_until_the_cool_down() -> None:
    """CC#42055 (3,272 failures in a row), openclaude#1397 (a stop that lasted for ever)."""
    found = session(memory(), window=WINDOW)
    tries: list[int] = []
    for number in range(100):
        found.append([turn(0, says=f"step {number}", tokens=1_000)])
        if found.should_compact().compacts:
            tries.append(number)
            with pytest.raises(ModelFailed):
                cheaply(found, _fails)
    first = tries[0]
    assert tries[:3] == [first, first + 1, first + 2]
    pauses = [later - sooner for sooner, later in itertools.pairwise(tries[2:])]
    assert pauses
    assert all(pause >= POLICY.cool_down for pause in pauses)
    assert found.should_compact(manual=True).compacts, "agentao#189: manual always runs"
    cheaply(found, _frees_all)
    assert found._journal().history().failures == 0


def test_a_compaction_that_fails_changes_nothing_in_the_view() -> None:
    """CC#40352, langchain#38867: a failed compaction leaves all as it was."""
    found = session(memory(), window=WINDOW)
    found.append([turn(0, says=f"step {n}", user="go", tokens=900) for n in range(20)])
    before = found.view("anthropic")
    for _ in range(3):
        with pytest.raises(ModelFailed):
            cheaply(found, _fails_at_times if len(before.messages) % 3 else _fails)
    assert found.view("anthropic") == before
    assert [type(event.what).__name__ for event in found.history()] == ["Attempt"] * 3


def test_failures_in_between_keep_the_bound() -> None:
    added, tried, failed, _ = simulated(
        _fails_at_times, lambda chance, n: chance.randint(50, 900), turns=200
    )
    assert tried - failed <= bound(added)

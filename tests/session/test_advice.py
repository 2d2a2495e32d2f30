"""A session says whether a compaction would pay, at the same cost however long it is."""

from __future__ import annotations

from collections import Counter
from typing import Any

from kedgeline.model import Rates
from kedgeline.session.session import Session
from tests.living.sessions import cheaply, folding, memory
from tests.turns import bash, edit, turn

WINDOW = 20_000
"""16,000 of them are usable: compaction begins at 11,200, a finished task is looked at from 8,000.
"""
RATES = Rates(input=3.0, output=15.0, cache_read=0.3, cache_write=3.75, source="lamp-1")


def filled(turns: int, *, tokens: int, rates: Rates | None = None) -> Session:
    found = Session("s", memory()(""), window=WINDOW, redactor=None, rates=rates)
    found.append([turn(n, says=f"step {n}", user="go", tokens=tokens) for n in range(turns)])
    return found


def test_a_session_advises_with_its_numbers() -> None:
    decision = filled(30, tokens=300).should_compact()
    assert (decision.action, decision.trigger) == ("evaluate", "turns")
    assert decision.advice is not None
    assert decision.advice.unit == "weighted tokens"
    assert decision.advice.assumptions[0].endswith("more turns are expected")
    assert "at 300 tokens a turn" in decision.advice.assumptions[0]


def test_rates_of_a_session_make_it_money() -> None:
    advice = filled(30, tokens=300, rates=RATES).should_compact().advice
    assert advice is not None
    assert advice.unit == "USD"
    assert any("prices of lamp-1" in each for each in advice.assumptions)


def test_a_finished_task_is_not_compacted_where_no_turn_will_carry_less() -> None:
    """The task is done and nothing is to come: what is read again is money for nothing."""
    found = filled(17, tokens=500, rates=Rates(input=2.0, cache_read=1.5, cache_write=2.0))
    found.append([turn(17, bash("pytest", "== 3 passed in 0.1s =="), edit("lamp.py"), tokens=300)])
    found.append([turn(18, bash("git commit -m lamp", "[main 1a2b3c4] lamp"), tokens=300)])
    going_on, ending = found.should_compact(), found.should_compact(remaining_turns=1)
    assert (going_on.action, going_on.trigger) == ("compact", "task_boundary")
    assert (ending.action, ending.trigger) == ("evaluate", "task_boundary")
    assert "it does not pay" in ending.reason


def test_turns_of_the_whole_session_count_and_not_only_those_since_its_compaction() -> None:
    """After 60 turns 50 more are expected; after the 10 since the compaction it would be 12."""
    found = filled(60, tokens=100)
    cheaply(found, lambda region, budget: folding(region.transcript, region.previous, keep=1))
    found.append([turn(n, says=f"more {n}", tokens=10) for n in range(60, 82)])
    advice = found.should_compact().advice
    assert advice is not None
    assert advice.assumptions[0] == "50 more turns, as half of the sessions have after 82"


class Counting:
    """A store that counts how often it is asked."""

    def __init__(self, store: Any) -> None:
        self._store, self.asked = store, Counter[str]()

    def __getattr__(self, name: str) -> Any:
        found = getattr(self._store, name)
        if not callable(found):
            return found

        def counted(*given: Any, **more: Any) -> Any:
            self.asked[name] += 1
            return found(*given, **more)

        return counted

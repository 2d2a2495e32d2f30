"""Whatever a model does, time and tries are kept, and both ways do the same."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import inf
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kedge.model import Step
from kedge.models import Terms
from kedge.models.patience import Patience
from tests.models.guards import (
    Act,
    Ran,
    Run,
    World,
    ask,
    asynchronously,
    failure,
    ran,
    synchronously,
)

BUSY = failure("rate limited")
ACTS = st.lists(
    st.builds(
        Act,
        st.sampled_from([0.0, 0.3, 2.0, 7.5, 40.0]),
        st.one_of(
            st.sampled_from(["fine", "a longer reply"]),
            st.builds(
                failure,
                st.sampled_from(["rate limited", "server error", "timed out", "bad request"]),
                st.sampled_from([None, 0.0, 3.0, 25.0, 1e9]),
            ),
        ),
        st.booleans(),
    ),
    max_size=10,
)
TERMS_ = st.builds(
    Terms,
    call_seconds=st.sampled_from([0.0, 1.0, 20.0]),
    seconds=st.sampled_from([0.0, 0.5, 10.0, 60.0]),
    tries=st.integers(0, 4),
    tokens=st.sampled_from([0, 0, 40]),
)
Case = tuple[list[Act], Terms, float, int]
CASES = st.tuples(ACTS, TERMS_, st.floats(0, 1, exclude_max=True), st.integers(1, 3))


def run_case(case: Case, run: Run) -> Ran:
    acts, terms, chance, requests = case
    asks = [ask(f"request {number}") for number in range(requests)]
    return ran(World(*acts, chance=chance), *asks, terms=terms, run=run)


def wrong_with_time(case: Case, found: Ran) -> list[str]:
    """Requests and pauses that are not within the terms."""
    _, terms, _, _ = case
    wrong = []
    deadline = found.asks[0][0] + (terms.seconds or inf) if found.asks else inf
    for at, one in found.asks:
        longest = min(terms.call_seconds or inf, deadline - at)
        if not (0 < one.seconds <= longest or (longest == inf and one.seconds == 0)):
            wrong.append(f"a request at {at} for {one.seconds} seconds")
    wrong += [f"a pause at {at}" for at, seconds in found.waits if at + seconds >= deadline]
    prompts = [one.prompt for _, one in found.asks]
    if any(prompts.count(prompt) > max(1, terms.tries) for prompt in prompts):
        wrong.append("too many tries")
    return wrong


@settings(max_examples=60)
@given(CASES)
def test_time_and_tries_are_kept_and_both_ways_are_equal(case: Case) -> None:
    found, other = run_case(case, synchronously), run_case(case, asynchronously)
    assert wrong_with_time(case, found) == []
    assert found[:4] == other[:4]
    assert len(found.calls) == len(found.asks)


SLOW: Case = ([Act(6, BUSY), Act(6, BUSY), Act(6, "x")], Terms(seconds=10, tries=2), 0.5, 3)
ASKS_FOR_MORE: Case = ([Act(1, failure("rate limited", 20))], Terms(seconds=10), 0.5, 1)
ALWAYS_BUSY: Case = ([Act(1, BUSY)] * 5, Terms(tries=2), 0.5, 1)
HARD = (SLOW, ASKS_FOR_MORE, ALWAYS_BUSY)
begin = Patience.__init__


def tireless(self: Patience, terms: Terms, **given: Any) -> None:
    begin(self, replace(terms, tries=terms.tries + 1), **given)


PLANTED: dict[str, tuple[str, Callable[..., object]]] = {
    "a request gets more than is left": ("_seconds", lambda self, *_: self._terms.call_seconds),
    "the time never ends": ("left", lambda self: inf),
    "one try too many": ("__init__", tireless),
}


@pytest.mark.parametrize("bug", PLANTED)
def test_a_guard_that_is_too_patient_is_noticed(bug: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def noticed() -> list[str]:
        return [
            said for case in HARD for said in wrong_with_time(case, run_case(case, asynchronously))
        ]

    assert noticed() == []
    monkeypatch.setattr(Patience, *PLANTED[bug])
    assert noticed() != []


def test_a_way_that_does_something_else_is_noticed() -> None:
    def hurried(step: Step[object], world: World) -> object:
        world.rest = lambda seconds: None  # type: ignore[method-assign]
        return asynchronously(step, world)

    assert run_case(ALWAYS_BUSY, synchronously)[:4] == run_case(ALWAYS_BUSY, asynchronously)[:4]
    assert run_case(ALWAYS_BUSY, synchronously)[:4] != run_case(ALWAYS_BUSY, hurried)[:4]

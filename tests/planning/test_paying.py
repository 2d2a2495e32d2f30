"""When a compaction pays: the arithmetic against requests that are paid one by one, and what the
triggers make of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bench import paying as bench
from kedgeline.model import Rates
from kedgeline.planning import policy as paying
from kedgeline.planning.policy import (
    ACTIONS,
    POLICY,
    WEIGHTED,
    Advice,
    Decision,
    History,
    Policy,
    Signals,
    advice_on,
    should_compact,
)

RATES = Rates(input=3.0, output=15.0, cache_read=0.3, cache_write=3.75, source="lamp-1")
PLAIN = Rates(input=2.0, output=8.0)


def paid(carried: int, after: int | None, turns: int, growth: int) -> float:
    """What a task pays for its input, request by request: what the cache has is read, what is new
    is written to it. With a compaction, what it left is new once, and a share of what it took away
    is fetched again in the first turn after it."""
    cached, context, total = carried, carried, 0.0
    if after is not None:
        cached, context = 0, after + round(paying.REFETCHED * (carried - after))
    for _ in range(turns):
        total += (cached * 0.3 + (context - cached) * 3.75) / 1e6
        cached = context
        context += growth
    return total


def advised(carried: int = 100_000, after: int = 20_000, turns: int = 30, **more: Any) -> Advice:
    """In a window so large that no further compaction comes."""
    given = {"after": after, "remaining_turns": turns, "window": 10_000_000}
    found = advice_on(Signals(context_tokens=carried, **given, **more), POLICY)
    assert found is not None
    return found


# The arithmetic


@given(
    carried=st.integers(0, 200_000),
    after=st.integers(0, 60_000),
    turns=st.integers(0, 80),
    growth=st.integers(0, 5_000),
)
def test_what_is_saved_is_what_the_requests_of_a_task_cost_less(
    carried: int, after: int, turns: int, growth: int
) -> None:
    after = min(after, carried)
    less = paid(carried, None, turns, growth) - paid(carried, after, turns, growth)
    found = advised(carried, after, turns, rates=RATES)
    assert found.net == pytest.approx(less, abs=1e-6)
    even = found.break_even_turns
    if even is None:
        assert found.net <= 0
    else:
        assert advised(carried, after, even + 1, rates=RATES).pays
        assert even <= 1 or advised(carried, after, even - 1, rates=RATES).net <= 1e-9


def test_a_session_with_known_numbers() -> None:
    """80,000 tokens less over 30 turns at a tenth; 24,800 written to the cache instead of read, and
    4,800 of them carried on."""
    found = advised()
    assert found.saves == pytest.approx(240_000)
    assert found.costs == pytest.approx(24_800 * 1.15 + 4_800 * 30 * 0.1)
    assert (found.break_even_turns, found.remaining_turns, found.unit) == (4, 30, WEIGHTED)
    assert found.pays
    assert found.reason == (
        "a compaction now would save 240,000 weighted tokens over 30 turns and cost 42,920 "
        "weighted tokens: it pays"
    )
    assert any("prices are not known" in each for each in found.assumptions)
    assert advised(rates=Rates(cache_read=0.1)) == found, "a price of the cache alone is none"
    nothing = advised(turns=0)
    assert (nothing.saves, nothing.costs, nothing.pays) == (0, 0, False)


def test_prices_are_said_in_their_currency() -> None:
    found = advised(rates=RATES)
    assert (found.unit, found.net) == ("USD", pytest.approx(advised().net * 3 / 1e6))
    assert "save 0.7200 USD over 30 turns and cost 0.1288 USD" in found.reason
    assert any("prices of lamp-1" in each for each in found.assumptions)


def test_a_provider_without_a_cache_has_none_to_write_anew() -> None:
    found = advised(rates=PLAIN)
    assert found.break_even_turns == 1
    assert found.costs == pytest.approx(found.saves * 4_800 / 80_000)
    assert any("caches nothing" in each for each in found.assumptions)


# From signals


def signals(context: int, **fields: Any) -> Signals:
    past = {name: fields.pop(name) for name in History.__struct_fields__ if name in fields}
    return Signals(context_tokens=context, window=200_000, history=History(**past), **fields)


def test_what_is_not_told_is_taken_from_real_sessions_and_said() -> None:
    found = advice_on(signals(100_000, turns=40), POLICY)
    assert found is not None
    assert found.remaining_turns == 30
    assert found.assumptions == (
        "30 more turns, as half of the sessions have after 40",
        "84,000 tokens are left, as many as the target allows",
        "6 % of what is folded is read again (960 tokens)",
        "prices are not known, weights of a typical provider are taken; the cache is read at 0.1 "
        "and written at 1.25 of the price of input",
        "no model is asked for the summary",
    )


def test_savings_end_with_the_next_compaction() -> None:
    """A session that grows by 10,000 tokens a turn is compacted again within ten turns."""
    grows = {"turns_since": 10, "tokens_since": 100_000, "after": 20_896}
    fast = advice_on(signals(84_000, turns=90, **grows), POLICY)
    assert fast is not None
    assert fast.remaining_turns == 9
    assert "9 turns until the next compaction, at 10,000 tokens a turn" in fast.assumptions[0]


@pytest.mark.parametrize("window", [0, -5])
def test_without_a_window_there_is_no_advice(window: int) -> None:
    assert advice_on(Signals(context_tokens=9_000, window=window), POLICY) is None


SIGNALS = st.builds(
    signals,
    st.integers(0, 25).map(lambda step: step * 8_400),
    overhead=st.sampled_from([0, 9_000, 250_000]),
    turns=st.integers(0, 80),
    remaining_turns=st.none() | st.integers(0, 60),
    after=st.none() | st.integers(0, 90_000),
    rates=st.sampled_from([None, RATES, PLAIN, Rates(input=0.0, cache_read=0.0)]),
    turns_since=st.integers(0, 60),
    tokens_since=st.integers(0, 60_000),
    anchor_since=st.none() | st.just("done"),
    freed=st.none() | st.integers(0, 50_000),
    held_up=st.sampled_from(["", "one turn has it all"]),
    failures=st.integers(0, 4),
    manual=st.booleans(),
)
POLICIES = st.sampled_from([POLICY, Policy(begin=0.8, target=0.3)])


@given(signals=SIGNALS, more=st.integers(0, 100_000), policy=POLICIES)
def test_more_context_never_weakens_the_action_nor_makes_it_pay_less(
    signals: Signals, more: int, policy: Policy
) -> None:
    fuller = msgspec.structs.replace(signals, context_tokens=signals.context_tokens + more)
    rank = [ACTIONS.index(should_compact(one, policy).action) for one in (signals, fuller)]
    assert rank == sorted(rank)
    before, after = advice_on(signals, policy), advice_on(fuller, policy)
    if before is not None and before.pays:
        assert after is not None
        assert after.pays


@given(signals=SIGNALS, policy=POLICIES)
def test_advice_changes_only_what_waits_for_it(signals: Signals, policy: Policy) -> None:
    """A forced trigger, a full context and a manual one do not ask whether it pays."""
    decision = should_compact(signals, policy)
    ruinous = msgspec.structs.replace(signals, remaining_turns=0)
    after = should_compact(ruinous, policy)
    if decision.trigger in ("manual", "hard_limit", "context_force", "context"):
        assert (after.action, after.trigger) == (decision.action, decision.trigger)
    elif decision.trigger in ("task_boundary", "turns"):
        assert after.action == "evaluate"
    else:  # held back or nothing to do: what does not pay needs no holding back
        assert after.action in (decision.action, "nothing")
    strong = ACTIONS.index(decision.action) >= ACTIONS.index("evaluate")
    assert (decision.advice is not None) == (strong and signals.usable(policy) > 0)


# What the triggers make of it

BOUNDARY: dict[str, Any] = {
    "tokens_since": 33_600,
    "anchor_since": "tests pass after 2 edits",
    "turns_since": 9,
    "after": 20_896,
}


def decide(context: int, policy: Policy = POLICY, **fields: Any) -> Decision:
    return should_compact(signals(context, **fields), policy)


def test_a_finished_task_with_nothing_to_come_is_only_evaluated() -> None:
    """The work is done: who compacts now pays for a prefix that nobody reads again."""
    decision = decide(84_000, remaining_turns=2, **BOUNDARY)
    assert (decision.action, decision.trigger) == ("evaluate", "task_boundary")
    assert decision.advice is not None
    assert decision.reason.endswith(f"; {decision.advice.reason}")
    assert "over 2 turns" in decision.reason
    assert not decision.compacts


LONG: dict[str, Any] = {
    "tokens_since": 40_000,
    "turns_since": 40,
    "turns": 60,
    "after": 20_896,
}


def test_many_turns_only_advise_as_long_as_the_policy_says_no_more() -> None:
    """R31: more than 20 turns never compact alone."""
    decision = decide(100_000, **LONG)
    assert (decision.action, decision.trigger) == ("evaluate", "turns")
    assert decision.advice is not None
    assert decision.advice.pays


def test_the_constants_are_what_was_measured(corpus: Path) -> None:
    found = bench.measure(corpus, watch=lambda what: None)
    for row in found.remaining:
        assert row.taken <= row.median + 1, "no promise that most sessions do not keep"
    again = found.again
    assert again.read_after is not None
    assert again.read_before is not None
    extra = again.read_after.mean - again.read_before.mean
    assert extra == pytest.approx(paying.REFETCHED, abs=0.005)
    assert found.growth == pytest.approx(paying.GROWTH, rel=0.05)

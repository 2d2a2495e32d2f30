"""When a compaction pays: the arithmetic against requests that are paid one by one, and what the
triggers make of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bench import paying as bench
from kedgeline.model import Rates
from kedgeline.planning import paying, triggers
from kedgeline.planning.paying import WEIGHTED, WEIGHTS, Advice, Going, advice_on, advise
from kedgeline.planning.policy import POLICY, History, Policy, Signals
from kedgeline.planning.triggers import ACTIONS, Decision, should_compact

RATES = Rates(input=3.0, output=15.0, cache_read=0.3, cache_write=3.75, source="lamp-1")
GOING = Going(carried=100_000, after=20_000, turns=30, refetched=5_000)
PLAIN = Rates(input=2.0, output=8.0)
MONEY = Policy(evaluate_costs=0.5)


def paid(going: Going, *, compacted: bool, read: float, written: float, growth: int = 700) -> float:
    """What a task pays for its input, request by request: what the cache has is read, what is new
    is written to it. With a compaction, what it left is new once, and what it took away is fetched
    again in the first turn after it."""
    cached = 0 if compacted else going.carried
    context = going.after if compacted else going.carried
    total = 0.0
    for turn in range(going.turns):
        if compacted and turn == 0:
            context += going.refetched
        total += cached * read + (context - cached) * written
        cached = context
        context += growth
    return total


def estimated(going: Going, rates: Rates | None = None, **more: Any) -> Advice:
    return advise(going, rates=rates, **more)


# The arithmetic


@settings(max_examples=300)
@given(
    carried=st.integers(0, 200_000),
    after=st.integers(0, 60_000),
    turns=st.integers(1, 80),
    refetched=st.integers(0, 20_000),
    growth=st.integers(0, 5_000),
)
def test_what_is_saved_is_what_the_requests_of_a_task_cost_less(
    carried: int, after: int, turns: int, refetched: int, growth: int
) -> None:
    going = Going(carried=carried, after=min(after, carried), turns=turns, refetched=refetched)
    price: dict[str, Any] = {"read": 0.3 / 1e6, "written": 3.75 / 1e6, "growth": growth}
    asis, less = paid(going, compacted=False, **price), paid(going, compacted=True, **price)
    assert estimated(going, RATES).net == pytest.approx(asis - less, abs=1e-6)


@pytest.mark.parametrize("left_out", ["after", "refetched"])
def test_the_check_fails_where_a_cost_is_forgotten(left_out: str) -> None:
    price: dict[str, Any] = {"read": 0.3 / 1e6, "written": 3.75 / 1e6}
    real = paid(GOING, compacted=False, **price) - paid(GOING, compacted=True, **price)
    blind = estimated(msgspec.structs.replace(GOING, **{left_out: 0}), RATES)
    assert blind.net != pytest.approx(real, rel=0.01)


def test_a_session_with_known_numbers() -> None:
    """80,000 tokens less over 30 turns at a tenth; 25,000 written to the cache instead of read, and
    5,000 of them carried on."""
    found = estimated(GOING)
    assert found.saves == pytest.approx(240_000)
    assert found.costs == pytest.approx(43_750)
    assert found.net == pytest.approx(196_250)
    assert (found.break_even_turns, found.remaining_turns, found.unit) == (4, 30, WEIGHTED)
    assert found.pays
    assert found.reason == (
        "a compaction now would save 240,000 weighted tokens over 30 turns and cost 43,750 "
        "weighted tokens: it pays"
    )


def test_prices_are_said_in_their_currency() -> None:
    found = estimated(GOING, RATES)
    assert found.unit == "USD"
    assert found.net == pytest.approx(196_250 * 3 / 1e6)
    assert "save 0.7200 USD over 30 turns and cost 0.1312 USD" in found.reason
    assert any("prices of lamp-1" in each for each in found.assumptions)


def test_without_prices_the_result_says_that_weights_were_taken() -> None:
    assert any("prices are not known" in each for each in estimated(GOING).assumptions)
    unknown = estimated(GOING, Rates(cache_read=0.1))
    assert (unknown.unit, unknown.net) == (WEIGHTED, estimated(GOING).net)


@pytest.mark.parametrize("how", [{"rates": PLAIN}, {"caches": False}])
def test_a_provider_without_a_cache_has_none_to_write_anew(how: dict[str, Any]) -> None:
    found = advise(GOING, **how)
    assert found.break_even_turns == 1
    assert found.costs == pytest.approx(found.saves * 5_000 / 80_000)
    assert any("caches nothing" in each for each in found.assumptions)


def test_a_cache_that_costs_nothing_to_write_is_written_at_the_price_of_input() -> None:
    free = Rates(input=3.0, output=15.0, cache_read=0.3)
    found = estimated(GOING, free)
    assert found.costs == pytest.approx((25_000 * 2.7 + 5_000 * 30 * 0.3) / 1e6)


def test_a_model_that_writes_the_summary_is_paid() -> None:
    asked = msgspec.structs.replace(GOING, asked=80_000, answered=2_000)
    dearer = estimated(asked, RATES)
    expected = (80_000 * 3.0 + 2_000 * 15.0) / 1e6
    assert dearer.costs - estimated(GOING, RATES).costs == pytest.approx(expected)
    assert "a model is sent 80,000 tokens for the summary and answers 2,000" in dearer.assumptions
    unpriced = estimated(asked, Rates(input=3.0, cache_read=0.3, cache_write=3.75))
    assert unpriced.costs == pytest.approx(dearer.costs), "an answer costs five times what is sent"


@given(
    carried=st.integers(0, 300_000),
    after=st.integers(0, 60_000),
    turns=st.integers(0, 200),
    refetched=st.integers(0, 30_000),
    asked=st.integers(0, 200_000),
    priced=st.booleans(),
)
def test_it_pays_from_the_break_even_on_and_not_before(
    carried: int, after: int, turns: int, refetched: int, asked: int, priced: bool
) -> None:
    going = Going(carried=carried, after=after, turns=turns, refetched=refetched, asked=asked)
    rates = RATES if priced else None
    found = estimated(going, rates)
    assert found.net == pytest.approx(found.saves - found.costs)
    even = found.break_even_turns
    if even is None:
        assert found.net <= 0
        return
    late = estimated(msgspec.structs.replace(going, turns=even + 1), rates)
    assert late.pays
    if even > 1:
        early = estimated(msgspec.structs.replace(going, turns=even - 1), rates)
        assert early.net <= 1e-9


def test_without_turns_to_come_nothing_pays() -> None:
    found = estimated(msgspec.structs.replace(GOING, turns=0))
    assert (found.saves, found.costs, found.pays) == (0, 0, False)
    assert found.reason.endswith("it does not pay")


def test_small_requests_do_not_make_a_cheap_task() -> None:
    """Tokens per task, not per request: the smaller context loses, as all is read again."""
    moderate = Going(carried=100_000, after=30_000, turns=12, refetched=2_000)
    extreme = Going(carried=100_000, after=5_000, turns=12, refetched=70_000)
    assert extreme.after < moderate.after
    assert estimated(moderate).net > 0 > estimated(extreme).net


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


def test_what_is_told_is_taken() -> None:
    found = advice_on(signals(84_000, remaining_turns=7, after=9_000, rates=RATES), POLICY)
    assert found is not None
    assert (found.remaining_turns, found.unit) == (7, "USD")
    assert found.saves == pytest.approx(75_000 * 7 * 0.3 / 1e6)


@pytest.mark.parametrize(("turns", "more"), [(0, 12), (19, 12), (20, 30), (49, 30), (50, 50)])
def test_sessions_that_came_far_go_on_for_longer(turns: int, more: int) -> None:
    assert paying.remaining_after(turns) == more


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
    caches=st.none() | st.booleans(),
    turns_since=st.integers(0, 60),
    tokens_since=st.integers(0, 60_000),
    anchor_since=st.none() | st.just("done"),
    freed=st.none() | st.integers(0, 50_000),
    held_up=st.sampled_from(["", "one turn has it all"]),
    failures=st.integers(0, 4),
    manual=st.booleans(),
)
POLICIES = st.sampled_from([POLICY, MONEY, Policy(evaluate_costs=1.0)])


@settings(max_examples=400)
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


@settings(max_examples=300)
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


def test_a_finished_task_is_compacted_where_that_pays() -> None:
    decision = decide(84_000, **BOUNDARY)
    assert (decision.action, decision.trigger) == ("compact", "task_boundary")
    assert decision.advice is not None
    assert decision.advice.pays


def test_a_finished_task_with_nothing_to_come_is_only_evaluated() -> None:
    """The work is done: who compacts now pays for a prefix that nobody reads again."""
    decision = decide(84_000, remaining_turns=2, **BOUNDARY)
    assert (decision.action, decision.trigger) == ("evaluate", "task_boundary")
    assert decision.advice is not None
    assert decision.reason.endswith(f"; {decision.advice.reason}")
    assert "over 2 turns" in decision.reason
    assert not decision.compacts


@pytest.mark.parametrize("context", [117_600, 142_800, 200_000])
def test_a_context_that_the_window_cannot_hold_is_compacted_whatever_it_costs(context: int) -> None:
    decision = decide(context, remaining_turns=0, **BOUNDARY)
    assert decision.compacts
    assert decision.advice is not None
    assert not decision.advice.pays


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


def test_many_turns_compact_where_the_policy_counts_money_and_it_pays_well() -> None:
    decision = decide(100_000, MONEY, **LONG)
    assert (decision.action, decision.trigger) == ("compact", "turns")
    assert decision.advice is not None
    assert decision.reason.endswith(decision.advice.reason)
    assert decide(100_000, MONEY, remaining_turns=6, **LONG).action == "evaluate"


@pytest.mark.parametrize(
    "less",
    [{"tokens_since": 33_599}, {"turns_since": 20}],
)
def test_many_turns_want_as_much_as_a_task_boundary(less: dict[str, Any]) -> None:
    """R31: never alone. The bound on how often compactions come is the same."""
    assert not decide(100_000, MONEY, **{**LONG, **less}).compacts
    assert not decide(83_999, MONEY, **LONG).compacts


@pytest.mark.parametrize("manual", [False, True])
def test_a_decision_to_do_nothing_has_no_advice(manual: bool) -> None:
    decision = decide(16_800, manual=manual)
    assert (decision.advice is None) == (not manual)


# Tests of the tests, and of the constants


def test_the_check_of_more_context_fails_where_a_due_compaction_counts_against_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Counting turns until this context is due makes a fuller one look worse."""
    asked = advice_on

    def until_due(signals: Signals, policy: Policy) -> Advice | None:
        left = max(0, 117_600 - signals.context_tokens) // 900
        return asked(msgspec.structs.replace(signals, remaining_turns=left), policy)

    monkeypatch.setattr(triggers, "advice_on", until_due)
    context = [84_000, 116_000]
    actions = [ACTIONS.index(decide(each, **BOUNDARY).action) for each in context]
    assert actions != sorted(actions)


def test_the_weights_are_relative_to_one_input_token() -> None:
    assert (WEIGHTS.input, WEIGHTS.output) == (1e6, 5e6)
    assert (WEIGHTS.cache_read, WEIGHTS.cache_write) == (1e5, 1.25e6)


def test_the_constants_are_what_was_measured(corpus: Path) -> None:
    found = bench.measure(corpus, watch=lambda what: None, windows=())
    for row in found.remaining:
        assert row.taken <= row.median + 1, "no promise that most sessions do not keep"
    again = found.again
    assert again.read_after is not None
    assert again.read_before is not None
    extra = again.read_after.mean - again.read_before.mean
    assert extra == pytest.approx(paying.REFETCHED, abs=0.005)
    assert found.growth == pytest.approx(paying.GROWTH, rel=0.05)

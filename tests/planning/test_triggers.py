"""Triggers: each alone with its reason, its exact bar, and what holds compaction back."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kedgeline.planning.policy import (
    ACTIONS,
    POLICY,
    Decision,
    History,
    Policy,
    Signals,
    should_compact,
)

WINDOW = 200_000
USABLE = 168_000
"""Of that window: 32,000 tokens are reserved for the answer."""


def decide(context: int, **fields: Any) -> Decision:
    """The decision on a context; fields of the history may be given directly."""
    past = {name: fields.pop(name) for name in History.__struct_fields__ if name in fields}
    signals = Signals(context_tokens=context, window=WINDOW, history=History(**past))
    return should_compact(msgspec.structs.replace(signals, **fields))


def brief(decision: Decision) -> tuple[str, str]:
    return decision.action, decision.trigger


# Each trigger alone


def test_a_context_with_room_needs_nothing() -> None:
    expected = Decision(
        action="nothing",
        trigger="none",
        reason="context is at 10 % of the usable window (16,800 of 168,000 tokens); "
        "compaction begins at 70 %",
    )
    assert expected == decide(16_800)


@pytest.mark.parametrize(
    ("context", "action", "trigger", "reason"),
    [
        (117_599, "nothing", "none", "at 69 % of the usable window"),
        (117_600, "compact", "context", "at 70 % of the usable window"),
        (142_799, "compact", "context", "compaction begins at 70 %"),
        (142_800, "force", "context_force", "compaction with masking is forced at 85 %"),
        (168_000, "force", "context_force", "at 100 % of the usable window"),
        (168_001, "force", "hard_limit", "(168,001 of 168,000 tokens)"),
    ],
)
def test_bars_are_reached_at_exactly_their_share_and_the_limit_only_beyond_it(
    context: int, action: str, trigger: str, reason: str
) -> None:
    decision = decide(context)
    assert (action, trigger) == brief(decision)
    assert reason in decision.reason
    assert decision.masking == (action == "force")
    assert decision.compacts == (action in ("compact", "force"))


def test_system_prompt_and_tools_take_from_the_usable_window() -> None:
    """Tool schemas were not counted, and compaction came too late."""
    assert brief(decide(105_000)) == ("nothing", "none")
    assert brief(decide(105_000, overhead=18_000)) == ("compact", "context")


def test_a_stronger_trigger_says_which_weaker_ones_hold() -> None:
    decision = decide(120_000, turns_since=30)
    assert brief(decision) == ("compact", "context")
    assert [reason.split(";")[0] for reason in decision.also] == [
        "30 turns since the last compaction, more than 20"
    ]


@pytest.mark.parametrize("context", [0, 1_000, 117_599])
@pytest.mark.parametrize("turns", [21, 1_000_000])
def test_turns_alone_never_compact(turns: int, context: int) -> None:
    decision = decide(context, turns_since=turns)
    assert brief(decision) == ("evaluate", "turns")
    assert not decision.compacts
    assert "more than 20" in decision.reason


def test_a_finished_task_compacts_from_the_target_on() -> None:
    past = {"tokens_since": 33_600, "anchor_since": "tests pass after 2 edits"}
    decision = decide(84_000, after=20_000, **past)
    assert brief(decision) == ("compact", "task_boundary")
    assert decision.reason == (
        "a task was finished (tests pass after 2 edits) and 33,600 tokens came since the last "
        "compaction, at least 20 % of the usable window; "
        "context is at 50 % of the usable window (84,000 of 168,000 tokens)"
    )


@pytest.mark.parametrize(
    ("context", "tokens", "anchor"),
    [(83_999, 33_600, "done"), (84_000, 33_599, "done"), (84_000, 33_600, None)],
)
def test_a_finished_task_wants_an_anchor_new_tokens_and_a_context_above_the_target(
    context: int, tokens: int, anchor: str | None
) -> None:
    assert brief(decide(context, tokens_since=tokens, anchor_since=anchor)) == ("nothing", "none")


@pytest.mark.parametrize("window", [0, -1])
@pytest.mark.parametrize("context", [0, 10**9])
def test_a_window_that_is_not_known_never_compacts_and_says_so(window: int, context: int) -> None:
    decision = decide(context, window=window, turns_since=99, anchor_since="done", tokens_since=99)
    assert brief(decision) == ("nothing", "no_window")
    assert "not known" in decision.reason


def test_tools_that_fill_the_window_are_no_reason_to_compact() -> None:
    decision = decide(1_000, window=8_000, overhead=9_000)
    assert brief(decision) == ("warn", "no_room")
    assert "9,000" in decision.reason
    assert "8,000" in decision.reason


# What holds compaction back


@pytest.mark.parametrize("context", [117_600, 150_000, 200_000])
def test_nothing_runs_again_before_new_tokens_arrive(context: int) -> None:
    assert brief(decide(context, freed=50_000)) == ("warn", "no_new_tokens")
    assert decide(context, freed=50_000, tokens_since=1).compacts


@pytest.mark.parametrize("held_up", ["", "one turn has it all"])
def test_a_change_to_a_smaller_window_compacts_again_at_once(held_up: str) -> None:
    """Compacted to half of a large window, then the user chose a model with a small one."""
    past = {"freed": 9, "held_up": held_up, "usable": USABLE}
    assert decide(84_000, window=64_000, **past).trigger == "hard_limit"
    assert not decide(84_000, window=64_000, **{**past, "usable": 51_200}).compacts
    assert not decide(84_000, window=64_000, **{**past, "usable": 9_000}).compacts


@pytest.mark.parametrize("context", [117_600, 190_000])
@pytest.mark.parametrize(
    ("freed", "rest", "said"),
    [
        (0, 16_800, "the last compaction was not made: one turn has it all;"),
        (900, 33_600, "the last compaction freed only 900 tokens: one turn has it all;"),
    ],
)
def test_what_was_held_up_waits_for_new_tokens_and_says_why(
    context: int, freed: int, rest: int, said: str
) -> None:
    """A session was compacted 211 times, most of them a few lines apart, and freed nothing."""
    past = {"held_up": "one turn has it all", "freed": freed}
    held = decide(context, tokens_since=rest - 1, **past)
    assert brief(held) == ("warn", "held_up")
    assert said in held.reason
    assert decide(context, tokens_since=rest, **past).compacts


@pytest.mark.parametrize("context", [117_600, 142_800, 500_000])
def test_three_failures_cool_down_and_then_there_is_one_try(context: int) -> None:
    assert decide(context, failures=2, turns_since_failure=0).compacts
    held = decide(context, failures=3, turns_since_failure=9)
    assert brief(held) == ("warn", "cool_down")
    assert "3 compactions failed in a row; the next try comes in 1 turn," in held.reason
    assert decide(context, failures=3, turns_since_failure=10).compacts
    assert brief(decide(context, failures=4, turns_since_failure=0)) == ("warn", "cool_down")
    assert decide(context, failures=4, turns_since_failure=10).compacts


@pytest.mark.parametrize(
    "state",
    [
        {"failures": 3},
        {"failures": 40, "held_up": "x", "freed": 0},
        {"freed": 5},
        {"window": 0},
        {"overhead": 900_000},
        {},
    ],
)
@pytest.mark.parametrize("context", [0, 100_000])
def test_a_manual_compaction_always_runs(state: dict[str, Any], context: int) -> None:
    """A breaker once blocked the very command that would have repaired the session."""
    decision = decide(context, manual=True, **state)
    assert brief(decision) == ("compact", "manual")
    assert decision.reason.startswith("asked for by the user; context ")


def test_a_decision_is_not_a_truth_value() -> None:
    with pytest.raises(TypeError, match=r"use decision\.compacts"):
        bool(decide(0))


# Properties

HISTORIES = st.builds(
    History,
    turns_since=st.integers(0, 60),
    tokens_since=st.integers(0, 60_000),
    anchor_since=st.none() | st.just("done"),
    freed=st.none() | st.integers(0, 50_000),
    usable=st.sampled_from([0, 6_400, USABLE]),
    held_up=st.sampled_from(["", "one turn has it all"]),
    failures=st.integers(0, 5),
    turns_since_failure=st.integers(0, 15),
)
SIGNALS = st.builds(
    Signals,
    context_tokens=st.integers(0, 25).map(lambda step: step * USABLE // 20),
    window=st.sampled_from([WINDOW, 128_000, 8_000, 0]),
    overhead=st.sampled_from([0, 9_000]),
    history=HISTORIES,
    manual=st.booleans(),
)


def rank(signals: Signals, policy: Policy = POLICY) -> int:
    return ACTIONS.index(should_compact(signals, policy).action)


@settings(max_examples=500)
@given(signals=SIGNALS)
def test_one_that_was_held_up_never_strengthens_the_action(signals: Signals) -> None:
    held = msgspec.structs.replace(signals.history, held_up="one turn has it all")
    free = msgspec.structs.replace(signals.history, held_up="")
    ranks = [rank(msgspec.structs.replace(signals, history=one)) for one in (held, free)]
    assert ranks == sorted(ranks)


@given(signals=SIGNALS)
def test_every_reason_is_one_sentence_of_one_line(signals: Signals) -> None:
    for reason in (should_compact(signals).reason, *should_compact(signals).also):
        assert reason
        assert "\n" not in reason
        assert not reason.endswith(".")

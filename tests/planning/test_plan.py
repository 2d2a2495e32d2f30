"""Where a plan cuts, what it masks, and what it says when it cannot do enough."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kedge.model import NO_LIMIT, Anchor, Budget, Plan, Turn
from kedge.planning import Policy, make_plan
from kedge.planning.attempts import LEAST_SUMMARY
from tests.turns import bash, called, turn

ANCHOR = "task_completion"


def anchored(*positions: int) -> list[Anchor]:
    return [
        Anchor(turn_index=n, type=ANCHOR, confidence=0.95, description=f"done {n}")
        for n in positions
    ]


def turns(count: int, **fields: Any) -> list[Turn]:
    return [turn(n, exchange=n, user=f"request {n}", says="done", **fields) for n in range(count)]


def cut(count: int, *anchors: int, budget: Budget | None = None) -> int:
    return make_plan(turns(count), anchored(*anchors), budget or Budget()).cut


def test_the_cut_falls_on_the_latest_anchor() -> None:
    """The acceptance rows of the seed: 90 turns with an anchor at 40, 10 with 5, 10 with 7."""
    assert cut(90, 40) == 40
    assert cut(10, 5) == 5
    assert cut(10, 7) == 7
    assert cut(90, 12, 40) == 40


def test_an_anchor_in_the_recent_window_does_not_shrink_it() -> None:
    assert cut(10, 8) == 7
    assert cut(10, 3, 9) == 7


def test_without_an_anchor_the_recent_window_is_kept() -> None:
    assert cut(10) == 7
    assert cut(10, budget=Budget(recent=500)) == 5
    assert cut(10, budget=Budget(recent_turns=1)) == 9


def test_a_synthetic_anchor_never_moves_the_cut() -> None:
    """R5: with a synthetic checkpoint at the end, or anywhere, the recent window decides."""
    for position in (2, 9):
        synthetic = [
            Anchor(
                turn_index=position,
                type="user_checkpoint",
                confidence=1.0,
                description="",
                synthetic=True,
            )
        ]
        assert make_plan(turns(10), synthetic, Budget()).cut == 7


def test_an_anchor_too_early_for_the_budget_gives_way_to_the_recent_window() -> None:
    """R6: an anchor at turn 2 of 90 would keep 88 turns."""
    plan = make_plan(turns(90), anchored(2), Budget(target=2_000, summary=500, recent=1_000))
    assert plan.cut == 80
    assert "too much would stay" in plan.reason
    assert plan.anchor is None


def test_an_anchor_at_the_very_beginning_does_not_stop_progress() -> None:
    assert cut(20, 0) == 17


def test_the_recent_window_shrinks_to_an_anchor_and_then_to_three_turns() -> None:
    tight = Budget(target=900, summary=100, recent=5_000)
    assert cut(20, 14, budget=tight) == 14
    assert cut(20, budget=tight) == 12
    assert cut(20, budget=Budget(target=10, summary=100, recent=5_000)) == 17


def test_few_turns_are_left_alone() -> None:
    plan = make_plan(turns(3), anchored(1), Budget())
    assert plan.nothing_to_do
    assert plan.reason == "all 3 turns belong to the recent window"
    assert make_plan([], [], Budget()).reason == "there are no new turns"


def test_turns_that_were_not_counted_are_named_as_the_reason() -> None:
    plan = make_plan(turns(20, tokens=0), [], Budget())
    assert plan.nothing_to_do
    assert "not been counted" in plan.reason


def test_turns_in_flight_are_kept_however_many_they_are() -> None:
    begun, _ = called("Task", prompt="look")
    waiting = [
        turn(n, exchange=0).__class__(index=n, exchange=1, tokens=100, tool_calls=(begun,))
        for n in range(12, 20)
    ]
    assert make_plan([*turns(12), *waiting], [], Budget()).cut == 12


def test_an_aborted_call_in_the_middle_pins_nothing() -> None:
    begun, _ = called("Task", prompt="look")
    aborted = Turn(index=2, exchange=2, tokens=100, tool_calls=(begun,))
    history = turns(20)
    history[2] = aborted
    assert make_plan(history, [], Budget()).cut == 17


def reads(count: int, *, tokens: int) -> list[Turn]:
    """Requests, each of which reads a file."""
    return [
        turn(
            n,
            called("Read", f"line {n}\n" * (tokens // 4), file_path=f"a{n}.py"),
            tokens=tokens,
            exchange=n,
        )
        for n in range(count)
    ]


def test_old_outputs_are_masked_before_the_recent_window_shrinks() -> None:
    history = reads(20, tokens=1_600)
    plan = make_plan(history, [], Budget(target=9_000, summary=500, recent=16_000))
    assert plan.cut == 10
    assert {one.how for one in plan.masked} == {"masked"}
    assert max(one.turn for one in plan.masked) <= 16
    assert not plan.over_budget


def test_a_forced_compaction_masks_although_the_budget_is_kept() -> None:
    history = reads(20, tokens=1_600)
    roomy = Budget(recent=16_000)
    assert make_plan(history, [], roomy).masked == ()
    assert len(make_plan(history, [], roomy, masking=True).masked) == 7


def test_a_giant_output_in_the_recent_window_is_shortened() -> None:
    history = turns(10)
    output = "\n".join(f"{n} fine" for n in range(5_000))
    history[-1] = turn(9, bash("make", output), tokens=15_000, exchange=9)
    plan = make_plan(history, [], Budget(target=5_000, usable=10_000, summary=200))
    assert [one.how for one in plan.masked] == ["shortened"]
    assert not plan.over_budget
    assert plan.tokens_kept + plan.summary_room <= 5_000


def test_what_cannot_be_freed_is_reported_with_what_would_help() -> None:
    history = [turn(0, user="x " * 9_000, tokens=9_000), *(turn(n, says="on") for n in range(1, 9))]
    budget = Budget(target=1_000, usable=2_000, summary=200)
    plan = make_plan(history, [], budget, count=lambda text: len(text) // 2)
    assert plan.over_budget
    assert plan.excess >= 8_000
    assert any("request" in advice for advice in plan.advice)


def test_a_cut_that_would_free_nothing_is_not_made() -> None:
    """The request is nearly all there is: it would be said again."""
    history = [turn(0, user="x " * 9_000, tokens=9_010)]
    history += [turn(n, says="on", tokens=5) for n in range(1, 9)]
    plan = make_plan(history, [], Budget(), count=lambda text: len(text) // 2)
    assert plan.nothing_to_do


def test_a_conversation_that_fits_is_not_masked_for_the_ratio() -> None:
    """6,381 tokens in a window of 100,000 had ten outputs masked, and nothing was folded."""
    roomy = Budget(usable=80_000, target=40_000, recent=8_000, summary=4_096, least_reduction=0.6)
    few = reads(10, tokens=600)
    plan = make_plan(few, [], roomy)
    assert plan.nothing_to_do
    assert plan.reason == "all 10 turns fit the recent window"
    some = reads(24, tokens=600)
    plan = make_plan(some, [], roomy)
    assert (plan.cut, plan.masked) == (11, ())


def test_the_ratio_moves_the_cut_from_an_anchor_to_the_recent_window() -> None:
    roomy = Budget(usable=80_000, target=40_000, recent=2_000, summary=500, least_reduction=0.6)
    assert make_plan(reads(30, tokens=600), anchored(4), roomy).cut == 27
    assert make_plan(reads(30, tokens=600), anchored(22), roomy).cut == 22


def test_a_conversation_over_its_window_is_masked_for_the_ratio() -> None:
    crowded = Budget(usable=9_000, target=8_000, recent=7_000, summary=500, least_reduction=0.6)
    assert make_plan(reads(20, tokens=600), [], crowded).masked


def test_in_a_small_window_there_is_a_summary_all_the_same() -> None:
    """An eighth of 700 usable tokens is less than any summary needs, so nothing was folded."""
    tiny = Policy().budget(875)
    assert tiny.summary < LEAST_SUMMARY
    plan = make_plan(turns(30), [], tiny)
    assert plan.cut == 27
    assert plan.summary_room == LEAST_SUMMARY


def test_what_was_folded_before_stays_folded() -> None:
    first = make_plan(turns(20), [], Budget())
    again = make_plan(turns(30), [], Budget(), start=first.cut, earlier=300)
    assert (again.folded[0].first, again.folded[0].last) == (17, 26)
    assert again.tokens_before == 300 + 13 * 100


def test_a_cut_is_a_position_and_all_else_an_index() -> None:
    history = [
        turn(100 + n, exchange=n, user=f"request {n}", says="done", notes=()) for n in range(20)
    ]
    plan = make_plan(history, anchored(112), Budget())
    assert (plan.cut, plan.anchor) == (12, 112)
    assert [(one.first, one.last) for one in (*plan.folded, *plan.kept)] == [
        (100, 111),
        (112, 116),
        (117, 119),
    ]


def parts(plan: Plan) -> list[int]:
    """Every turn a plan speaks of."""
    return [n for span in (*plan.folded, *plan.kept) for n in range(span.first, span.last + 1)]


sizes = st.lists(st.integers(1, 3_000), min_size=1, max_size=40)
budgets = st.builds(
    Budget,
    target=st.one_of(st.just(NO_LIMIT), st.integers(0, 40_000)),
    usable=st.one_of(st.just(NO_LIMIT), st.integers(0, 80_000)),
    recent=st.integers(0, 20_000),
    recent_turns=st.integers(1, 5),
    summary=st.integers(0, 5_000),
    least_reduction=st.sampled_from((0.0, 0.6)),
)


@given(sizes, st.sets(st.integers(0, 39)), budgets)
def test_every_turn_is_kept_or_folded_exactly_once(
    tokens: list[int], anchors: set[int], budget: Budget
) -> None:
    history = [turn(n, says="x", tokens=size, exchange=n) for n, size in enumerate(tokens)]
    marks = anchored(*sorted(n for n in anchors if n < len(history)))
    plan = make_plan(history, marks, budget)
    assert parts(plan) == list(range(len(history)))
    assert len(history) - plan.cut >= min(budget.recent_turns, len(history))
    assert plan.tokens_kept + plan.summary_room <= max(plan.tokens_before, 0)
    assert plan.over_budget == (plan.tokens_kept + plan.summary_room > budget.target)
    assert plan.nothing_to_do or plan.tokens_kept + plan.summary_room < plan.tokens_before

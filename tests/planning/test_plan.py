"""Where a plan cuts, what it masks, and what it says when it cannot do enough."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from kedgeline.model import NO_LIMIT, Anchor, Budget, Compaction, Note, Plan, Transcript, Turn
from kedgeline.pipeline.view import lead
from kedgeline.planning import Policy, make_plan
from kedgeline.planning.making import LEAST_SUMMARY
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


def test_an_anchor_too_early_for_the_budget_gives_way_to_what_fits() -> None:
    """R6: an anchor at turn 2 of 90 would keep 88 turns."""
    plan = make_plan(turns(90), anchored(2), Budget(target=2_000, summary=500))
    assert plan.cut == 75
    assert plan.reason == "from t75 on, what stays fits its 2,000 tokens"
    assert plan.anchor is None


def test_the_target_is_spent() -> None:
    """A window of 60,000 tokens with a target of 24,000 came back as 5,798, with four turns."""
    for target in (1_000, 5_000, 20_000):
        plan = make_plan(turns(400), anchored(399), Budget(target=target, summary=500))
        assert target - 100 < plan.tokens_kept + plan.summary_room <= target


def test_the_cut_falls_on_an_anchor_where_one_is_near_and_leaves_three_turns() -> None:
    tight = Budget(target=1_300, summary=100)
    assert cut(20, budget=tight) == 8
    assert cut(20, 9, budget=tight) == 9
    assert cut(20, 10, budget=tight) == 8
    assert cut(20, budget=Budget(target=10, summary=100)) == 17


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


def test_old_outputs_are_masked_before_anything_is_folded() -> None:
    history = reads(20, tokens=1_600)
    plan = make_plan(history, [], Budget(target=9_000, summary=500))
    assert plan.cut == 0
    assert {one.how for one in plan.masked} == {"masked"}
    assert max(one.turn for one in plan.masked) <= 16
    assert plan.reason == "with 15 old outputs masked, all turns fit 9,000 tokens"
    assert 9_000 - 1_600 < plan.tokens_kept <= 9_000


def test_where_masks_are_not_enough_as_many_turns_stay_as_fit() -> None:
    history = [replace(one, tokens=2_000) for one in reads(120, tokens=1_600)]
    plan = make_plan(history, [], Budget(target=9_000, summary=500))
    assert 0 < plan.cut < 117
    assert len(plan.masked) == 117 - plan.cut
    assert 9_000 - 300 < plan.tokens_kept + plan.summary_room <= 9_000


def test_a_forced_compaction_masks_although_the_budget_is_kept() -> None:
    history = reads(20, tokens=1_600)
    roomy = Budget(recent_turns=10)
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
    rules = Note(kind="instructions", text="# Rules\n" + "x " * 9_000)
    first = turn(0, user="Port it.", notes=(rules,), tokens=9_000)
    budget = Budget(target=1_000, usable=2_000, summary=200)
    history = [first, *(turn(n, says="on") for n in range(1, 9))]
    plan = make_plan(history, [], budget, count=lambda text: len(text) // 2)
    assert plan.over_budget
    assert plan.excess >= 8_000
    assert any("instructions" in advice for advice in plan.advice)


def test_a_pasted_request_that_leaves_no_room_is_shortened_once_it_is_worked_on() -> None:
    """A request of 56,000 tokens in a window of 64,000 was said again whole: nothing could be
    compacted, however long it was worked on."""
    asked = (
        "Do this plan.\n"
        + "".join(f"{n}. Mend lamp {n}.\n" for n in range(2_000))
        + "At last, push."
    )
    first = turn(0, user=asked, tokens=len(asked) // 4)
    history = [first, *(turn(n, says="on", tokens=50) for n in range(1, 20))]
    budget = Budget(target=4_000, usable=8_000, summary=800)
    plan = make_plan(history, [], budget, count=lambda text: len(text) // 4)
    assert not plan.over_budget
    made = Compaction(plan=plan, summary="What was done.", count=1)
    (said,) = lead(Transcript(format="test", turns=tuple(history)), made)
    assert said.user_message.startswith("Do this plan.\n0. Mend lamp 0.")
    assert said.user_message.endswith("At last, push.")
    assert "left out" in said.user_message
    assert len(said.user_message) // 4 <= 2_000


def test_a_cut_that_would_free_nothing_is_not_made() -> None:
    """The request is nearly all there is: it would be said again."""
    history = [turn(0, user="x " * 9_000, tokens=9_010)]
    history += [turn(n, says="on", tokens=5) for n in range(1, 9)]
    plan = make_plan(history, [], Budget(), count=lambda text: len(text) // 2)
    assert plan.nothing_to_do


def test_what_the_user_asks_for_below_the_target_frees_the_least_share_and_no_more() -> None:
    roomy = Budget(usable=80_000, target=40_000, summary=500, least_reduction=0.25)
    plan = make_plan(reads(30, tokens=600), [], roomy)
    assert 18_000 * 0.75 - 600 < plan.tokens_kept <= 18_000 * 0.75
    assert plan.cut == 0
    plan = make_plan(turns(100), [], roomy)
    assert 10_000 * 0.75 - 100 < plan.tokens_kept + plan.summary_room <= 10_000 * 0.75


def test_what_holds_a_plan_up_is_said() -> None:
    budget = Budget(target=1_000, usable=9_000, summary=100)
    large = [*turns(20), *(turn(n, says="x", tokens=2_000, exchange=n) for n in range(20, 23))]
    plan = make_plan(large, [], budget)
    assert plan.held_up == "the 3 newest turns have 6,000 of the 1,000 tokens that should stay"
    rules = Note(kind="instructions", text="x " * 9_000)
    first = turn(0, user="Go.", notes=(rules,), tokens=9_010)
    asked = [first, *(turn(n, says="on") for n in range(1, 90))]
    plan = make_plan(asked, [], budget, count=lambda text: len(text) // 2)
    assert plan.held_up.startswith("the repeated request and rules have 9,0")
    calls = [bash("ls") for _ in range(20)]
    late = [turn(0, tokens=3_000), *(turn(n, (calls[n][0], calls[n - 1][1])) for n in range(1, 20))]
    plan = make_plan(late, [], Budget(target=500, usable=9_000, summary=100))
    why = "t1 to t17 cannot be parted: a result comes later than the turn of its call"
    assert plan.held_up == why
    assert make_plan(turns(90), [], budget).held_up == ""


def test_in_a_small_window_there_is_a_summary_all_the_same() -> None:
    """An eighth of 700 usable tokens is less than any summary needs, so nothing was folded."""
    tiny = Policy().budget(875)
    assert tiny.summary < LEAST_SUMMARY
    plan = make_plan(turns(30), [], tiny)
    assert plan.cut == 27
    assert plan.summary_room == LEAST_SUMMARY


def test_a_cut_is_a_position_and_all_else_an_index() -> None:
    history = [
        turn(100 + n, exchange=n, user=f"request {n}", says="done", notes=()) for n in range(20)
    ]
    plan = make_plan(history, anchored(112), Budget())
    assert (plan.cut, plan.anchor) == (12, 112)
    assert [(one.first, one.last) for one in (*plan.folded, *plan.kept)] == [
        (100, 111),
        (112, 119),
    ]


def parts(plan: Plan) -> list[int]:
    """Every turn a plan speaks of."""
    return [n for span in (*plan.folded, *plan.kept) for n in range(span.first, span.last + 1)]


sizes = st.lists(st.integers(1, 3_000), min_size=1, max_size=40)
budgets = st.builds(
    Budget,
    target=st.one_of(st.just(NO_LIMIT), st.integers(0, 40_000)),
    usable=st.one_of(st.just(NO_LIMIT), st.integers(0, 80_000)),
    recent_turns=st.integers(1, 5),
    summary=st.integers(0, 5_000),
    least_reduction=st.sampled_from((0.0, 0.25, 0.6)),
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

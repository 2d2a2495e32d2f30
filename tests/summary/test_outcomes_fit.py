"""The summary in a room, and what holds for every text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kedgeline.model import ANCHOR_TYPES, Anchor, AnchorType, PreservationContext, Turn
from kedgeline.summary.outcomes import (
    Line,
    Outcomes,
    fit,
    fitted,
    merged,
    outcome_lines,
    parse,
    render,
)
from kedgeline.tokens import Estimate, Exact
from tests.turns import bash, edit, turn

HEADING = len("Key outcomes:")


def said(*turns: int) -> tuple[Line, ...]:
    return tuple(Line(kind="neutral", text=f"turn {n}", first=n, last=n) for n in turns)


def anchored(index: int, type: AnchorType) -> Line:
    return Line(kind="anchor", text="anchor", first=index, last=index, anchor=type)


def size(lines: tuple[Line, ...], left_out: int) -> int:
    return len(render(Outcomes(lines=lines, left_out=left_out)))


def test_all_that_fits_stays() -> None:
    lines = said(0, 1, 2)
    assert fit(Outcomes(lines=lines), size(lines, 0), len) == Outcomes(lines=lines)


def test_newer_lines_are_kept_before_older_ones_and_the_rest_is_counted() -> None:
    lines = said(*range(10))
    found = fit(Outcomes(lines=lines, left_out=30), size(said(7, 8, 9), 37), len)
    assert found == Outcomes(lines=said(7, 8, 9), left_out=37)
    assert render(found).endswith("\n(37 older turns left out)")
    assert fitted(lines, size(said(7, 8, 9), 7) - 1, len) == said(8, 9)


def test_the_users_words_stay_longest_then_anchors_by_their_weight() -> None:
    """R12: weights were carried along and influenced nothing."""
    checkpoint, old, new = (
        anchored(3, "user_checkpoint"),
        anchored(1, "task_completion"),
        anchored(2, "task_completion"),
    )
    resolved = anchored(0, "error_resolution")
    user = Line(kind="user", text="fix it", first=4, last=4)
    lines = (resolved, old, new, checkpoint, user, *said(5, 6))
    by_weight = [user, resolved, new, old, checkpoint, *said(6), *said(5)]
    for number in range(len(lines) - 1):
        kept = tuple(line for line in lines if line in by_weight[:number])
        gone = len(lines) - number
        assert fitted(lines, size(kept, gone), len) == kept


def test_a_turn_left_out_is_counted_once_and_a_span_in_full() -> None:
    steps = Line(kind="neutral", text="steps", first=2, last=9)
    lines = (Line(kind="user", text="do", first=1, last=1), *said(1), steps, *said(20))
    assert fit(Outcomes(lines=lines), 40, len).left_out == 1 + 8 + 1


def test_the_context_is_shortened_last() -> None:
    context = PreservationContext(
        active_files=("old.py", "new.py"), build_status="passing", last_user_intent="go on"
    )
    outcomes = Outcomes(context=context, lines=said(0, 1))
    alone = len(render(Outcomes(context=context, left_out=2)))
    assert fit(outcomes, alone, len) == Outcomes(context=context, left_out=2)
    assert fit(outcomes, alone - 1, len).context == PreservationContext(
        active_files=("new.py",), build_status="passing", last_user_intent="go on"
    )
    assert fit(outcomes, 0, len) == Outcomes(left_out=2)


def test_a_long_summary_is_counted_near_its_right_size_only() -> None:
    """Trying every number of lines would take time that grows with the square of the session."""
    counted = 0

    def count(text: str) -> int:
        nonlocal counted
        counted += len(text)
        return len(text)

    lines = said(*range(20_000))
    assert len(fitted(lines, 2_000, count)) > 80
    assert counted < 20 * 2_000 * 2


ANY_TEXT = st.text(max_size=40) | st.sampled_from(
    ["[ANCHOR] x (task completion) [t1]", "\nKey outcomes:\n", 'User: "x" [t2]', "a.py. b", "✓ "]
)


@st.composite
def sessions(draw: st.DrawFn) -> tuple[list[Turn], list[Anchor]]:
    steps = st.sampled_from(["ls", "edit", "fails"])
    turns, anchors = [], []
    for index in range(draw(st.integers(0, 8))):
        made = [
            edit(draw(ANY_TEXT)) if step == "edit" else bash("x", exit_code=int(step == "fails"))
            for step in draw(st.lists(steps, max_size=3))
        ]
        turns.append(turn(index, *made, user=draw(ANY_TEXT), says=draw(ANY_TEXT)))
        if draw(st.booleans()):
            kind = draw(st.sampled_from(ANCHOR_TYPES))
            anchors.append(
                Anchor(turn_index=index, type=kind, confidence=1.0, description=draw(ANY_TEXT))
            )
    return turns, anchors


CONTEXTS = st.builds(
    PreservationContext,
    active_files=st.lists(ANY_TEXT, max_size=3).map(tuple),
    current_goals=st.lists(ANY_TEXT, max_size=3).map(tuple),
    error_states=st.lists(ANY_TEXT, max_size=3).map(tuple),
    build_status=st.sampled_from(["passing", "failing", "unknown"]),
    last_user_intent=ANY_TEXT,
)


@given(sessions(), CONTEXTS, st.integers(0, 99))
def test_every_summary_is_read_back(
    session: tuple[list[Turn], list[Anchor]], context: PreservationContext, left_out: int
) -> None:
    lines = outcome_lines(*session)
    text = render(Outcomes(context=context, lines=lines, left_out=left_out))
    found = parse(text)
    assert (found.lines, found.left_out) == (lines, left_out)
    assert render(found) == text


@given(st.text())
def test_any_text_can_be_read(text: str) -> None:
    found = parse(f"Key outcomes:\n{text}")
    assert parse(render(found)).left_out == found.left_out
    parse(text)


@given(sessions(), CONTEXTS, st.integers(0, 300), st.integers(0, 300))
def test_summaries_fit_and_nest(
    session: tuple[list[Turn], list[Anchor]], context: PreservationContext, one: int, other: int
) -> None:
    lines = outcome_lines(*session)
    smaller, larger = (
        fit(Outcomes(context=context, lines=lines), room, len) for room in sorted((one, other))
    )
    assert set(smaller.lines) <= set(larger.lines) <= set(lines)
    assert list(larger.lines) == [line for line in lines if line in larger.lines]
    least = len(render(Outcomes(left_out=larger.left_out)))
    assert len(render(larger)) <= max(one, other, least)
    assert (larger.left_out > 0) == (len(larger.lines) < len(lines))


@given(sessions(), sessions())
def test_merging_keeps_every_line(
    earlier: tuple[list[Turn], list[Anchor]], later: tuple[list[Turn], list[Anchor]]
) -> None:
    first, second = outcome_lines(*earlier), outcome_lines(*later)
    found = merged(parse(render(Outcomes(lines=first))), Outcomes(lines=second))
    assert found.lines == (*first, *second)


@pytest.mark.parametrize("counter", [Exact("o200k"), Estimate()], ids=lambda counter: counter.name)
def test_rooms_are_kept_by_every_counter(counter: Exact | Estimate) -> None:
    lines = outcome_lines(
        [turn(n, bash("ls"), user=f"step {n}", says=f"Looked at 港 {n}.") for n in range(60)], []
    )
    for room in range(12, 400, 13):
        found = fit(Outcomes(lines=lines), room, counter.count)
        assert counter.count(render(found)) <= room
        assert len(found.lines) >= room // 40

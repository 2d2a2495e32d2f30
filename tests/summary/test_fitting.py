"""Budgets: kept, nested, and never at the cost of the user's words."""

from __future__ import annotations

import re

from hypothesis import given
from hypothesis import strategies as st

from kedgeline.model import (
    ActionTaken,
    Answered,
    AnyFact,
    FileChanged,
    InstructionGiven,
    Requested,
    Stated,
)
from kedgeline.summary.levels import LABELS, LEVELS, fit, summary_128, summary_512, summary_2048
from kedgeline.summary.sections import items_of
from kedgeline.summary.state import ALWAYS, build
from tests.summary.facts import facts


def count(text: str) -> int:
    return (len(text.encode()) + 2) // 3


@given(facts, st.integers(0, 900))
def test_a_budget_is_kept_but_for_what_is_never_cut(found: list[AnyFact], room: int) -> None:
    items = items_of(build(found))
    fitted = fit(items, room, count)
    least = [item.raised(0) for item in items if item.tier == ALWAYS]
    assert count(fitted.text) <= room or list(fitted.items) == least
    assert sum(item.tier == ALWAYS for item in fitted.items) == len(least)


@given(facts, st.integers(0, 600), st.integers(0, 600))
def test_what_stands_in_less_room_stands_in_more(
    found: list[AnyFact], one: int, other: int
) -> None:
    items = items_of(build(found))
    small, large = (fit(items, room, count) for room in sorted((one, other)))
    shown = [(item.section, item.text) for item in large.items]
    for item in small.items:
        begun = item.text.rstrip('…"')
        assert any(section == item.section and begun in text for section, text in shown)


@given(facts, st.integers(0, 600))
def test_what_is_left_out_is_counted(found: list[AnyFact], room: int) -> None:
    items = items_of(build(found))
    fitted = fit(items, room, count)
    assert len(fitted.items) + sum(fitted.left_out.values()) == len(items)


@given(facts)
def test_levels_keep_their_rules(found: list[AnyFact]) -> None:
    state = build(found)
    made = (summary_128(state, count), summary_512(state, count))
    for level, text in zip(LEVELS, made, strict=False):
        assert count(text) <= level
        assert "```" not in text
    assert not re.search(r"`|\n|(?:^|\s)/?[\w.-]+/[\w.-]+/", made[0]), "no code, no full path"
    assert [line.partition(":")[0] for line in made[1].split("\n")] == [*LABELS]


def test_levels_nest() -> None:
    found: list[AnyFact] = [Requested(turn=0, by="user", text="Build the crane", scope="new")]
    found += [
        FileChanged(turn=n, path=f"src/part{n}/beam{n}.py", action="modified", what=f"adds `f{n}`")
        for n in range(60)
    ]
    found += [Stated(turn=n, text=f"It has `name{n}`.", where="answer") for n in range(60)]
    state = build(found)
    small, middle, large = (
        summary_128(state, count),
        summary_512(state, count),
        summary_2048(state, count),
    )
    files = [name for name in small.partition("Files: ")[2].split(", ") if name.endswith(".py")]
    assert files
    assert [name for name in files if name not in middle] == []
    assert [path for path in middle.split() if path.endswith(".py") and path not in large] == []


def test_rules_are_not_cut_however_small_the_room() -> None:
    rule = "never push to main " * 40
    state = build([InstructionGiven(turn=0, by="user", text=rule)])
    fitted = fit(items_of(state), 10, count)
    assert rule in fitted.text


def test_small_levels_tell_how_the_agent_closed_before_all_else_of_the_state() -> None:
    """Six of twelve long sessions told their tests and their mode at 512, not what came of it."""
    closing = "The crane waits for the wind, and each berth has a lamp of its own. " * 3
    facts: list[AnyFact] = [
        Requested(turn=0, by="user", text="Mend the crane", scope="new"),
        *(ActionTaken(turn=n, tool="book", about=f"{n} " + "berth " * 40) for n in range(1, 6)),
        Answered(turn=9, by="agent", text=closing, whole=closing),
    ]
    state = build(facts)
    assert "Mend the crane" in summary_512(state, count)
    assert closing[:150] in summary_512(state, count)
    assert closing[:60] in summary_128(state, count)

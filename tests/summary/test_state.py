"""Folding: whatever the pieces, the same state; nothing is lost, nothing is made anew."""

from __future__ import annotations

from itertools import pairwise

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from kedgeline.model import AnyFact, CommandRun, FileChanged, InstructionGiven
from kedgeline.model.summary import Summary
from kedgeline.summary import work
from kedgeline.summary.state import build, merged
from tests.summary.facts import facts


@given(facts, st.lists(st.integers(0, 40), max_size=50))
def test_merging_piece_by_piece_is_building_at_once(found: list[AnyFact], cuts: list[int]) -> None:
    """However often a session is compacted, nothing erodes."""
    places = sorted({min(cut, len(found)) for cut in cuts} | {0, len(found)})
    state = Summary()
    for first, last in pairwise(places):
        state = merged(state, found[first:last])
    assert state == build(found)


@given(facts)
def test_a_state_survives_json(found: list[AnyFact]) -> None:
    state = build(found)
    assert msgspec.json.decode(msgspec.json.encode(state), type=Summary) == state


@given(facts)
def test_every_fact_can_be_found_again(found: list[AnyFact]) -> None:
    state = build(found)
    text = msgspec.json.encode(state)
    assert [fact for fact in found if msgspec.json.encode(fact) not in text] == []


def test_a_check_that_failed_says_what_came_of_the_same_line_later() -> None:
    def run(turn: int, command: str, success: bool | None) -> CommandRun:
        return CommandRun(turn=turn, command=command, key="b", purpose="build", success=success)

    def told(later: str) -> str:
        found = build([run(1, "make | tail -3", False), run(5, later, None)])
        (text,) = (item.text for item in work.state(found) if item.text.startswith("build"))
        return text

    assert told("make | tail -3").endswith("FAILS; run again in t5 without showing it")
    assert told("make | tail -1").endswith("FAILS; run again in t5, its outcome was not shown")


def test_a_rule_stands_byte_for_byte_after_fifty_merges() -> None:
    rule = InstructionGiven(turn=1, by="user", text="never  push\nto `main`|")
    state = build([rule])
    for number in range(50):
        state = merged(state, [FileChanged(turn=number + 2, path="a", action="modified")])
    assert state.instructions == (rule,)

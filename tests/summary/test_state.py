"""Folding: whatever the pieces, the same state; nothing is lost, nothing is made anew."""

from __future__ import annotations

from itertools import pairwise
from typing import Literal

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from kedgeline.model import (
    AgentReported,
    AnyFact,
    Called,
    CommandRun,
    ErrorSeen,
    FileChanged,
    InstructionGiven,
    Requested,
)
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


def test_a_file_that_was_read_last_is_named_without_its_text() -> None:
    def told(kind: Literal["read", "run"]) -> list[bool]:
        call = Called(turn=2, kind=kind, what="ran", path="crane.go", came="40 lines of text")
        found = build([Requested(turn=1, by="user", text="Look.", scope="new"), call])
        (item,) = (item for item in work.state(found) if item.text.startswith("Last call"))
        return ["40 lines" in text for text in (item.text, *item.more)]

    assert told("read") == [False]
    assert any(told("run"))


def test_an_error_does_not_say_its_place_twice() -> None:
    seen = ErrorSeen(turn=1, key="k", line="a.go:4: no field", places=("a.go:4", "b.go:9"))
    (item,) = work.errors(build([seen]))
    assert item.text == "OPEN: a.go:4: no field at b.go:9"


def test_what_a_client_says_of_a_failure_is_no_report_on_what_is_under_way() -> None:
    found = build(
        [
            Requested(turn=0, by="user", text="Find the patterns.", scope="new"),
            AgentReported(turn=1, task="Read", report="API Error: 500 internal"),
            AgentReported(turn=2, task="Look", report="The lock is stale."),
        ]
    )
    read, look = sorted(work.delegated(found), key=lambda item: item.turns)
    assert read.text == "Sub-agent, Read: FAILED: API Error: 500 internal"
    assert read.tier > look.tier


def test_a_rule_stands_byte_for_byte_after_fifty_merges() -> None:
    rule = InstructionGiven(turn=1, by="user", text="never  push\nto `main`|")
    state = build([rule])
    for number in range(50):
        state = merged(state, [FileChanged(turn=number + 2, path="a", action="modified")])
    assert state.instructions == (rule,)

"""Outcomes that are found out once, however many ask."""

from __future__ import annotations

import pytest

from kedgeline.facts import facts_of
from kedgeline.model import Transcript, Turn
from kedgeline.pipeline.job import flow_of
from kedgeline.shell import KnownOutcomes, Outcome, outcomes_of
from kedgeline.shell import calls as known
from tests.turns import bash, turn

FAILED = "..F.\n1 failed, 3 passed in 0.12s\n"


@pytest.fixture
def looked_at(monkeypatch: pytest.MonkeyPatch) -> list[Turn]:
    """The turns whose calls were looked at, in order."""
    seen: list[Turn] = []

    def noting(one: Turn) -> tuple[Outcome, ...]:
        seen.append(one)
        return outcomes_of(one)

    monkeypatch.setattr(known, "outcomes_of", noting)
    return seen


def test_a_turn_is_looked_at_once(looked_at: list[Turn]) -> None:
    one = turn(0, bash("pytest -q", FAILED, exit_code=1))
    outcomes = KnownOutcomes()
    assert outcomes(one) == outcomes_of(one)
    assert outcomes(one) is outcomes(one)
    assert looked_at == [one]


def test_a_turn_that_is_gone_is_never_taken_for_a_new_one() -> None:
    outcomes = KnownOutcomes()
    for number in range(200):  # without being held, the next one would stand in its place
        line = f"echo {number}"
        (found,) = outcomes(turn(number, bash(line)))
        assert found.call.parameters["command"] == line


def test_more_than_it_may_hold_are_forgotten(looked_at: list[Turn]) -> None:
    first, second, third = (turn(number, bash("ls")) for number in range(3))
    outcomes = KnownOutcomes(most=2)
    for one in (first, second, first, third, first):
        outcomes(one)
    assert [one.index for one in looked_at] == [0, 1, 2, 0]


def test_facts_need_not_find_out_what_anchors_did(looked_at: list[Turn]) -> None:
    turns = (turn(0, bash("make pier")), turn(1, bash("git commit -m x")))
    transcript = Transcript(format="x", turns=turns)
    outcomes = KnownOutcomes()
    flow_of(transcript.turns, outcomes=outcomes)
    facts = list(facts_of(transcript, outcomes))
    assert [id(one) for one in looked_at if not one.agent].count(id(transcript.turns[0])) == 1
    assert facts == list(facts_of(transcript))

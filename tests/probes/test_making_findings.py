"""Probes for what came out: made from what the agent and its sub-agents reported."""

from __future__ import annotations

import pytest

from kedgeline.model import AnyFact, Stated
from kedgeline.model.fact import Where
from kedgeline.pipeline.handoff import verify
from kedgeline.probes import Prose
from kedgeline.summary import build, handoff
from tests.probes.facts import NO_LIMIT, size
from tests.probes.making import asks, of, told

LOCK = "The lock in `src/pier.py` is held for 30 seconds because `free_berth` never returns."


def said(turn: int, text: str, where: Where = "answer", **fields: object) -> Stated:
    return Stated(turn=turn, by="agent", text=text, where=where, **fields)  # type: ignore[arg-type]


def test_names_and_numbers_of_a_statement_are_asked_for() -> None:
    (found,) = of("finding", said(4, LOCK))
    assert told(found) == asks("recall", "finding", "Story", 4, "src/pier.py", "free_berth", "30")
    assert found.question == "What did the agent report in t4 about src/pier.py?"


def test_a_reason_without_names_is_asked_for_by_its_longest_words() -> None:
    (found,) = of("finding", said(4, "It fails because nobody released the harbourmaster's key."))
    assert found.expected == ("harbourmaster", "released", "because")


@pytest.mark.parametrize(
    "statement",
    [
        said(1, "All done now, as agreed."),
        said(1, "Shall I put `free_berth` into `src/pier.py`?"),
        said(1, "I looked at `free_berth` and `src/pier.py`:"),
        said(1, "free_berth(12)", code=True),
        said(1, LOCK, where="narration"),
        said(1, LOCK, where="thought"),
    ],
)
def test_what_says_nothing_for_certain_is_not_asked_for(statement: Stated) -> None:
    assert of("finding", statement) == []


def test_the_newest_come_first_and_of_one_answer_only_those_that_tell_most() -> None:
    found: list[AnyFact] = [
        said(1, LOCK),
        *(said(2, f"`pier{n}` has {n} berths.", place=n) for n in range(6)),
        said(2, "`quay` has 3 berths of 4, since `crane` broke.", where="report", place=9),
    ]
    asked = of("finding", *found)
    assert [one.turn for one in asked] == [2, 2, 2, 1]
    assert asked[0].question == "What did a sub-agent report in t2 about quay?"
    assert len({one.key for one in asked}) == 4


def test_a_text_that_leaves_a_finding_out_does_not_pass() -> None:
    """Texts from which readers answered four questions of ten had scores of 1.00."""
    state = build([said(4, LOCK), said(6, "`quay.py` has 12 tests now.")])
    text = handoff(state, NO_LIMIT, size)
    probes = of("finding", *state.statements)
    assert verify(state, text, probes).score == 1.0
    without = text.replace("12 tests", "some tests")
    assert [one.probe.turn for one in verify(state, without, probes).failed] == [6]
    moved = text.replace("[t6]", "[t7]")
    assert [one.probe.turn for one in verify(state, moved, probes).failed] == [6]


def test_a_text_in_other_words_tells_a_finding_in_one_line() -> None:
    (asked,) = of("finding", said(4, LOCK))
    assert Prose("- free_berth (src/pier.py) waits 30 s for the lock").tells(asked)
    assert not Prose("- free_berth waits 30 s\n- src/pier.py has the lock").tells(asked)

"""Closing answers of the agent."""

from __future__ import annotations

from kedgeline.facts.extractor import Setting
from kedgeline.facts.statements import AnswerExtractor
from kedgeline.model import Answered, Turn
from tests.turns import bash, turn


def answers(*turns: Turn) -> list[Answered]:
    extractor = AnswerExtractor(Setting())
    return [fact for one in turns for fact in extractor.see(one, ())]


def test_an_answer_that_calls_nothing_closes() -> None:
    found = answers(turn(0, bash("make"), says="I run it."), turn(1, says="It works."))
    assert [(fact.turn, fact.text, fact.by) for fact in found] == [(1, "It works.", "agent")]


def test_an_answer_that_asks_does_not_close() -> None:
    (found,) = answers(turn(0, says="Two ways are left. Which one do you want?"))
    assert found.asks

"""A model answers from the text alone; what it replies is data, and may be unusable."""

from __future__ import annotations

import json
import re

import pytest

from kedgeline.errors import ModelFailed
from kedgeline.model import Ask, Probe
from kedgeline.models import Scripted, drive
from kedgeline.pipeline.asking import prompt_named
from kedgeline.pipeline.judging import AT_ONCE, answered
from tests.probes.questions import CREATED, DELETED, TASKS, TEXT, probe


def quotes(*answers: list[str]) -> str:
    told = [{"number": n, "quotes": one} for n, one in enumerate(answers, 1)]
    return json.dumps({"answers": told})


def answers(probes: list[Probe], *replies: str, text: str = TEXT) -> list[bool]:
    found = drive(answered(probes, text), Scripted(replies))
    assert (found.unanswered, found.problems) == ((), ())
    return [one.passed for one in found.answers]


# --- a model answers


def test_an_answer_that_quotes_all_that_is_expected_is_right() -> None:
    assert answers(
        [CREATED, DELETED],
        quotes(["| src/app.py | created | login | logout [t3] |"], ["src/old.py deleted"]),
    ) == [True, True]


@pytest.mark.parametrize(
    "quote",
    [
        "src/app.py",
        "src/app.py modified",
        "lib/src/app.py created",
        "src/app.pyi created",
        "app.py created",
        "SRC/APP.PY created",
        "",
    ],
)
def test_a_near_miss_fails(quote: str) -> None:
    assert answers([CREATED], quotes([quote])) == [False]


def test_what_does_not_stand_in_the_text_is_a_guess() -> None:
    assert answers([probe("Which port?", "port 8080")], quotes(["port 8080"])) == [False]


def test_the_whole_text_is_no_answer() -> None:
    text = "\n".join([*(f"- filler number {n}" for n in range(400)), "- src/app.py created"])
    assert answers([CREATED], quotes([text]), text=text) == [False]
    long = probe("Which rule?", "word " * 1_000 + "end")
    assert answers([long], quotes([long.expected[0]]), text=long.expected[0]) == [True]


def test_probes_with_one_question_are_asked_together() -> None:
    model = Scripted([quotes(["write the tests [t5]", "deploy [t6]"])])
    found = drive(answered(TASKS, TEXT), model)
    assert [one.passed for one in found.answers] == [True, True]
    assert model.asks[0].prompt.count("What is still to be done?") == 1
    assert found.answers[0].given == "write the tests [t5]\ndeploy [t6]"


def test_a_reader_sees_the_text_and_the_questions_and_never_the_key() -> None:
    secret = probe("Which colour?", "ultramarine")
    model = Scripted([quotes([])])
    found = drive(answered([secret], TEXT), model)
    [ask] = model.asks
    assert TEXT in ask.prompt
    assert "1. Which colour?" in ask.prompt
    assert "ultramarine" not in ask.prompt + ask.system
    assert (ask.role, ask.prompt_hash) == ("answer", prompt_named("answer").hash)
    assert found.by == "scripted"


def test_many_questions_are_asked_in_batches_and_numbered_anew() -> None:
    many = [probe(f"Which of {n}?", f"item{n}") for n in range(2 * AT_ONCE + 1)]
    text = "\n".join(f"- item{n}" for n in range(len(many)))

    def reply(ask: Ask) -> str:
        asked = re.findall(r"^\d+\. Which of (\d+)\?$", ask.prompt, re.MULTILINE)
        return quotes(*([f"item{n}"] for n in asked))

    model = Scripted(reply)
    found = drive(answered(many, text), model)
    assert len(model.asks) == 3
    assert [one.probe for one in found.answers] == many
    assert all(one.passed for one in found.answers)


HOSTILE = {
    '{"answers": [{"number": "1", "quotes": []}]}': "its JSON has another shape",
    '{"answers": []}': "it has no numbers, and should have the numbers from 1 to 1",
    '{"answers": [{"number": 2, "quotes": ["src/app.py created"]}]}': "it has 2, and should",
    '{"answers": [{"number": 0, "quotes": []}]}': "it has 0, and should",
    '{"answers": [{"number": 1, "quotes": []}, {"number": 1, "quotes": []}]}': "it has 1, 1, and",
}


@pytest.mark.parametrize("reply", HOSTILE, ids=lambda reply: repr(reply[:40]))
def test_a_reply_that_cannot_be_used_is_asked_for_once_more(reply: str) -> None:
    model = Scripted([reply, quotes(["src/app.py created"])])
    found = drive(answered([CREATED], TEXT), model)
    assert found.problems == ()
    assert [one.passed for one in found.answers] == [True]
    first, second = model.asks
    assert second.prompt.startswith(first.prompt)
    assert HOSTILE[reply] in second.prompt
    assert len(second.prompt) < len(first.prompt) + 3_000


def test_a_model_that_fails_is_not_asked_more() -> None:
    """Three batches: with a time-out of minutes, each further request would cost as much again."""
    many = [probe(f"Which of {n}?", f"item{n}") for n in range(3 * AT_ONCE)]
    gone = ModelFailed("far", "it took more than 3 seconds", next_step="use a faster one")
    nothing = quotes(*([] for _ in range(AT_ONCE)))
    model = Scripted([nothing, gone, nothing])
    found = drive(answered(many, TEXT), model)
    assert (len(found.answers), len(found.unanswered)) == (AT_ONCE, 2 * AT_ONCE)
    assert len(model.asks) == 2
    assert found.problems == (str(gone),)

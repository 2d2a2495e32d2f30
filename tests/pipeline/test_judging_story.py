"""One model answers, marks and scores; what it fails at is missing, with the reason."""

from __future__ import annotations

import json

import pytest

from kedgeline.errors import ModelFailed
from kedgeline.model import Ask, Probe
from kedgeline.models import Scripted, drive
from kedgeline.pipeline.judging import Judged, judged
from kedgeline.probes.criteria import CRITERIA, JUDGED_BY_TYPE

TEXT = "- Never use red ink.\n- Charts go to the printer."
PROBES = tuple(
    Probe(
        type="instruction",
        matter="rule",
        question=f"Which rule was set in t{turn}?",
        expected=(words,),
        section="Standing Instructions",
        turn=turn,
    )
    for turn, words in enumerate(("Never use red ink.", "Sign every chart."))
)
QUOTES = ["- Never use red ink."]
ANSWERS = json.dumps({"answers": [{"number": n, "quotes": QUOTES} for n in (1, 2)]})
MARKS = json.dumps({"marks": [{"number": 1, "right": False}, {"number": 2, "right": True}]})
SCORES = json.dumps(
    {
        "scores": [
            {"criterion": one.name, "reason": "so", "score": 3}
            for one in CRITERIA
            if one.dimension in JUDGED_BY_TYPE["instruction"]
        ]
    }
)
OUT = ModelFailed("scripted", "the tide is out", next_step="wait")


def kind(ask: Ask) -> str:
    """What a request wants, by the shape of its reply."""
    told = json.dumps(ask.schema)
    return next(name for name in ("answers", "marks", "scores") if f'"{name}"' in told)


def test_a_model_answers_then_marks_then_scores() -> None:
    model = Scripted([ANSWERS, MARKS, SCORES], name="reader")
    found = drive(judged(PROBES, TEXT), model)
    assert [kind(ask) for ask in model.asks] == ["answers", "marks", "scores"]
    assert [ask.role for ask in model.asks] == ["answer", "judge", "judge"]
    assert [one.passed for one in found.answers] == [True, False], "to the letter"
    assert [one.passed for one in found.graded] == [False, True], "as the judge marks them"
    assert found.quality is not None
    assert (found.answered_by, found.quality.by, found.quality.overall) == ("reader", "reader", 3.0)
    assert (found.unanswered, found.problems) == (0, ())


def test_without_an_answer_nothing_is_marked_or_scored() -> None:
    model = Scripted([OUT])
    found = drive(judged(PROBES, TEXT), model)
    assert found == Judged(unanswered=2, problems=(str(OUT),))
    assert len(model.asks) == 1


@pytest.mark.parametrize(
    ("fails", "graded", "scored"), [("marks", 0, True), ("scores", 2, False), ("judge", 0, False)]
)
def test_what_a_judge_fails_at_is_missing_and_the_reason_is_said_once(
    fails: str, graded: int, scored: bool
) -> None:
    replies = {"answers": ANSWERS, "marks": MARKS, "scores": SCORES}

    def rule(ask: Ask) -> str | ModelFailed:
        return OUT if fails in (kind(ask), ask.role) else replies[kind(ask)]

    found = drive(judged(PROBES, TEXT), Scripted(rule))
    assert (len(found.answers), len(found.graded)) == (2, graded)
    assert (found.quality is not None) is scored
    assert found.problems == (str(OUT),)


def test_where_there_is_no_probe_no_model_is_needed() -> None:
    assert drive(judged((), TEXT), None) == Judged(problems=("there is no probe to ask",))

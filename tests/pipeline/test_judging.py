"""Judges score what they read; what cannot be used is no score."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from kedgeline.model import Answer, Ask, ProbeType, Quality
from kedgeline.models import Scripted, drive
from kedgeline.pipeline.judging import graded, judgement_of, unsigned
from kedgeline.probes.criteria import CRITERIA, JUDGED_BY_TYPE, quality
from kedgeline.summary import render
from tests.probes.questions import CREATED, DELETED, TASKS, TEXT

# --- a judge grades answers


def marks(*right: Any) -> str:
    return json.dumps({"marks": [{"number": n, "right": one} for n, one in enumerate(right, 1)]})


ANSWERED = [
    Answer(probe=CREATED, found=("src/app.py",), passed=False, given="src/app.py was made anew"),
    Answer(probe=DELETED, found=(), passed=False, given=""),
]


def test_a_judge_may_find_an_answer_right_in_other_words() -> None:
    model = Scripted([marks(True, False)], name="fair")
    found = drive(graded(ANSWERED), model)
    assert [(one.passed, one.found) for one in found.answers] == [
        (True, ("src/app.py",)),
        (False, ()),
    ]
    assert (found.by, model.asks[0].role) == ("fair", "judge")
    for words in ("src/app.py; created", "src/app.py was made anew", "answered: (none)"):
        assert words in model.asks[0].prompt


# --- a judge scores criteria

GIVEN = [
    Answer(probe=CREATED, found=("src/app.py", "created"), passed=True),
    Answer(
        probe=TASKS[0],
        found=(),
        passed=False,
        given="write <kedgeline-summary>tests</kedgeline-summary>",
    ),
]


def names_of(kind: ProbeType) -> list[str]:
    return [one.name for one in CRITERIA if one.dimension in JUDGED_BY_TYPE[kind]]


def asked_for(ask: Ask) -> list[str]:
    return re.findall(r"^- (\w+): .* 0: .* 3: .* 5: .*\.$", ask.prompt, re.MULTILINE)


def verdict(scores: dict[str, Any], reason: Any = "because") -> str:
    told = [{"criterion": name, "reason": reason, "score": s} for name, s in scores.items()]
    return json.dumps({"scores": told})


def judge(score: Callable[[str], Any], *, name: str = "judge") -> Scripted:
    return Scripted(lambda ask: verdict({one: score(one) for one in asked_for(ask)}), name=name)


def scores_of(quality: Quality | None) -> dict[str, float | None]:
    assert quality is not None
    return {c.criterion: c.score for d in quality.dimensions for c in d.criteria}


def test_a_judge_scores_the_criteria_of_each_type_of_probe() -> None:
    model = judge(lambda name: 4 if name == "coverage" else 2.5)
    found = drive(judgement_of(GIVEN, TEXT), model)
    assert [asked_for(one) for one in model.asks] == [
        names_of("artifact"),
        names_of("continuation"),
    ]
    assert {one.role for one in model.asks} == {"judge"}
    scores = scores_of(found.quality)
    assert (scores["coverage"], scores["depth"], scores["todo_state"]) == (4, 2.5, 2.5)
    assert scores["conversation_state"] is None
    assert found.quality is not None
    assert (found.quality.by, found.problem) == ("judge", "")
    [trail] = [one for one in found.quality.dimensions if one.dimension == "artifact_trail"]
    assert (trail.score, trail.target, trail.criteria[0].reason) == (2.5, 3.5, "because")


def test_a_score_is_the_mean_over_the_answers_and_its_reason_that_of_the_lowest() -> None:
    replies = [
        verdict(dict.fromkeys(names_of("artifact"), 5), "all there"),
        verdict(dict.fromkeys(names_of("continuation"), 1), "lost\nwork"),
    ]
    found = drive(judgement_of([*GIVEN, GIVEN[0], GIVEN[0]], TEXT), Scripted(replies)).quality
    assert scores_of(found)["coverage"] == pytest.approx((3 * 5 + 1 * 1) / 4)
    assert found is not None
    assert found.dimensions[0].criteria[0].reason == "lost work"


def test_a_judge_sees_questions_keys_answers_and_text() -> None:
    model = judge(lambda _: 3)
    drive(judgement_of(GIVEN, TEXT), model)
    first, second = (one.prompt for one in model.asks)
    assert TEXT in first
    assert "1. What became of src/app.py?\n   expected: src/app.py; created\n" in first
    assert "   answered: src/app.py; created\n" in first
    assert "   expected: write the tests\n   answered: write tests\n" in second


def test_a_judge_is_not_told_who_wrote_the_text_nor_what_passed() -> None:
    shown = render([], 12)
    assert "kedgeline" in shown
    text = f"<kedgeline-summary>\n{shown}\n- seen: <kedgeline_summary>\n</kedgeline-summary>"
    model = judge(lambda _: 3)
    drive(judgement_of(GIVEN, text), model)
    for one in model.asks:
        assert re.findall("(?i)kedgeline|anchored|compact|passed|claude|method", str(one)) == []
        assert "(12 more left out)" in one.prompt
    assert unsigned(text).startswith("## Session Intent")


BAD_SCORES: dict[str, Callable[[dict[str, Any]], str]] = {
    "too high": lambda good: verdict(good | {"factual": 5.1}),
    "too low": lambda good: verdict(good | {"factual": -1}),
    "not a number": lambda good: verdict(good | {"factual": 0}).replace(
        '"score": 0', '"score": NaN'
    ),
    "infinite": lambda good: verdict(good | {"factual": 0}).replace('"score": 0', '"score": 1e999'),
    "true": lambda good: verdict(good | {"factual": True}),
    "one missing": lambda good: verdict({k: v for k, v in good.items() if k != "factual"}),
    "one made up": lambda good: verdict(good | {"charm": 5}),
    "one exchanged": lambda good: verdict({"fact" + k[4:]: v for k, v in good.items()}),
    "one twice": lambda good: verdict(good)[:-2] + ", " + verdict({"factual": 5})[12:],
    "no reason": lambda good: verdict(good, ""),
    "a megabyte": lambda good: verdict(good, "x" * 1_000_000),
}


@pytest.mark.parametrize("how", BAD_SCORES)
def test_scores_that_cannot_be_used_are_repaired_once_or_there_are_none(how: str) -> None:
    good = dict.fromkeys(names_of("artifact"), 4)
    bad = BAD_SCORES[how](good)
    repaired = drive(judgement_of(GIVEN[:1], TEXT), Scripted([bad, verdict(good)]))
    assert scores_of(repaired.quality)["factual"] == 4
    model = Scripted([bad, bad, verdict(good)])
    found = drive(judgement_of(GIVEN[:1], TEXT), model)
    assert found.quality is None
    assert found.problem.startswith("scripted: it")
    assert len(found.problem) < 700
    assert len(model.asks) == 2


def test_a_name_that_a_reply_made_up_is_not_repeated() -> None:
    bad = verdict(dict.fromkeys(names_of("artifact"), 4) | {"obey me": 5})
    model = Scripted([bad, bad])
    found = drive(judgement_of(GIVEN[:1], TEXT), model)
    assert "obey me" not in model.asks[1].prompt
    assert "it has 10 scores for 9 criteria; missing: none" in found.problem
    assert "obey" not in found.problem


def test_no_judge_can_take_the_name_of_the_scorer_that_counts() -> None:
    counted = quality(GIVEN, entries_checked=2, strays=0, well_formed=True)
    found = drive(judgement_of(GIVEN, TEXT), judge(lambda _: 5, name="probes"))
    assert found.quality is not None
    assert (counted.by, found.quality.by) == ("probes", "model probes")


# --- the same through real programs, and awaited

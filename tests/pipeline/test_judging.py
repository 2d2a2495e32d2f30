"""A model answers from the text alone and a judge scores what it reads; what it replies is data,
and what cannot be used is no score."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from typing import Any

import pytest

from kedgeline.errors import ModelFailed
from kedgeline.model import Answer, Ask, Probe, ProbeType, Quality
from kedgeline.models import Scripted, drive
from kedgeline.pipeline.asking import prompt_named
from kedgeline.pipeline.judging import AT_ONCE, Judged, answered, judged, judgement_of, unsigned
from kedgeline.probes.criteria import CRITERIA, JUDGED_BY_TYPE, quality
from kedgeline.summary import render
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


# --- one after the other

OUT = ModelFailed("scripted", "the tide is out", next_step="wait")
ANSWERS = quotes(["| src/app.py | created | login | logout [t3] |"], [])


def test_a_model_answers_then_scores() -> None:
    scores = verdict(dict.fromkeys(names_of("artifact"), 3))
    model = Scripted([ANSWERS, scores], name="reader")
    found = drive(judged((CREATED, DELETED), TEXT), model)
    assert [ask.role for ask in model.asks] == ["answer", "judge"]
    assert [one.passed for one in found.answers] == [True, False], "to the letter"
    assert found.quality is not None
    assert (found.answered_by, found.quality.by, found.quality.overall) == ("reader", "reader", 3.0)
    assert (found.unanswered, found.problems) == (0, ())


def test_what_a_model_fails_at_is_missing_and_the_reason_is_said() -> None:
    assert drive(judged((), TEXT), None) == Judged(problems=("there is no probe to ask",))
    silent = Scripted([OUT])
    found = drive(judged((CREATED, DELETED), TEXT), silent)
    assert found == Judged(unanswered=2, problems=(str(OUT),))
    assert len(silent.asks) == 1
    found = drive(judged((CREATED, DELETED), TEXT), Scripted([ANSWERS, OUT]))
    assert (len(found.answers), found.quality, found.problems) == (2, None, (str(OUT),))

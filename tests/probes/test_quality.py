"""Six dimensions counted from the probes: what nobody asked about has no score."""

from __future__ import annotations

from typing import get_args

import pytest

from kedgeline.model import Answer, Dimension, Matter, Probe, ProbeType, Quality
from kedgeline.probes.criteria import (
    BY_PROBES,
    CRITERIA,
    EVERY,
    JUDGED_BY_TYPE,
    quality,
)

WEIGHTS = {
    "accuracy": {"factual": 0.6, "technical": 0.4},
    "context_awareness": {"conversation_state": 0.5, "artifact_state": 0.5},
    "artifact_trail": {"files_created": 0.3, "files_modified": 0.4, "key_details": 0.3},
    "completeness": {"coverage": 0.6, "depth": 0.4},
    "continuity": {"work_state": 0.4, "todo_state": 0.3, "reasoning": 0.3},
    "instruction_following": {"format": 0.5, "constraints": 0.5},
}


def answer(matter: Matter, passed: bool = True, *, type: ProbeType = "recall") -> Answer:
    probe = Probe(type=type, matter=matter, question="?", expected=("x",), section="Index", turn=0)
    return Answer(probe=probe, found=("x",) if passed else (), passed=passed)


def scores(
    *answers: Answer, entries: int = 0, strays: int = 0, well_formed: bool = True
) -> Quality:
    return quality(answers, entries_checked=entries, strays=strays, well_formed=well_formed)


def of(quality: Quality, dimension: Dimension) -> float | None:
    [one] = [one for one in quality.dimensions if one.dimension == dimension]
    return one.score


def criterion(quality: Quality, name: str) -> float | None:
    [one] = [c for d in quality.dimensions for c in d.criteria if c.criterion == name]
    return one.score


def test_the_rubric_is_the_published_one() -> None:
    assert {
        dimension: {c.name: c.weight for c in CRITERIA if c.dimension == dimension}
        for dimension in get_args(Dimension)
    } == WEIGHTS
    assert all(sum(weights.values()) == pytest.approx(1) for weights in WEIGHTS.values())


def test_every_matter_counts_for_more_than_coverage() -> None:
    """A matter that is added and forgotten here would count for next to nothing."""
    seen = {matter for one in CRITERIA if one.name != "coverage" for matter in one.matters}
    assert seen == set(EVERY) == set(get_args(Matter))


def test_each_type_of_probe_is_judged_on_the_published_dimensions() -> None:
    always = {"accuracy", "completeness", "instruction_following"}
    assert {kind: set(names) - always for kind, names in JUDGED_BY_TYPE.items()} == {
        "recall": {"context_awareness"},
        "artifact": {"artifact_trail"},
        "continuation": {"continuity"},
        "decision": {"context_awareness", "continuity"},
        "instruction": set(),
    }
    assert all(always <= set(names) for names in JUDGED_BY_TYPE.values())
    assert set(JUDGED_BY_TYPE) == set(get_args(ProbeType))


def test_where_nothing_was_asked_there_is_no_score() -> None:
    found = scores()
    assert found.by == BY_PROBES == "probes"
    assert {one.dimension: one.score for one in found.dimensions} == {
        **dict.fromkeys(get_args(Dimension)),
        "instruction_following": 5.0,
    }


def test_a_criterion_is_five_times_the_share_that_passes() -> None:
    found = scores(answer("created"), answer("created", False), answer("modified", False))
    assert (criterion(found, "files_created"), criterion(found, "files_modified")) == (2.5, 0.0)
    assert criterion(found, "key_details") is None
    assert of(found, "artifact_trail") == pytest.approx((0.3 * 2.5 + 0.4 * 0.0) / 0.7)
    assert criterion(found, "coverage") == pytest.approx(5 / 3)
    assert of(found, "completeness") == pytest.approx(5 / 3)
    assert of(found, "continuity") is None


@pytest.mark.parametrize(
    ("matter", "dimensions"),
    [
        ("command", {"accuracy", "completeness", "continuity"}),
        ("request", {"context_awareness", "completeness", "continuity"}),
        ("check", {"accuracy", "context_awareness", "completeness", "continuity"}),
        ("read", {"artifact_trail", "completeness"}),
        ("task", {"completeness", "continuity"}),
        ("decision", {"completeness", "continuity"}),
        ("rule", {"completeness", "instruction_following"}),
    ],
)
def test_a_loss_lowers_the_dimensions_it_concerns_and_no_other(
    matter: Matter, dimensions: set[str]
) -> None:
    every = [answer(one) for one in EVERY]
    whole = scores(*every, entries=9)
    lost = scores(*every, answer(matter, False), entries=9)
    lower = {
        one.dimension
        for one, before in zip(lost.dimensions, whole.dimensions, strict=True)
        if (one.score or 0) < (before.score or 0)
    }
    assert lower == dimensions


def test_a_rule_that_is_lost_and_a_broken_form_are_seen() -> None:
    assert of(scores(answer("rule", False)), "instruction_following") == 2.5
    assert of(scores(answer("rule"), well_formed=False), "instruction_following") == 2.5
    assert of(scores(answer("rule", False), well_formed=False), "instruction_following") == 0.0

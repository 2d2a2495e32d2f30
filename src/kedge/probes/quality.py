"""Scores on the six dimensions, counted from what the probes found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from kedge.model import Answer, CriterionScore, Dimension, DimensionScore, Probe, Quality
from kedge.probes.criteria import BEST, CRITERIA, TARGETS, Criterion

BY_PROBES = "probes"
"""Who scored, where nobody judged."""


DIGITS = 6
"""Of a mean: enough for any comparison, and none of what fractions leave behind."""


class Mark(NamedTuple):
    """What one criterion came to."""

    score: float | None
    reason: str = ""


def quality(
    answers: Sequence[Answer], *, entries_checked: int, strays: int, well_formed: bool
) -> Quality:
    """A criterion's score is 5 × the share of the probes it looks at that pass.

    Two are measured on the text itself: `factual` by the share of its entries that a fact holds,
    `format` by whether it is well formed. What nobody asked about has no score and no part in the
    score of its dimension."""
    if not 0 <= strays <= entries_checked:
        raise ValueError(f"{strays} of {entries_checked} entries cannot be strays")
    marks = {one.name: _asked(one, answers) for one in CRITERIA}
    marks["factual"] = _share(
        entries_checked - strays, entries_checked, "entries are held by facts"
    )
    marks["format"] = Mark(BEST, "well formed") if well_formed else Mark(0.0, "not well formed")
    return scored(BY_PROBES, marks)


def scored(by: str, marks: Mapping[str, Mark]) -> Quality:
    """All dimensions with all their criteria; those without a mark have no score."""
    return Quality(by=by, dimensions=tuple(_dimension(name, marks) for name in TARGETS))


def looks_at(criterion: Criterion, probe: Probe) -> bool:
    return probe.matter in criterion.matters or probe.type in criterion.types


def _asked(criterion: Criterion, answers: Sequence[Answer]) -> Mark:
    passed = [answer.passed for answer in answers if looks_at(criterion, answer.probe)]
    return _share(sum(passed), len(passed), "probes pass")


def _share(good: int, total: int, what: str) -> Mark:
    if not total:
        return Mark(None)
    return Mark(BEST * good / total, f"{good} of {total} {what}")


def _dimension(name: Dimension, marks: Mapping[str, Mark]) -> DimensionScore:
    criteria = tuple(
        CriterionScore(
            criterion=one.name, weight=one.weight, **marks.get(one.name, Mark(None))._asdict()
        )
        for one in CRITERIA
        if one.dimension == name
    )
    return DimensionScore(
        dimension=name, score=_mean(criteria), target=TARGETS[name], criteria=criteria
    )


def _mean(criteria: Sequence[CriterionScore]) -> float | None:
    """By their weights, of those that have a score."""
    known = [(one.weight, one.score) for one in criteria if one.score is not None]
    if not known:
        return None
    total = sum(weight for weight, _ in known)
    return round(sum(weight * score for weight, score in known) / total, DIGITS)

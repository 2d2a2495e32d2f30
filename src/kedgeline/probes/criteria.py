"""The rubric: six dimensions, their criteria, what each looks at, and the targets.

Dimensions, criteria and weights are the published ones; the guides are in our own words. The same
table serves the scorer that counts probes and the judge that reads."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, get_args

from kedgeline.model import (
    Answer,
    CriterionScore,
    Dimension,
    DimensionScore,
    Entry,
    Matter,
    Probe,
    ProbeType,
    Quality,
)

# Lines of a text that no fact holds.


def strays(shown: Sequence[Entry], known: Iterable[Entry]) -> Iterator[Entry]:
    """Entries that stand in a text and are not among those that the facts give, word for word.

    `known` are all that could stand there, with and without their details."""
    there = {_matter(entry) for entry in known}
    for entry in shown:
        if _matter(entry) not in there:
            yield entry


def _matter(entry: Entry) -> tuple[object, ...]:
    return (entry.section, entry.text, entry.action, entry.detail, entry.turns)


BEST = 5.0
TARGETS: dict[Dimension, float] = {
    "accuracy": 4.0,
    "context_awareness": 4.0,
    "artifact_trail": 3.5,
    "completeness": 3.5,
    "continuity": 4.0,
    "instruction_following": 4.0,
}
"""Seed 002's; the order is the one in which scores are shown."""

JUDGED_BY_TYPE: dict[ProbeType, tuple[Dimension, ...]] = {
    "recall": ("accuracy", "context_awareness", "completeness", "instruction_following"),
    "artifact": ("accuracy", "artifact_trail", "completeness", "instruction_following"),
    "continuation": ("accuracy", "completeness", "continuity", "instruction_following"),
    "decision": (
        "accuracy",
        "context_awareness",
        "completeness",
        "continuity",
        "instruction_following",
    ),
    "instruction": ("accuracy", "completeness", "instruction_following"),
}
"""On which dimensions a judge scores the answers to probes of a type."""

EVERY: tuple[Matter, ...] = get_args(Matter)


class Criterion(NamedTuple):
    name: str
    dimension: Dimension
    weight: float
    """Within its dimension."""
    asks: str
    guide: tuple[str, str, str]
    """What 0, 3 and 5 stand for."""
    matters: tuple[Matter, ...] = ()
    """Probes that it counts; none where it is measured in another way."""
    types: tuple[ProbeType, ...] = ()
    """Probes that it counts whatever they are about."""


CRITERIA: tuple[Criterion, ...] = (
    Criterion(
        "factual",
        "accuracy",
        0.6,
        "Is what is said true?",
        ("false or made up", "the gist is true, some details are not", "all of it is true"),
    ),  # counted over the lines of the text: those that a fact holds
    Criterion(
        "technical",
        "accuracy",
        0.4,
        "Are commands, counts, hashes, error messages and names exact?",
        ("wrong ones", "the right ones, some inexact", "exact to the letter"),
        ("check", "branch", "head", "published", "commit", "open error", "command", "finding"),
    ),
    Criterion(
        "conversation_state",
        "context_awareness",
        0.5,
        "Does it know what the user wants, what was said and what waits for an answer?",
        ("it does not", "the topic, not where it stands", "exactly where it stands"),
        ("request", "earlier request", "said since", "question", "answer", "session", "report"),
    ),
    Criterion(
        "artifact_state",
        "context_awareness",
        0.5,
        "Does it know the state of the files, checks and commits that exist now?",
        ("it does not", "partly, or as it was earlier", "as it is now"),
        ("check", "edited since", "absence", "branch", "head", "published", "commit", "action"),
    ),
    Criterion(
        "files_created",
        "artifact_trail",
        0.3,
        "Does it name the files that were created?",
        ("none of them", "some, or not by their paths", "all, by their full paths"),
        ("created",),
    ),
    Criterion(
        "files_modified",
        "artifact_trail",
        0.4,
        "Does it name the files that were modified, deleted or renamed, and which of the three?",
        ("none of them", "some, or with another action", "all, with path and action"),
        ("modified", "deleted", "renamed"),
    ),
    Criterion(
        "key_details",
        "artifact_trail",
        0.3,
        "Does it know what changed inside the files, and what was read?",
        ("nothing of it", "in general words", "functions, values and reasons by name"),
        ("change", "read"),
    ),
    Criterion(
        "coverage",
        "completeness",
        0.6,
        "Is every part of the question answered?",
        ("no part", "the main part", "every part"),
        EVERY,
    ),
    Criterion(
        "depth",
        "completeness",
        0.4,
        "Is it told in enough detail to be used without looking it up?",
        ("a bare mention", "the outline", "all the detail that is needed"),
        (
            "earlier request",
            "change",
            "read",
            "decision",
            "task done",
            "action",
            "commit",
            "report",
            "resolved error",
            "dead end",
            "finding",
            "earlier text",
        ),
    ),
    Criterion(
        "work_state",
        "continuity",
        0.4,
        "Can the work go on from here without fetching anything again?",
        ("it must begin anew", "after looking some things up", "at once"),
        ("request", "said since", "check", "edited since", "absence", "open error", "command"),
    ),
    Criterion(
        "todo_state",
        "continuity",
        0.3,
        "Is it known what is done, what is in flight and what is next?",
        ("it is not", "in general words", "task by task"),
        ("task", "task done", "question"),
    ),
    Criterion(
        "reasoning",
        "continuity",
        0.3,
        "Is it known why things were done this way, and what was tried and dropped?",
        ("it is not", "what was chosen, without the reasons", "with the reasons"),
        ("decision", "dead end", "resolved error", "finding"),
        ("decision",),
    ),
    Criterion(
        "format",
        "instruction_following",
        0.5,
        "Does the text keep to its form: every section there, each entry in its place?",
        ("it has none", "with exceptions", "throughout"),
    ),  # counted over the text: whether it is well formed
    Criterion(
        "constraints",
        "instruction_following",
        0.5,
        "Are the rules that the user has set there, in the user's words?",
        ("they are gone or turned round", "some, or in other words", "all, word for word"),
        ("rule",),
        ("instruction",),
    ),
)


# Scores on the six dimensions, counted from what the probes found.

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

"""Probes: questions with known answers, asked of a rendered summary; and what they found."""

from __future__ import annotations

from typing import Literal

from kedge.model.summary import SectionName
from kedge.model.value import Value

ProbeType = Literal["recall", "artifact", "continuation", "decision", "instruction"]
Matter = Literal[
    "request",
    "earlier request",
    "said since",
    "rule",
    "created",
    "modified",
    "deleted",
    "renamed",
    "change",
    "read",
    "decision",
    "check",
    "edited since",
    "absence",
    "task",
    "task done",
    "question",
    "branch",
    "head",
    "published",
    "session",
    "answer",
    "action",
    "commit",
    "report",
    "open error",
    "resolved error",
    "dead end",
    "command",
    "name",
    "earlier text",
]
"""What a probe asks about."""
Dimension = Literal[
    "accuracy",
    "context_awareness",
    "artifact_trail",
    "completeness",
    "continuity",
    "instruction_following",
]

ACCEPTED = 0.9
"""Score from which a summary is accepted, where no critical probe fails (R33)."""


class Probe(Value, frozen=True):
    """Made from facts, never from the text it is asked of."""

    type: ProbeType
    matter: Matter
    question: str
    expected: tuple[str, ...]
    """All of them must stand in one entry."""
    section: SectionName
    """Where the answer belongs."""
    turn: int
    """Where the answer comes from."""
    critical: bool = False
    key: str = ""
    """With the matter, what it is about: a newer probe of the same key takes its place."""
    lasting: bool = True
    """Holds until newer facts are about the same: asked at every later compaction too. Others are
    made anew each time, as what they ask about moves with the work."""


class Answer(Value, frozen=True):
    """What a text answers to a probe."""

    probe: Probe
    found: tuple[str, ...]
    """Those of the expected that stand there."""
    passed: bool
    given: str = ""
    """The words of the answer, where a model gave it."""


class CriterionScore(Value, frozen=True):
    """One criterion of a dimension."""

    criterion: str
    weight: float
    score: float | None
    """From 0 to 5; none where nothing was asked about it."""
    reason: str = ""


class DimensionScore(Value, frozen=True):
    dimension: Dimension
    score: float | None
    target: float
    """Seed 002's."""
    criteria: tuple[CriterionScore, ...] = ()


class Quality(Value, frozen=True):
    """Scores on the six dimensions, by one scorer."""

    by: str
    """`probes` for the deterministic scorer, else who judged: scores of two scorers are never put
    into one column."""
    dimensions: tuple[DimensionScore, ...]

    @property
    def overall(self) -> float | None:
        """The unweighted mean of those that have a score."""
        scores = [one.score for one in self.dimensions if one.score is not None]
        return sum(scores) / len(scores) if scores else None


class Verdict(Value, frozen=True):
    """What the probes found."""

    answers: tuple[Answer, ...] = ()
    strays: tuple[str, ...] = ()
    """Lines of the text that no fact holds, and sections that do not add up."""
    quality: Quality | None = None
    failed_first: int = 0
    """Probes that failed before anything was put back."""
    repaired: int = 0
    """Those of them that pass now."""

    @property
    def score(self) -> float | None:
        """Share of the probes that pass; none where there was nothing to ask."""
        return sum(a.passed for a in self.answers) / len(self.answers) if self.answers else None

    @property
    def failed(self) -> tuple[Answer, ...]:
        return tuple(answer for answer in self.answers if not answer.passed)

    @property
    def critical_failures(self) -> tuple[Answer, ...]:
        return tuple(answer for answer in self.failed if answer.probe.critical)

    @property
    def accepted(self) -> bool:
        """Whether the summary may stand for its turns; one of which nothing can be asked may."""
        good = self.score is None or self.score >= ACCEPTED
        return good and not self.critical_failures and not self.strays

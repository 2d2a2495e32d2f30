"""What a model makes of a text, for people and for programs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from kedge.cli.asking import Asking, call_as_json, shown
from kedge.cli.hints import shortened
from kedge.cli.verdict import answer_as_json, quality_as_json, rounded

if TYPE_CHECKING:
    from kedge.judging import Judged
    from kedge.model import Answer, ModelCall, Probe

NAME = 60
"""Characters of a model's name for people: that of one at an address of its own may be long."""


class Judgement(NamedTuple):
    judged: Judged
    calls: tuple[ModelCall, ...]
    """What it took."""


def judge(asked: Asking, probes: Sequence[Probe], text: str) -> Judgement:
    """Have the model do it, under its terms; the requests are counted on stderr while a person is
    watching."""
    from kedge.cli.kept import redactor
    from kedge.judging import judged
    from kedge.models import drive, guarded

    meter = asked.meter()
    step = guarded(
        judged(probes, text),
        asked.terms,
        model=asked.name,
        clean=redactor().clean,
        meter=meter,
    )
    with shown(asked) as model:
        found = drive(step, model)
    return Judgement(found, meter.calls)


def as_json(done: Judgement) -> dict[str, Any]:
    """The keys below `judged` of `kedge probe --json`."""
    judged = done.judged
    right = {one.probe: one.passed for one in judged.graded}
    return {
        "answered_by": judged.answered_by,
        "score": _share(judged.answers),
        "graded_score": _share(judged.graded),
        "unanswered": judged.unanswered,
        "answers": [
            answer_as_json(one) | {"given": one.given, "graded": right.get(one.probe)}
            for one in judged.answers
        ],
        "by": judged.quality.by if judged.quality else None,
        "dimensions": quality_as_json(judged.quality),
        "problems": list(judged.problems),
        "calls": [call_as_json(call) for call in done.calls],
    }


def columns(judged: Judged) -> dict[str, Sequence[Answer]]:
    """Answers that are right, for the table of probes by type."""
    found = {"model right": judged.answers, "judged right": judged.graded}
    return {name: answers for name, answers in found.items() if answers}


def told(judged: Judged) -> str:
    """Who answered and who judged, in a line."""
    if not judged.answers:
        return "the model gave no usable answer"
    right = sum(one.passed for one in judged.answers)
    marked = sum(one.passed for one in judged.graded)
    line = f"{right:,} of {len(judged.answers):,} answers are right to the letter"
    if judged.graded:
        line += f", {marked:,} of {len(judged.graded):,} right as the judge marks them"
    if judged.unanswered:
        line += f"; no usable reply on {judged.unanswered:,} probes"
    return f"{line}; answered by {shortened(judged.answered_by, NAME)}"


def _share(answers: Sequence[Answer]) -> float | None:
    return rounded(sum(one.passed for one in answers) / len(answers)) if answers else None

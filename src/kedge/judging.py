"""One model as reader and judge of a text: it answers the probes, marks its answers, scores them.

Nothing of it counts towards the verdict."""

from __future__ import annotations

from collections.abc import Sequence

from kedge.model import Answer, Probe, Quality, Step, Value

NOTHING_ASKED = "there is no probe to ask"


class Judged(Value, frozen=True):
    """What a model made of a text."""

    answered_by: str = ""
    """The model that answered; empty where it gave no usable reply."""
    answers: tuple[Answer, ...] = ()
    """Right where a quote holds all that is expected, to the letter."""
    graded: tuple[Answer, ...] = ()
    """The same answers, right where the judge says so; those it did not mark are not here."""
    unanswered: int = 0
    """Probes on which there is no usable reply."""
    quality: Quality | None = None
    """The judge's scores; none where a part of its replies cannot be used."""
    problems: tuple[str, ...] = ()
    """Why something is missing, each once."""


def judged(probes: Sequence[Probe], text: str) -> Step[Judged]:
    """Have a model answer the probes from the text alone, mark its answers and score them. Run it
    with `kedge.models.drive`. Without a usable answer there is nothing to mark or to score."""
    from kedge.probes import judging  # only who has a model needs it

    if not probes:
        return Judged(problems=(NOTHING_ASKED,))
    found = yield from judging.answered(probes, text)
    if not found.answers:
        return Judged(unanswered=len(found.unanswered), problems=_each_once(*found.problems))
    marked = yield from judging.graded(found.answers)
    scores = yield from judging.judged(found.answers, text)
    return Judged(
        answered_by=found.by,
        answers=found.answers,
        graded=marked.answers,
        unanswered=len(found.unanswered),
        quality=scores.quality,
        problems=_each_once(*found.problems, *marked.problems, scores.problem),
    )


def _each_once(*problems: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(problem for problem in problems if problem))

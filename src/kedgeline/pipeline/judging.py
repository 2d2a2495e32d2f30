"""A model answers the probes from a text alone, and a judge scores what it reads.

Nothing here counts towards the score of the probes: what a model found is its own column, under its
own name. Where a model fails or its reply cannot be used, there is no score, and the reason."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Annotated, NamedTuple, TypeVar

from msgspec import Meta, Struct

from kedgeline.model import SUMMARY_TAG, Answer, Probe, ProbeType, Quality, Step, Value
from kedgeline.pipeline.asking import AskOutcome, Request, prose_asked
from kedgeline.probes.criteria import BY_PROBES, CRITERIA, JUDGED_BY_TYPE, Criterion, Mark, scored
from kedgeline.text.prose import cut, holds_plain, one_line, plain

AT_ONCE = 15
"""Questions in one request: small models lose count of more."""
ANSWER_TOKENS = 120
"""Of a reply, for each question: a line of the text and the JSON around it."""
REASON_TOKENS = 80
"""Of a reply, for each criterion: one sentence and the JSON around it."""
CHARACTERS_PER_TOKEN = 3
"""For what must be quoted as a whole; less than most texts have, to leave room."""
LISTED = 120
"""Characters of a wrong list that are shown."""
ANSWER = 2_000
"""Characters of an answer that are looked at; more where more is expected. Who gives the whole text
as an answer has found nothing."""
SHOWN = 600
"""Characters of each answer that a judge is shown."""
REASON = 300
"""Characters of a judge's reason that are kept."""

NOTHING_ASKED = "there is no probe to ask"

_OURS = re.compile(
    rf"< ?/? ?{SUMMARY_TAG.replace('-', '[-_]')}[^>\n]{{0,80}}>|(?<=more left out): kedgeline "
    rf"[^)\n]*",
    re.IGNORECASE,
)
"""What gives away who wrote a text."""
_S = TypeVar("_S", bound=Struct)
_T = TypeVar("_T")


class Quoted(Struct):
    number: int
    quotes: list[str]


class Quotes(Struct):
    answers: list[Quoted]


class Score(Struct):
    criterion: str
    reason: str
    score: Annotated[float, Meta(ge=0, le=5)] | None


class Scores(Struct):
    scores: list[Score]


class Answering(NamedTuple):
    """What a model made of the probes."""

    by: str
    """Its name; empty where it gave no answer."""
    answers: tuple[Answer, ...] = ()
    unanswered: tuple[Probe, ...] = ()
    """Those on which there is no usable reply. They have not failed: nobody knows."""
    problems: tuple[str, ...] = ()


class Judgement(NamedTuple):
    quality: Quality | None
    """None where a part of the judge's replies cannot be used: there are no scores by halves."""
    problem: str = ""


class Judged(Value, frozen=True):
    """What one model made of a text as its reader and its judge."""

    answered_by: str = ""
    """The model that answered; empty where it gave no usable reply."""
    answers: tuple[Answer, ...] = ()
    """Right where a quote holds all that is expected, to the letter."""
    unanswered: int = 0
    """Probes on which there is no usable reply."""
    quality: Quality | None = None
    """The judge's scores; none where a part of its replies cannot be used."""
    problems: tuple[str, ...] = ()
    """Why something is missing, each once."""


def judged(probes: Sequence[Probe], text: str) -> Step[Judged]:
    """Have a model answer the probes from the text alone, and score its answers. Run it with
    `kedgeline.models.drive`. Without a usable answer there is nothing to score."""
    if not probes:
        return Judged(problems=(NOTHING_ASKED,))
    found = yield from answered(probes, text)
    if not found.answers:
        return Judged(unanswered=len(found.unanswered), problems=found.problems)
    scores = yield from judgement_of(found.answers, text)
    problems = (*found.problems, *((scores.problem,) if scores.problem else ()))
    return Judged(
        answered_by=found.by,
        answers=found.answers,
        unanswered=len(found.unanswered),
        quality=scores.quality,
        problems=tuple(dict.fromkeys(problems)),
    )


def answered(probes: Sequence[Probe], text: str) -> Step[Answering]:
    """Have a model answer from the text alone. An answer is right where one of its quotes holds all
    that is expected, to the letter, and the text does as well: what is guessed does not count.

    Probes with one question are asked together, and each is looked for in the answer."""
    batches = _batches(list(dict.fromkeys(probe.question for probe in probes)))
    done = yield from _each(_questions(batch, probes, text) for batch in batches)
    quotes = {
        batch[answer.number - 1]: answer.quotes
        for batch, one in zip(batches, done, strict=False)
        if one.value is not None
        for answer in one.value.answers
    }
    words = _words(text)
    return Answering(
        by=_by(done),
        answers=tuple(
            _answer(p, quotes[p.question], words) for p in probes if p.question in quotes
        ),
        unanswered=tuple(probe for probe in probes if probe.question not in quotes),
        problems=_problems(done),
    )


def judgement_of(answers: Sequence[Answer], text: str) -> Step[Judgement]:
    """Have a judge score the criteria from the questions, what is expected, what was answered and
    the text. It is not told who wrote the text, nor what passed. A criterion's score is the mean
    over the answers it was judged by; its reason is that of the lowest."""
    batches = [
        (criteria, batch)
        for kind in JUDGED_BY_TYPE
        if (criteria := _criteria(kind))
        for batch in _batches([one for one in answers if one.probe.type == kind])
    ]
    if not batches:
        return Judgement(quality=None, problem="there are no answers to judge")
    done = yield from _each(_exhibits(*batch, text) for batch in batches)
    if problems := _problems(done):
        return Judgement(quality=None, problem="; ".join(problems))
    given: dict[str, list[tuple[float, int, str]]] = {}
    for (_, batch), one in zip(batches, done, strict=True):
        for score in one.value.scores if one.value else ():
            if score.score is not None:
                told = (score.score, len(batch), cut(one_line(score.reason), REASON))
                given.setdefault(score.criterion, []).append(told)
    marks = {name: _mean(scores) for name, scores in given.items()}
    return Judgement(quality=scored(_by(done), marks))


def unsigned(text: str) -> str:
    """Text without what gives away who wrote it."""
    return _OURS.sub("", text).strip()


def _each(requests: Iterable[Request[_S]]) -> Step[list[AskOutcome[_S]]]:
    """What comes of requests, up to the first to which the model gives no reply."""
    done: list[AskOutcome[_S]] = []
    for request in requests:
        done.append((yield from prose_asked(request)))
        if done[-1].failed:
            break
    return done


def _questions(batch: Sequence[str], probes: Sequence[Probe], text: str) -> Request[Quotes]:
    expected = sum(len(part) for p in probes if p.question in batch for part in p.expected)
    return Request(
        prompt="answer",
        role="answer",
        words={"count": str(len(batch))},
        data={"text": text, "questions": _numbered(batch)},
        shape=Quotes,
        problem=lambda got: _miscounted([one.number for one in got.answers], len(batch)),
        most_tokens=ANSWER_TOKENS * len(batch) + expected // CHARACTERS_PER_TOKEN,
    )


def _exhibits(criteria: Sequence[Criterion], batch: Sequence[Answer], text: str) -> Request[Scores]:
    rubric = "\n".join(
        "- {}: {} 0: {}. 3: {}. 5: {}.".format(one.name, one.asks, *one.guide) for one in criteria
    )
    return Request(
        prompt="judge",
        role="judge",
        words={"criteria": rubric, "count": str(len(criteria))},
        data={"text": unsigned(text), "answers": _numbered(map(_exhibit, batch))},
        shape=Scores,
        problem=lambda got: _unfit(got.scores, criteria),
        most_tokens=REASON_TOKENS * len(criteria),
    )


def _exhibit(answer: Answer) -> str:
    given = answer.given or "; ".join(answer.found) or "(none)"
    parts = (
        answer.probe.question,
        f"   expected: {cut(one_line('; '.join(answer.probe.expected)), SHOWN)}",
        f"   answered: {cut(one_line(given), SHOWN)}",
    )
    return unsigned("\n".join(parts))


def _answer(probe: Probe, quotes: Sequence[str], words: str) -> Answer:
    """What the one quote that holds most of it holds."""
    room = max(ANSWER, 2 * sum(map(len, probe.expected)))
    given = "\n".join(quotes)[:room]
    wanted = [(part, _words(part)) for part in probe.expected]
    there = [one for one in wanted if holds_plain(words, one[1])]
    found: tuple[str, ...] = ()
    for quote in quotes:
        told = _words(quote[:room])
        held = tuple(part for part, want in there if holds_plain(told, want))
        found = max(found, held, key=len)
    return Answer(probe=probe, found=found, passed=found == probe.expected != (), given=given)


def _words(text: str) -> str:
    """Text as it is compared: whoever quotes from a table may write its bars in either way."""
    return plain(text.replace("\\|", "|"))


def _criteria(kind: ProbeType) -> list[Criterion]:
    return [one for one in CRITERIA if one.dimension in JUDGED_BY_TYPE[kind]]


def _mean(scores: Sequence[tuple[float, int, str]]) -> Mark:
    total = sum(count for _, count, _ in scores)
    return Mark(sum(score * count for score, count, _ in scores) / total, min(scores)[2])


def _miscounted(numbers: Sequence[int], count: int) -> str:
    if sorted(numbers) == [*range(1, count + 1)]:
        return ""
    shown = cut(", ".join(map(str, numbers)), LISTED) or "no numbers"
    return f"it has {shown}, and should have the numbers from 1 to {count}, each once"


def _unfit(scores: Sequence[Score], criteria: Sequence[Criterion]) -> str:
    """In our words alone: a name that a reply made up is not repeated to the model."""
    names, wanted = [one.criterion for one in scores], [one.name for one in criteria]
    if sorted(names) != sorted(wanted):
        missing = ", ".join(name for name in wanted if name not in names) or "none"
        return f"it has {len(names)} scores for {len(wanted)} criteria; missing: {missing}"
    bare = ", ".join(one.criterion for one in scores if not one.reason.strip())
    return f"it gives no reason for {bare}" if bare else ""


def _problems(done: Sequence[AskOutcome[_S]]) -> tuple[str, ...]:
    return tuple(one.problem for one in done if one.problem)


def _by(done: Sequence[AskOutcome[_S]]) -> str:
    """Who replied; by a name that cannot be taken for the scorer that counts probes."""
    name = ", ".join(dict.fromkeys(one.model for one in done if one.value is not None))
    return f"model {name}" if name == BY_PROBES else name


def _numbered(items: Iterable[str]) -> str:
    return "\n".join(f"{number}. {item}" for number, item in enumerate(items, 1))


def _batches(items: Sequence[_T]) -> list[Sequence[_T]]:
    return [items[start : start + AT_ONCE] for start in range(0, len(items), AT_ONCE)]

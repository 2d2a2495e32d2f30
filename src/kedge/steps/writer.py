"""Who writes prose on top of a summary."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property

from kedge.model import Ask, ConversationFlow, Step
from kedge.models import TERMS, AsyncModel, Meter, Model, Patience, Terms, name_of
from kedge.redaction import Redactor
from kedge.steps.draft import Draft
from kedge.steps.job import Job
from kedge.steps.worded import requests_for_words, worded
from kedge.tokens import EXACT


@dataclass(frozen=True)
class ModelWriter:
    """A model by its name, and how it is asked. The model itself is with whoever runs the step."""

    name: str
    meter: Meter
    """What it uses, and may use."""
    clean: Callable[[str], str]
    """Takes secrets out of all that is sent."""
    terms: Terms = TERMS
    clock: Callable[[], float] = time.monotonic

    @cached_property
    def patience(self) -> Patience:
        """One for all that it writes: a compaction that begins again has no new time."""
        return Patience(self.terms, model=self.clean(self.name), clock=self.clock)

    def words(self, job: Job, flow: ConversationFlow, draft: Draft) -> Step[Draft]:
        return worded(
            job,
            flow,
            draft,
            name=self.clean(self.name),
            terms=self.terms,
            meter=self.meter,
            clean=self.clean,
            clock=self.clock,
            patience=self.patience,
        )


@dataclass(frozen=True)
class Rehearsal:
    """Asks nobody, and knows then what a model would have been sent."""

    terms: Terms = TERMS
    clean: Callable[[str], str] = str
    asks: list[Ask] = field(default_factory=list)

    def words(self, job: Job, flow: ConversationFlow, draft: Draft) -> Step[Draft]:
        self.asks[:] = requests_for_words(job, flow, draft, terms=self.terms, clean=self.clean)
        return draft
        yield  # it is a step like the other, and asks nothing


def writer_for(
    model: Model | AsyncModel, terms: Terms | None, redactor: Redactor | None
) -> ModelWriter:
    """One without a session behind it: what it uses is counted from nothing."""
    terms = terms or TERMS
    meter = Meter(terms, count=EXACT.count)
    return ModelWriter(name_of(model), meter, cleaning(redactor), terms)


def rehearsal_for(terms: Terms | None, redactor: Redactor | None) -> Rehearsal:
    return Rehearsal(terms or TERMS, cleaning(redactor))


def cleaning(redactor: Redactor | None) -> Callable[[str], str]:
    return str if redactor is None else redactor.clean

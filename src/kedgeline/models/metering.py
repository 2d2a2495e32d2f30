"""Between a step and its model: secrets are taken out, failures that may pass are retried, time and
tokens are limited, every request is written down."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from math import inf, isfinite
from typing import TypeVar

from msgspec.structs import replace

from kedgeline.errors import KedgelineError, ModelFailed
from kedgeline.model import Ask, ModelCall, Reply, Step, Usage, Wait
from kedgeline.models.command import words_of
from kedgeline.models.driving import NotAsked, StepRun
from kedgeline.settings import FAULTS

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Terms:
    """Time and tokens. What is 0 has no limit."""

    window: int = 32_000
    """Tokens that the model takes at once, its reply included: all current ones take as many."""
    call_seconds: float = 60.0
    """How long one request may take."""
    seconds: float = 180.0
    """How long all of them may take together, with pauses and repetitions. In a session, a
    compaction that begins again goes on with what is left of it."""
    tries: int = 3
    """How often one request is made where the failure may pass."""
    tokens: int = 0
    """Tokens sent and written by all requests of a session."""


TERMS = Terms()


class Meter:
    """Knows all calls of a session, and refuses a request that could exceed its limit of tokens. It
    counts what was reported, else what was sent and written; of a try without a reply, nothing:
    nobody knows whether that is paid."""

    def __init__(
        self,
        terms: Terms = TERMS,
        *,
        count: Callable[[str], int],
        earlier: Iterable[ModelCall] = (),
        on_call: Callable[[ModelCall], None] | None = None,
    ) -> None:
        """`earlier` are the calls that the session has paid already; `on_call` is given each that
        is made, at once."""
        self._limit, self._count, self._on_call = terms.tokens, count, on_call
        self._calls: list[ModelCall] = []
        self.tokens = sum(call.usage.total for call in earlier)
        """Sent and written by the whole session so far."""

    @property
    def calls(self) -> tuple[ModelCall, ...]:
        """Those that were made here, in their order."""
        return tuple(self._calls)

    def needs(self, ask: Ask) -> Usage:
        """The most that a request takes, as we count."""
        return Usage(input=self._count(words_of(ask)), output=max(0, ask.most_tokens))

    def asked(self, ask: Ask, *, model: str, clock: Callable[[], float]) -> Step[Reply]:
        """One try: refused, or made and written down."""
        most = self.needs(ask)
        if self._limit and self.tokens + most.total > self._limit:
            used = f"{self.tokens:,} of {self._limit:,} tokens"
            why = f"the session has used {used}, and this request may take {most.total:,}"
            raise NotAsked(model, why, next_step="allow more (model_tokens)", kind="over budget")
        at, began = datetime.now(UTC), clock()

        def took(usage: Usage, *, estimated: bool = True, failure: str = "") -> None:
            call = ModelCall(
                role=ask.role,
                model=model,
                sent=most.input,
                usage=usage,
                estimated=estimated,
                prompt_hash=ask.prompt_hash,
                at=at,
                seconds=max(0.0, clock() - began),
                failure=failure,
            )
            self._calls.append(call)
            self.tokens += usage.total
            if self._on_call is not None:
                self._on_call(call)

        try:
            reply = yield ask
        except NotAsked:
            raise
        except ModelFailed as failure:
            took(Usage(), failure=failure.kind)
            raise
        except GeneratorExit:
            # Nobody waits any longer. It was sent all the same, so it is written down, but whatever
            # goes wrong with that must not take the place of why it ended.
            with suppress(KedgelineError, *FAULTS):
                took(Usage(), failure="cancelled")
            raise
        if reply.usage is None or reply.usage == Usage():
            took(Usage(input=most.input, output=self._count(reply.text)))
        else:
            took(reply.usage, estimated=False)
        return reply


FIRST_PAUSE, GROWTH, LONGEST_PAUSE = 1.0, 2.0, 20.0
"""Seconds before the second try, how much longer each pause is, and the longest."""
LONGEST_WAIT = 3_600.0
"""Seconds that a provider may ask for: more means that the quota of the day is used up."""


class ModelPatience:
    """Of all requests of one step together, or of several steps that share it: the time begins with
    the first."""

    def __init__(
        self, terms: Terms, *, model: str, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._terms, self._model, self._clock = terms, model, clock
        self._deadline: float | None = None

    def asked(self, ask: Ask, once: Callable[[Ask], Step[Reply]]) -> Step[Reply]:
        """Try until a reply comes, the failure is one that stays, or time or tries are used up."""
        if self._deadline is None:
            self._deadline = self._clock() + (self._terms.seconds or inf)
        pause, tries = FIRST_PAUSE, max(1, self._terms.tries)
        while True:
            left = self.left()
            if left <= 0:
                raise self._too_late(NotAsked)
            tries -= 1
            seconds = min(ask.seconds or inf, self._terms.call_seconds or inf, left)
            limited = replace(ask, seconds=seconds if isfinite(seconds) else 0.0)
            try:
                reply = yield from once(limited)
            except ModelFailed as failure:
                # those who were refused together do not come back together
                wait = max(failure.wait or 0.0, random.uniform(0.5, 1.0) * pause)
                if not failure.passes or not tries or wait >= self.left() or wait > LONGEST_WAIT:
                    raise
            else:
                if self.left() <= 0:
                    raise self._too_late(ModelFailed)
                return reply
            yield Wait(seconds=wait)
            pause = min(LONGEST_PAUSE, GROWTH * pause)

    def left(self) -> float:
        """Seconds; without end where there is no limit, or nothing was asked yet."""
        return inf if self._deadline is None else self._deadline - self._clock()

    def _too_late(self, failure: type[ModelFailed]) -> ModelFailed:
        return failure(
            self._model,
            f"all requests together took more than {self._terms.seconds:g} seconds",
            next_step="use a faster model, or allow more (model_seconds)",
            kind="timed out",
        )


def guarded_step(
    step: Step[T],
    terms: Terms,
    *,
    model: str,
    clean: Callable[[str], str],
    meter: Meter,
    clock: Callable[[], float] = time.monotonic,
    patience: ModelPatience | None = None,
) -> Step[T]:
    """A step whose requests have no secrets in them, are made again where the failure may pass, and
    stay within time and budget. What cannot be had within them fails, as a model does.

    `model` is the name that calls are written down with; `clean` takes secrets out, of failures
    too. Steps that are given one `patience` share its time."""
    name = clean(model)
    patience = patience or ModelPatience(terms, model=name, clock=clock)

    def once(ask: Ask) -> Step[Reply]:
        return meter.asked(ask, model=name, clock=clock)

    with closing(step):
        run = StepRun(step)
        while wants := run.wants:
            if isinstance(wants, Wait):
                yield Wait(seconds=max(0.0, min(wants.seconds, patience.left())))
                run.send()
                continue
            try:
                ask = replace(wants, system=clean(wants.system), prompt=clean(wants.prompt))
                reply = yield from patience.asked(ask, once)
            except ModelFailed as failure:
                answer: Reply | ModelFailed = _cleaned(failure, clean)
            else:
                answer = replace(reply, model=clean(reply.model))
            run.send(answer)
    return run.result


def _cleaned(failure: ModelFailed, clean: Callable[[str], str]) -> ModelFailed:
    """The same without secrets: a program or a provider may have complained with them."""
    kind = NotAsked if isinstance(failure, NotAsked) else ModelFailed
    name, why, then = (clean(one) for one in (failure.name, failure.why, failure.next_step))
    return kind(name, why, next_step=then, kind=failure.kind, wait=failure.wait)

"""What the models of a session use, and what they may use."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable
from contextlib import closing, suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from math import inf, isfinite
from typing import TypeVar

from msgspec.structs import replace

from kedgeline.errors import KedgelineError, MissingExtra, ModelFailed
from kedgeline.model import Ask, ModelCall, Rates, Reply, Step, Usage, Wait
from kedgeline.model.ask import KINDS, Charged, bare_name, charged
from kedgeline.model.turn import MOST_TOKENS
from kedgeline.models.command import words_of
from kedgeline.models.driving import NotAsked, Run
from kedgeline.settings import FAULTS

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Terms:
    """Time and money. What is 0 has no limit, unless said otherwise."""

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
    cost: float = 0.0
    """US dollars for all requests of a session."""
    rates: Callable[[str], Rates | None] | None = None
    """What a model costs, by its name: a limit in dollars needs it."""


TERMS = Terms()

DOLLARS = "USD"
"""What a limit of money is in."""
OTHER_COUNT = 20
"""How many tokens of a provider one of ours can be at the most: it has some four characters, and
more in few scripts."""
UNSEEN = 1_000_000
"""Tokens that may be used beside what we sent: a provider's own instructions, and reasoning. More
is larger than any window, and no true report."""
NO_PRICE = "limit tokens in place of dollars (model_tokens, and model_cost 0)"


class Meter:
    """Knows all calls of a session, and refuses a request with which they could exceed a limit. It
    counts what was reported, else what was sent and written; of a try without a reply, nothing:
    nobody knows whether that is paid."""

    def __init__(
        self,
        terms: Terms = TERMS,
        *,
        count: Callable[[str], int],
        rates: Callable[[str], Rates | None] | None = None,
        earlier: Iterable[ModelCall] = (),
        on_call: Callable[[ModelCall], None] | None = None,
        now: Callable[[], datetime] | None = None,
    ) -> None:
        """`earlier` are the calls that the session has paid already; `on_call` is given each that
        is made, at once."""
        self._terms, self._count = terms, count
        self._rates = rates or terms.rates or (lambda model: None)
        self._on_call, self._now = on_call, now or partial(datetime.now, UTC)
        self._calls: list[ModelCall] = []
        self._used: dict[str, Usage] = {}
        for call in earlier:
            self._add(call)

    @property
    def calls(self) -> tuple[ModelCall, ...]:
        """Those that were made here, in their order."""
        return tuple(self._calls)

    @property
    def spent(self) -> Usage:
        """By the whole session so far."""
        return sum(self._used.values(), Usage())

    @property
    def tokens(self) -> int:
        """Sent and written by the whole session so far."""
        return self.spent.total

    @property
    def cost(self) -> float:
        """US dollars of the whole session so far, as far as prices are known."""
        return sum(self._charged(model, usage).amount for model, usage in self._used.items())

    def needs(self, ask: Ask) -> Usage:
        """The most that a request takes, as we count."""
        return Usage(input=self._count(words_of(ask)), output=max(0, ask.most_tokens))

    def asked(self, ask: Ask, *, model: str, clock: Callable[[], float]) -> Step[Reply]:
        """One try: refused, or made and written down."""
        most = self.needs(ask)
        self._refuse(most, model)
        at, began = self._now(), clock()

        def took(usage: Usage, *, estimated: bool = True, failure: str = "") -> None:
            self._take(
                ModelCall(
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
            )

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
        reported = _reported(reply, most)
        guess = Usage(input=most.input, output=self._count(reply.text))
        took(reported or guess, estimated=reported is None)
        return reply

    def _take(self, call: ModelCall) -> None:
        self._calls.append(call)
        self._add(call)
        if self._on_call is not None:
            self._on_call(call)

    def _add(self, call: ModelCall) -> None:
        self._used[call.model] = self._used.get(call.model, Usage()) + call.usage

    def _charged(self, model: str, usage: Usage) -> Charged:
        rates = self._rates(bare_name(model))
        return charged(usage, rates if rates is not None and rates.currency == DOLLARS else None)

    def _refuse(self, most: Usage, model: str) -> None:
        terms, needed = self._terms, most.total
        if terms.tokens and self.tokens + needed > terms.tokens:
            used_up = f"{self.tokens:,} of {terms.tokens:,} tokens"
            why = f"the session has used {used_up}, and this request may take {needed:,}"
            raise _over(model, why, "allow more (model_tokens)")
        if not terms.cost:
            return
        try:
            price, known = self._charged(model, most)
            used = self.cost
        except MissingExtra as error:
            raise _over(model, f"what it costs is not known: {error}", NO_PRICE) from error
        if not known:
            why = "what it costs is not known, and there is a limit in dollars"
            raise _over(model, why, NO_PRICE)
        if used + price > terms.cost:
            used_up = f"${used:.4f} of ${terms.cost:.4f}"
            why = f"the session has used {used_up}, and this request may cost ${price:.4f}"
            raise _over(model, why, "allow more (model_cost)")


def _over(model: str, why: str, next_step: str) -> NotAsked:
    return NotAsked(model, why, next_step=next_step, kind="over budget")


def _reported(reply: Reply, most: Usage) -> Usage | None:
    """None where nobody reported anything that can be true of a request that takes so much."""
    usage = reply.usage
    if not isinstance(usage, Usage) or usage == Usage():
        return None
    numbers = [getattr(usage, kind) for kind in KINDS]
    if not all(type(number) is int and 0 <= number <= MOST_TOKENS for number in numbers):
        return None
    pairs = ((usage.context, most.input), (usage.output, most.output))
    return usage if all(used <= OTHER_COUNT * by_us + UNSEEN for used, by_us in pairs) else None


FIRST_PAUSE, GROWTH, LONGEST_PAUSE = 1.0, 2.0, 20.0
"""Seconds before the second try, how much longer each pause is, and the longest."""
EVEN = 0.5
"""Share of a pause that chance does not shorten: those who were refused together do not come back
together, and nobody comes back at once."""
LONGEST_WAIT = 3_600.0
"""Seconds that a provider may ask for: more means that the quota of the day is used up."""


class Patience:
    """Of all requests of one step together, or of several steps that share it: the time begins with
    the first."""

    def __init__(
        self,
        terms: Terms,
        *,
        model: str,
        clock: Callable[[], float] = time.monotonic,
        chance: Callable[[], float] = random.random,
    ) -> None:
        self._terms, self._model = terms, model
        self._clock, self._chance = clock, chance
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
            try:
                reply = yield from once(replace(ask, seconds=self._seconds(ask, left)))
            except ModelFailed as failure:
                wait = self._wait(failure, pause)
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

    def _seconds(self, ask: Ask, left: float) -> float:
        """What one try may take; 0 where nothing limits it."""
        least = min(ask.seconds or inf, self._terms.call_seconds or inf, left)
        return least if isfinite(least) else 0.0

    def _wait(self, failure: ModelFailed, pause: float) -> float:
        asked_for = failure.wait if failure.wait is not None and failure.wait > 0 else 0.0
        return max(asked_for, pause * (EVEN + (1 - EVEN) * self._chance()))

    def _too_late(self, failure: type[ModelFailed]) -> ModelFailed:
        return failure(
            self._model,
            f"all requests together took more than {self._terms.seconds:g} seconds",
            next_step="use a faster model, or allow more (model_seconds)",
            kind="timed out",
        )


def guarded(
    step: Step[T],
    terms: Terms,
    *,
    model: str,
    clean: Callable[[str], str],
    meter: Meter,
    clock: Callable[[], float] = time.monotonic,
    chance: Callable[[], float] = random.random,
    patience: Patience | None = None,
) -> Step[T]:
    """A step whose requests have no secrets in them, are made again where the failure may pass, and
    stay within time and budget. What cannot be had within them fails, as a model does. Of replies
    and failures, too, nothing but what a model wrote comes in with a secret in it.

    `model` is the name that calls are written down with; `clean` takes secrets out; `chance` is
    between 0 and 1. Steps that are given one `patience` share its time."""
    name = clean(model)
    if patience is None:
        patience = Patience(terms, model=name, clock=clock, chance=chance)

    def once(ask: Ask) -> Step[Reply]:
        return meter.asked(ask, model=name, clock=clock)

    with closing(step):
        run = Run(step)
        while wants := run.wants:
            if isinstance(wants, Wait):
                yield Wait(seconds=max(0.0, min(wants.seconds, patience.left())))
                run.go_on()
                continue
            try:
                ask = replace(wants, system=clean(wants.system), prompt=clean(wants.prompt))
                reply = yield from patience.asked(ask, once)
            except ModelFailed as failure:
                answer: Reply | ModelFailed = _cleaned(failure, clean)
            else:
                answer = replace(reply, model=clean(reply.model))
            run.go_on(answer)
    return run.result


def _cleaned(failure: ModelFailed, clean: Callable[[str], str]) -> ModelFailed:
    """The same without secrets: a program or a provider may have complained with them."""
    kind = NotAsked if isinstance(failure, NotAsked) else ModelFailed
    name, why, then = (clean(one) for one in (failure.name, failure.why, failure.next_step))
    return kind(name, why, next_step=then, kind=failure.kind, wait=failure.wait)

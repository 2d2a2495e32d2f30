"""What the models of a session use, and what they may use."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import UTC, datetime

from kedge.errors import KedgeError, MissingExtra, ModelFailed
from kedge.model import Ask, ModelCall, Rates, Reply, Step, Usage
from kedge.model.rates import KINDS, Charged, bare_name, charged
from kedge.model.turn import MOST_TOKENS
from kedge.models.moving import NotAsked
from kedge.models.phrasing import words_of
from kedge.models.terms import TERMS, Terms
from kedge.plugins import FAULTS

DOLLARS = "USD"
"""What a limit of money is in."""
OTHER_COUNT = 20
"""How many tokens of a provider one of ours can be at the most: it has some four characters, and
more in few scripts."""
UNSEEN = 1_000_000
"""Tokens that may be used beside what we sent: a provider's own instructions, and reasoning. More
is larger than any window, and no true report."""
NO_PRICE = "limit tokens in place of dollars (model_tokens, and model_cost 0)"

RatesOf = Callable[[str], Rates | None]
"""The prices of a model, by its name without the provider's."""


def _now() -> datetime:
    return datetime.now(tz=UTC)


def _unknown(model: str) -> Rates | None:
    return None


class Meter:
    """Knows all calls of a session, and refuses a request with which they could exceed a limit. It
    counts what was reported, else what was sent and written; of a try without a reply, nothing:
    nobody knows whether that is paid."""

    def __init__(
        self,
        terms: Terms = TERMS,
        *,
        count: Callable[[str], int],
        rates: RatesOf | None = None,
        earlier: Iterable[ModelCall] = (),
        on_call: Callable[[ModelCall], None] | None = None,
        now: Callable[[], datetime] = _now,
    ) -> None:
        """`earlier` are the calls that the session has paid already; `on_call` is given each that
        is made, at once."""
        self._terms, self._count = terms, count
        self._rates = rates or terms.rates or _unknown
        self._on_call, self._now = on_call, now
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

        def call(usage: Usage, *, estimated: bool, failure: str = "") -> ModelCall:
            return ModelCall(
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

        try:
            reply = yield ask
        except NotAsked:
            raise
        except ModelFailed as failure:
            self._take(call(Usage(), estimated=True, failure=failure.kind))
            raise
        except GeneratorExit:
            # Nobody waits any longer. It was sent all the same, so it is written down, but whatever
            # goes wrong with that must not take the place of why it ended.
            with suppress(KedgeError, *FAULTS):
                self._take(call(Usage(), estimated=True, failure="cancelled"))
            raise
        reported = _reported(reply, most)
        if reported is None:
            written = self._count(reply.text)
            self._take(call(Usage(input=most.input, output=written), estimated=True))
        else:
            self._take(call(reported, estimated=False))
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
            why = (
                f"the session has used {self.tokens:,} of {terms.tokens:,} tokens, and this "
                f"request may take {needed:,}"
            )
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
            why = (
                f"the session has used ${used:.4f} of ${terms.cost:.4f}, and this request may "
                f"cost ${price:.4f}"
            )
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
    can_be = usage.context <= _room(most.input) and usage.output <= _room(most.output)
    return usage if can_be else None


def _room(tokens: int) -> int:
    return OTHER_COUNT * tokens + UNSEEN

"""What the models of a session use, and what they may use."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from datetime import UTC, datetime
from typing import NamedTuple

from kedge.errors import MissingExtra, ModelFailed
from kedge.model import Ask, ModelCall, Rates, Reply, Step, Usage
from kedge.model.rates import MILLION, bare_name
from kedge.models.moving import NotAsked
from kedge.models.phrasing import words_of
from kedge.models.terms import TERMS, Terms

DOLLARS = "USD"
"""What a limit of money is in."""
NO_PRICE = "limit tokens in place of dollars (model_tokens, and model_cost 0)"

RatesOf = Callable[[str], Rates | None]
"""The prices of a model, by its name without the provider's."""


class Price(NamedTuple):
    """Dollars for a million tokens."""

    input: float
    output: float
    cache_read: float
    cache_write: float

    def of(self, usage: Usage) -> float:
        cached = self.cache_read * usage.cache_read + self.cache_write * usage.cache_write
        return (self.input * usage.input + self.output * usage.output + cached) / MILLION


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
        total = Usage()
        for usage in self._used.values():
            total = _sum(total, usage)
        return total

    @property
    def tokens(self) -> int:
        """Sent and written by the whole session so far."""
        return _tokens(self.spent)

    @property
    def cost(self) -> float:
        """US dollars of the whole session so far, as far as prices are known."""
        priced = ((self.price(model), usage) for model, usage in self._used.items())
        return sum(price.of(usage) for price, usage in priced if price is not None)

    def price(self, model: str) -> Price | None:
        """None where the price of anything that is charged is not known."""
        rates = self._rates(bare_name(model))
        if rates is None or rates.currency != DOLLARS:
            return None
        if rates.input is None or rates.output is None:
            return None
        read, write = rates.cache_read, rates.cache_write
        return Price(
            input=rates.input,
            output=rates.output,
            cache_read=rates.input if read is None else read,
            cache_write=rates.input if write is None else write,
        )

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
            # Nobody waits any longer, also not for a store to write it down.
            self._calls.append(call(Usage(), estimated=True, failure="cancelled"))
            raise
        reported = _reported(reply)
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
        self._used[call.model] = _sum(self._used.get(call.model, Usage()), call.usage)

    def _refuse(self, most: Usage, model: str) -> None:
        terms, needed = self._terms, _tokens(most)
        if terms.tokens and self.tokens + needed > terms.tokens:
            why = (
                f"the session has used {self.tokens:,} of {terms.tokens:,} tokens, and this "
                f"request may take {needed:,}"
            )
            raise _over(model, why, "allow more (model_tokens)")
        if not terms.cost:
            return
        try:
            price = self.price(model)
            used = self.cost
        except MissingExtra as error:
            raise _over(model, f"what it costs is not known: {error}", NO_PRICE) from error
        if price is None:
            why = "what it costs is not known, and there is a limit in dollars"
            raise _over(model, why, NO_PRICE)
        if used + price.of(most) > terms.cost:
            why = (
                f"the session has used ${used:.4f} of ${terms.cost:.4f}, and this request may "
                f"cost ${price.of(most):.4f}"
            )
            raise _over(model, why, "allow more (model_cost)")


def _over(model: str, why: str, next_step: str) -> NotAsked:
    return NotAsked(model, why, next_step=next_step, kind="over budget")


def _reported(reply: Reply) -> Usage | None:
    """None where nobody reported anything that can be true."""
    usage = reply.usage
    if usage is None or usage == Usage():
        return None
    numbers = (usage.input, usage.output, usage.cache_read, usage.cache_write)
    return usage if min(numbers) >= 0 else None


def _sum(one: Usage, other: Usage) -> Usage:
    return Usage(
        input=one.input + other.input,
        output=one.output + other.output,
        cache_read=one.cache_read + other.cache_read,
        cache_write=one.cache_write + other.cache_write,
    )


def _tokens(usage: Usage) -> int:
    return usage.context + usage.output

"""What a model's tokens cost."""

from __future__ import annotations

from typing import NamedTuple

from msgspec.structs import replace

from kedge.model.turn import Usage
from kedge.model.value import Value

MILLION = 1_000_000
"""Tokens that prices are given for."""
KINDS = ("input", "output", "cache_read", "cache_write")
"""Of tokens, as they are used and priced."""
PROGRAM = "command"
"""What the name of a model begins with that is a program."""
ADDRESSES = ("http://", "https://")
"""What an address behind a model's name begins with; some models have an @ in their own."""


class Rates(Value, frozen=True):
    """Prices per million tokens. What is not known is None, never 0."""

    input: float | None = None
    """Of what neither came from the cache nor went to it."""
    output: float | None = None
    cache_read: float | None = None
    cache_write: float | None = None
    currency: str = "USD"
    source: str = ""
    """Where the prices come from, and of which provider and model they are."""

    def filled(self) -> Rates:
        """With the price of input for what a cache was used for and has none of its own: that is
        how it is charged."""
        read, write = self.cache_read, self.cache_write
        return replace(
            self,
            cache_read=self.input if read is None else read,
            cache_write=self.input if write is None else write,
        )


class Charged(NamedTuple):
    amount: float
    """Of the tokens whose price is known."""
    whole: bool
    """Whether these are all."""


def charged(usage: Usage, rates: Rates | None) -> Charged:
    """What tokens cost."""
    prices = rates.filled() if rates is not None else Rates()
    used = {kind: number for kind in KINDS if (number := getattr(usage, kind))}
    known = {kind: price for kind in used if (price := getattr(prices, kind)) is not None}
    amount = sum(used[kind] * price / MILLION for kind, price in known.items())
    return Charged(amount, len(known) == len(used))


def reported_name(model: str) -> str:
    """A model's name for reports and records; of a program only what it is called, as its arguments
    may hold keys and its path says where somebody works."""
    kind, colon, rest = model.partition(":")
    if not colon or kind != PROGRAM:
        return model
    import shlex

    try:
        program = shlex.split(rest)[0].rstrip("/").rpartition("/")[2]
    except (ValueError, IndexError):
        return kind
    return f"{kind}:{shlex.quote(program)}"


def bare_name(model: str) -> str:
    """A model's name as prices are listed, from the one that it is asked for by: `gpt-5` from
    `openai:gpt-5` and from `openai:gpt-5@https://host/v1`. A program keeps its name: nobody knows
    what model it asks."""
    kind, colon, rest = model.partition(":")
    if not colon or kind == PROGRAM:
        return model
    name, at, address = rest.rpartition("@")
    return name if at and address.startswith(ADDRESSES) else rest

"""What a step wants of a language model, and what it gets."""

from __future__ import annotations

from collections.abc import Generator
from datetime import datetime
from typing import Any, Literal, TypeVar

import msgspec
from msgspec.structs import replace

from kedgeline.model.turn import Usage, Value

ModelRole = Literal["summarise", "judge", "answer"]
"""What a model is asked for; each may be given to a model of its own."""
Ending = Literal["whole", "cut off", "refused", "tool call", ""]
"""How a reply ended, as the provider says; empty where nobody does."""


class Ask(Value, frozen=True):
    """One request. It depends on no earlier one: a model need not remember anything."""

    role: ModelRole
    system: str
    """How to go about it, in our words alone."""
    prompt: str
    most_tokens: int
    """Of the reply. A model that cannot be told may write more."""
    schema: dict[str, Any] | None = None
    """JSON Schema of the reply, where it is to be a JSON object."""
    prompt_hash: str = ""
    """Of the file the words come from: two results can be compared where it is the same."""
    seconds: float = 0.0
    """How long the reply may take; 0 where the model's own limit holds."""


class Wait(Value, frozen=True):
    """A pause before the next request; whoever runs the step makes it."""

    seconds: float


class Reply(Value, frozen=True):
    text: str
    model: str
    """Who wrote it, by the name the user calls it."""
    usage: Usage | None = None
    """As the provider reported it; none where nobody did."""
    ending: Ending = ""
    reasoned: bool = False
    """Whether it came with reasoning, which is not in its text."""


class ModelCall(Value, frozen=True):
    """One request that was made, as it is paid: also one to which no usable reply came."""

    role: ModelRole
    model: str
    sent: int
    """Tokens of the request, as we count them."""
    usage: Usage
    """As reported, or else estimated."""
    estimated: bool = False
    prompt_hash: str = ""
    at: datetime | None = None
    seconds: float = 0.0
    failure: str = ""
    """What kind of failure it was; empty where a reply came."""


T = TypeVar("T")
Step = Generator[Ask | Wait, Reply, T]
"""Work that may need a model: it yields what it asks, receives the reply and returns its result.
Where the model fails, the failure is thrown in at the same place. Behind a `Wait` it just goes on.
"""


# What a model's tokens cost.

MILLION = 1_000_000
"""Tokens that prices are given for."""
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


def prompt_of(ask: Ask) -> str:
    """The prompt, with the shape of the reply behind it."""
    if ask.schema is None:
        return ask.prompt
    schema = msgspec.json.encode(ask.schema).decode()
    demand = f"Reply with one JSON object of this JSON Schema, and nothing else:\n{schema}"
    return f"{ask.prompt}\n\n{demand}" if ask.prompt else demand


def words_of(ask: Ask) -> str:
    """All that a model is told, where it has one input."""
    return "\n\n".join(part for part in (ask.system, prompt_of(ask)) if part) + "\n"

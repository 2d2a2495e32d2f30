"""What a step wants of a language model, and what it gets."""

from __future__ import annotations

from collections.abc import Generator
from datetime import datetime
from typing import Any, Literal, TypeVar

from kedge.model.turn import Usage
from kedge.model.value import Value

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

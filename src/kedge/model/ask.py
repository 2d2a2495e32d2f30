"""What a step wants of a language model, and what it gets."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any, Literal, TypeVar

from kedge.model.turn import Usage
from kedge.model.value import Value

ModelRole = Literal["summarise", "judge", "answer"]
"""What a model is asked for; each may be given to a model of its own."""


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


class Reply(Value, frozen=True):
    text: str
    model: str
    """Who wrote it, by the name the user calls it."""
    usage: Usage | None = None
    """As the provider reported it; none where nobody did."""


T = TypeVar("T")
Step = Generator[Ask, Reply, T]
"""Work that may need a model: it yields what it asks, receives the reply and returns its result.
Where the model fails, the failure is thrown in at the same place."""

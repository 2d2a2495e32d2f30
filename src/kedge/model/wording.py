"""What a model made of folded turns: how it was asked, what of its words was taken and what not."""

from __future__ import annotations

from typing import Literal

from kedge.model.ask import ModelCall
from kedge.model.value import Value

Unfit = Literal[
    "a path that is not in the turns",
    "a command that is not in the turns",
    "a number that is not in the turns",
    "a quote that is not in the turns",
    "a name that is not in the turns",
    "speaks for the user",
    "gives an instruction",
    "contradicts the facts",
    "not about these turns",
    "a secret",
    "markup or control characters",
    "an error message or a refusal",
    "said already",
    "too long",
    "about nothing that was listed",
]
"""Why something a model wrote is not taken."""
Fallback = Literal[
    "",
    # no reply
    "rate limited",
    "server error",
    "timed out",
    "disconnected",
    "not allowed",
    "bad request",
    "cancelled",
    "over budget",
    "failed",
    # a reply that cannot be used
    "empty",
    "reasoning only",
    "tool call",
    "refusal",
    "cut off",
    "not JSON",
    "another shape",
    "too large",
    # words that cannot be taken
    "error text",
    "unsupported",
    "off topic",
    "nothing new",
    "longer than its source",
    # a summary that would be worse
    "no room",
    "probes",
]
"""Why the deterministic summary stands alone, or what is missing of a model's part; empty where
nothing is."""


class Dropped(Value, frozen=True):
    """Something a model wrote that was not taken."""

    text: str
    """As it was written, cut, without secrets."""
    why: Unfit


class Wording(Value, frozen=True):
    """The model's part in a compaction."""

    model: str
    """By the name the user calls it."""
    taken: int = 0
    """Entries of its words in the summary."""
    fallback: Fallback = ""
    why: str = ""
    """The same in a sentence."""
    not_taken: int = 0
    """How many things that it wrote were dropped."""
    dropped: tuple[Dropped, ...] = ()
    """The first of them."""
    requests: int = 0
    """Parts that the turns were sent in."""
    calls: tuple[ModelCall, ...] = ()
    """Requests that were made, those that were repeated included."""
    prompts: tuple[str, ...] = ()
    """Hashes of the prompts, each once."""

    @property
    def outcome(self) -> Literal["taken", "partly taken", "not taken"]:
        if not self.taken:
            return "not taken"
        return "partly taken" if self.fallback else "taken"

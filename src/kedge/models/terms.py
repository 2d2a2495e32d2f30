"""Under which terms a model is asked."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from kedge.model import Rates


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

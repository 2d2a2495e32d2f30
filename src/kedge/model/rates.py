"""What a model's tokens cost."""

from __future__ import annotations

from kedge.model.value import Value

MILLION = 1_000_000
"""Tokens that prices are given for."""


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

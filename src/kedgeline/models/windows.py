"""Context windows by the name of a model."""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from typing import NamedTuple

USUAL = 200_000
"""Tokens, where nobody knows: what most agents run with."""
FAMILIES = (
    ("claude", 200_000),
    ("gpt-4.1", 1_047_576),
    ("gpt-4o", 128_000),
    ("gpt-4-turbo", 128_000),
    ("gpt-5", 400_000),
    ("gpt-oss", 131_072),
    ("o3", 200_000),
    ("o4-mini", 200_000),
    ("gemini", 1_048_576),
    ("deepseek", 128_000),
    ("mistral-large", 128_000),
    ("grok-4", 256_000),
)
"""What a name contains and the window its vendor documents; of larger ones that must be asked for
the smaller. Prices of `genai-prices`, where it is installed, know further models."""


class Window(NamedTuple):
    tokens: int
    known_from: str
    """How it is known, in words: given, the name of a model, or that nobody knows."""


def window_of(model: str = "", *, given: int | None = None, framework: int | None = None) -> Window:
    """The window that the caller has `given`; else the one that the `framework` knows of its model;
    else what the model's name tells; else the usual one."""
    if given:
        return Window(given, "given")
    if framework:
        return Window(framework, f"the framework knows it of {model or 'the model'}")
    if model and (tokens := window_named(model)):
        return Window(tokens, f"the name of the model {model!r}")
    about = f"the window of {model!r} is not known" if model else "no model is named"
    return Window(USUAL, f"{about}: the usual one; give window=")


@cache
def window_named(model: str) -> int | None:
    """Tokens of the window that a model of this name has; None where nobody knows."""
    if not model:
        return None
    name = model.lower().rpartition("/")[2]
    for family, tokens in FAMILIES:
        if family in (name if len(family) > 2 else name[: len(family)]):
            return tokens
    return _of_prices(name)


def _of_prices(name: str) -> int | None:
    if find_spec("genai_prices") is None:
        return None
    from genai_prices.data import providers
    from genai_prices.data_snapshot import DataSnapshot

    snapshot = DataSnapshot(providers=providers, from_auto_update=False)
    try:
        found: int | None = snapshot.find_provider_model(name, None, None, None)[1].context_window
    except LookupError:
        return None
    return found

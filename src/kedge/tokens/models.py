"""Which counter fits which model."""

from __future__ import annotations

import re
from typing import NamedTuple

from kedge.errors import UnknownName
from kedge.tokens.counting import VOCABULARIES, Counter, Exact, Scaled
from kedge.tokens.estimate import Estimate


class Vocabulary(NamedTuple):
    models: str
    """Pattern of a family's name, which begins a word of the model's name: vendors and routers put
    their own before it (`openai/…`, `us.anthropic.…`)."""
    base: str
    factor: float | None
    """None where the vocabulary is the model's own and counts are exact."""


VOCABULARY_OF: tuple[Vocabulary, ...] = (
    Vocabulary(r"gpt-4o|gpt-4\.|gpt-5|gpt-oss|chatgpt-4o|codex|(?<!-)o\d\b", "o200k", None),
    Vocabulary(r"gpt-4|gpt-3\.5|text-embedding-", "cl100k", None),
    # Measured: growth of the reported context over 1,155 turns of Claude Opus 4.5, Opus 4.6 and
    # Sonnet 4.5 against o200k counts of what was added; 1.21, 1.21 and 1.22, call overhead
    # included.
    Vocabulary(r"claude", "o200k", 1.21),
    Vocabulary(r"", "o200k", 1.0),
)
"""First match wins; the last row is for models nobody has measured."""


def counter_for(model: str) -> Counter:
    """The best counter for a model by name; an estimate where its vocabulary is not public."""
    name = model.casefold()
    for row in VOCABULARY_OF:
        if re.search(rf"(?<![a-z0-9])(?:{row.models})", name):
            exact = Exact(row.base)
            return exact if row.factor is None else Scaled(exact, row.factor)
    raise AssertionError("the last row matches every name")


def counter_named(name: str) -> Counter:
    """A counter by the name that settings and options have for it."""
    if name == Estimate.name:
        return Estimate()
    if name not in VOCABULARIES:
        raise UnknownName("vocabulary", name, known=(*VOCABULARIES, Estimate.name))
    return Exact(name)


def base_for(model: str, counter: Counter) -> Counter:
    """What a model's tokens are derived from: the counter given where it fits, so that nothing is
    counted twice."""
    best = counter_for(model)
    base = best.base if isinstance(best, Scaled) else best
    return counter if base.name == counter.name or not counter.exact else base

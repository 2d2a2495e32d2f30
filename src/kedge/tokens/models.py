"""Which counter fits which model."""

from __future__ import annotations

import re
from typing import NamedTuple

from kedge.tokens.counting import Counter, Exact, Scaled


class Vocabulary(NamedTuple):
    models: str
    """Pattern a model's name begins with, a vendor prefix such as `openai/` left off."""
    base: str
    factor: float | None
    """None where the vocabulary is the model's own and counts are exact."""


VOCABULARY_OF: tuple[Vocabulary, ...] = (
    Vocabulary(r"gpt-4o|gpt-4\.|gpt-5|gpt-oss|chatgpt-4o|codex|o\d", "o200k", None),
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
    name = model.rpartition("/")[2].casefold()
    for row in VOCABULARY_OF:
        if re.match(row.models, name):
            exact = Exact(row.base)
            return exact if row.factor is None else Scaled(exact, row.factor)
    raise AssertionError("the last row matches every name")

"""Counting tokens of text: exactly with a bundled vocabulary, or by estimate."""

from __future__ import annotations

import re
from functools import cache
from typing import TYPE_CHECKING, Protocol

from kedge.errors import UnknownName

if TYPE_CHECKING:
    import splintr

VOCABULARIES = {"o200k": "o200k_base", "cl100k": "cl100k_base"}
"""Vocabularies that are public and come with the tokenizer, so that counts are exact and offline.
"""

_SURROGATE = re.compile("[\ud800-\udfff]")


class Counter(Protocol):
    name: str
    exact: bool
    """False for an estimate: the number may be wrong by some percent."""

    def count(self, text: str) -> int: ...


class Exact:
    """Tokens as the vocabulary's own model would see them; special tokens in text are text."""

    exact = True

    def __init__(self, vocabulary: str = "o200k") -> None:
        if vocabulary not in VOCABULARIES:
            raise UnknownName("vocabulary", vocabulary, known=tuple(VOCABULARIES))
        self.name = vocabulary

    def count(self, text: str) -> int:
        if not text:
            return 0
        tokenizer = _tokenizer(VOCABULARIES[self.name])
        try:
            return len(tokenizer.encode_ordinary(text))
        except UnicodeEncodeError:
            return len(tokenizer.encode_ordinary(_SURROGATE.sub("\ufffd", text)))


class Scaled:
    """An estimate for a vocabulary that is not public: another counter's number times a factor."""

    exact = False

    def __init__(self, base: Counter, factor: float) -> None:
        self.base, self.factor = base, factor
        self.name = f"{base.name} × {factor:.2f}"

    def count(self, text: str) -> int:
        return round(self.base.count(text) * self.factor)


@cache
def _tokenizer(name: str) -> splintr.AnyTokenizer:
    import splintr  # loaded with the first count: the vocabulary takes a tenth of a second

    return splintr.Tokenizer.from_pretrained(name)


EXACT = Exact()
"""What turns are counted with unless told otherwise; its vocabulary loads with the first text."""

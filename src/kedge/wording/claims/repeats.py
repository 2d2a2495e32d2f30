"""Whether a sentence was said already, in nearly the same words."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable

from kedge.wording.claims.words import lowered, raw_words, stems

ALIKE = 0.85
"""Share of the words of two lines that are the same in both."""
FEWEST = 4
"""Words of a sentence that is looked for inside a longer line."""
LOOKED_UP = 3
"""Words, the rarest, by which lines are found that could be the same."""


class Told:
    """Lines that were said, to ask whether another says more."""

    def __init__(self, lines: Iterable[str]) -> None:
        self._exact: set[str] = set()
        self._sets: list[frozenset[str]] = []
        self._by_word: defaultdict[str, list[int]] = defaultdict(list)
        self._runs: list[str] = []
        for line in lines:
            self.add(line)

    def add(self, line: str) -> None:
        words = raw_words(lowered(line))
        if not words:
            return
        run = " ".join(words)
        if run in self._exact:
            return
        self._exact.add(run)
        found = _stems(words)
        for word in found:
            self._by_word[word].append(len(self._sets))
        self._sets.append(found)
        self._runs.append(f" {run} ")

    def has(self, text: str) -> bool:
        """Equal, a part of a line, or the same but for a word."""
        words = raw_words(lowered(text))
        run = " ".join(words)
        if not words or run in self._exact:
            return bool(words)
        found = _stems(words)
        many = max(len(words), len(found)) >= FEWEST  # without blanks, a sentence is one word
        there = sorted((word for word in found if word in self._by_word), key=self._rarity)
        near = {at for word in there[:LOOKED_UP] for at in self._by_word[word]}
        return any(
            (many and f" {run} " in self._runs[at]) or _alike(found, self._sets[at]) for at in near
        )

    def _rarity(self, word: str) -> tuple[int, str]:
        return len(self._by_word[word]), word


def _stems(words: Iterable[str]) -> frozenset[str]:
    return frozenset(one for word in words for one in stems(word))


def _alike(one: frozenset[str], other: frozenset[str]) -> bool:
    return len(one & other) >= ALIKE * len(one | other)

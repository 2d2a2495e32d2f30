"""What the turns hold, read once and asked for every sentence."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cached_property

from kedge.matching import holds_plain, plain
from kedge.wording.claims.numerals import Quantity, quantities
from kedge.wording.claims.words import raw_words, stems, tells
from kedge.wording.shape import Sources

PASSAGE = 1_200
"""Characters of a passage: what a sentence tells stands in one, or in a few."""
OVERLAP = 200
"""Characters that a passage shares with the next: a sentence."""

_SENTENCE = re.compile(r"[^.!?\n。！？]+[.!?\n。！？]*")
_REPORTED = re.compile(
    r"\b(?:prompt[- ]?)?injection|\binjected\b|\buntrusted\b|\bmalicious\b|\bsuspicious\b"
    r"|\b(?:page|pages|file|output|comment|document|site|website|result|text|content|readme"
    r"|message|log|email|issue|it|that|which)\b[^.!?\n]{0,30}?"
    r"\b(?:tell|instruct|demand|order|urge|direct)(?:s|ed|ing)?\b"
    r"|\b(?:not|won't|n't|never|refuse to|declin\w+ to)\s+(?:going to\s+)?"
    r"(?:follow|obey|comply|do (?:that|this|so)|act on)\b"
    r"|\bignor(?:e|ed|ing) (?:that|this|it|the|those|these)\b"
    r"|注入|恶意|不会执行|не буду выполнять|werde (?:ich )?nicht (?:aus|be)",
    re.IGNORECASE,
)
"""Words around a demand that the agent only tells of, or refuses."""


class Text:
    """One text, in the form in which words are looked up in it."""

    def __init__(self, text: str) -> None:
        self.plain = plain(text)

    @cached_property
    def numbers(self) -> frozenset[Quantity]:
        return frozenset(quantities(self.plain))

    @cached_property
    def words(self) -> frozenset[str]:
        return frozenset(raw_words(self.plain))

    @cached_property
    def run(self) -> str:
        """Its words alone, one behind the other."""
        return f" {' '.join(raw_words(self.plain)).casefold()} "

    def passages(self, wanted: dict[str, frozenset[str]]) -> Iterator[frozenset[str]]:
        """Of each passage the stems that are wanted, where it has any."""
        for start in range(0, len(self.plain), PASSAGE):
            words = raw_words(self.plain[start : start + PASSAGE + OVERLAP])
            if found := wanted.keys() & set(words):
                yield frozenset().union(*(wanted[word] for word in found))


class Index:
    """Texts that may hold a claim, together."""

    def __init__(self, texts: Iterable[Text], matter: Iterable[str]) -> None:
        """`matter`: the stems that will be asked for."""
        self._texts = tuple(texts)
        asked = frozenset(matter)
        wanted = {
            word: found
            for text in self._texts
            for word in text.words
            if (found := asked.intersection(stems(word)))
        }
        self._passages = [p for text in self._texts for p in text.passages(wanted)]
        self._stems = frozenset().union(*self._passages)

    def holds(self, part: str) -> bool:
        """To the letter, and not as a part of another word."""
        wanted = plain(part)
        if len(wanted) == 1:
            return self.has_word(wanted)
        return any(holds_plain(text.plain, wanted) for text in self._texts)

    def has_word(self, *words: str) -> bool:
        return any(word in text.words for text in self._texts for word in words)

    def has_stem(self, word: str) -> bool:
        """Of a word that was announced."""
        return all(one in self._stems or not tells(one) for one in stems(word))

    def has_run(self, words: str) -> bool:
        """Whether words, folded, stand there one behind the other."""
        return any(f" {words} " in text.run for text in self._texts)

    @cached_property
    def numbers(self) -> frozenset[Quantity]:
        return frozenset().union(*(text.numbers for text in self._texts))

    @cached_property
    def values(self) -> frozenset[str]:
        """Numbers whatever their unit."""
        return frozenset(number.digits for number in self.numbers)

    def share(self, matter: list[str]) -> tuple[float, float]:
        """Of some stems the share that is there at all, and that is in the best passage."""
        there = sum(one in self._stems for one in matter)
        best = max((sum(one in found for one in matter) for found in self._passages), default=0)
        return there / len(matter), best / len(matter)


class Held:
    """The sources of a packet: all of them, what was said or is known, and what tools showed."""

    def __init__(self, sources: Sources, matter: Iterable[str]) -> None:
        matter = frozenset(matter)
        said, shown = Text(sources.said), Text(sources.shown)
        known, meant = Text(sources.known), Text(_meant(sources.said))
        self.all = Index((said, shown, known), matter)
        self.voiced = Index((meant, known), matter)
        """Without demands of others that were only told of."""
        self.shown = Index((shown,), ())


def _meant(said: str) -> str:
    if not _REPORTED.search(said):
        return said
    return "".join(part for part in _SENTENCE.findall(said) if not _REPORTED.search(part))

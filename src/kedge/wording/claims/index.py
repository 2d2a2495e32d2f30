"""What the turns hold, read once and asked for every sentence."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cached_property

from kedge.matching import holds_plain, plain
from kedge.wording.claims.demands import demanding, weakens
from kedge.wording.claims.numerals import Quantity, quantities
from kedge.wording.claims.words import raw_words, stems, tells
from kedge.wording.shape import Sources

PASSAGE = 180
"""Words of a passage: what a sentence tells stands in one, or in a few."""
OVERLAP = 30
"""Words that a passage shares with the next: a sentence."""
ECHOED = 2
"""Words of a demand that are found again, and in nobody's mouth."""
MOST_PLACES = 2_000
"""Places of a word that are looked at for its number: more than anybody can mean."""

_BREAK = re.compile(r"(?<=[.!?。！？])\s+|(?<=[。！？])|\n(?![a-z]+ |[a-z]+$)")
"""Between sentences; a line that was only wrapped goes on with a word."""
_CUES = (
    *("inject", "untrusted", "malicious", "suspicious", "tell", "told", "instruct", "demand"),
    *("order", "urge", "direct", "follow", "obey", "comply", "not do ", "act on", "ignor"),
    *("注入", "恶意", "不会执行", "не буду", "nicht"),
)
"""One of these stands in each sentence that is looked at closely: few are."""
_REPORTED = re.compile(
    r"\b(?:prompt[- ]?)?injection|\binjected\b|\buntrusted\b|\bmalicious\b|\bsuspicious\b"
    r"|\b(?:page|pages|file|output|comment|document|site|website|result|text|content|readme"
    r"|message|log|email|issue|it|that|which)\b[^.!?\n]{0,30}?"
    r"\b(?:tells?|told|telling|(?:instruct|demand|order|urge|direct)(?:s|d|ed|ing)?)\b"
    r"|\b(?:not|won't|n't|never|refuse to|declin\w+ to)\s+(?:going to\s+)?"
    r"(?:follow|obey|comply|do (?:that|this|so)|act on)\b"
    r"|\bignor(?:e|ed|ing) (?:that|this|it|the|those|these)\b"
    r"|注入|恶意|不会执行|не буду выполнять|werde (?:ich )?nicht (?:aus|be)",
)
"""Words around a demand that the agent only tells of, or refuses."""


class Text:
    """One text, in the forms in which it is asked."""

    def __init__(self, text: str, asked: frozenset[str]) -> None:
        """`asked`: the stems that will be asked for."""
        self.plain = plain(text)
        self._asked = asked

    @cached_property
    def numbers(self) -> frozenset[Quantity]:
        return frozenset(quantities(self.plain))

    @cached_property
    def words(self) -> frozenset[str]:
        return frozenset(self._list)

    @cached_property
    def run(self) -> str:
        """Its words alone, one behind the other."""
        return f" {' '.join(self._list)} ".casefold()

    def beside(self, word: str) -> Iterator[str]:
        """The words before and behind a word."""
        at, wanted = -1, f" {word} "
        for _ in range(MOST_PLACES):
            at = self.run.find(wanted, at + 1)
            if at < 0:
                return
            yield self.run[self.run.rfind(" ", 0, at) + 1 : at]
            yield self.run[at + len(wanted) : self.run.find(" ", at + len(wanted))]

    @cached_property
    def passages(self) -> tuple[frozenset[str], ...]:
        """Of each passage the stems that are asked for, where it has any."""
        wanted = {w: found for w in self.words if (found := self._asked.intersection(stems(w)))}
        parts = (
            wanted.keys() & self._list[start : start + PASSAGE + OVERLAP]
            for start in range(0, len(self._list), PASSAGE)
        )
        return tuple(frozenset().union(*(wanted[w] for w in part)) for part in parts if part)

    @cached_property
    def _list(self) -> list[str]:
        return raw_words(self.plain)


class Index:
    """Texts that may hold a claim, together."""

    def __init__(self, texts: Iterable[Text]) -> None:
        self._texts = tuple(texts)
        self._passages = [passage for text in self._texts for passage in text.passages]
        self._stems = frozenset().union(*self._passages)

    def holds(self, part: str) -> bool:
        """To the letter, and not as a part of another word."""
        wanted = plain(part)
        if len(wanted) == 1:
            return self.has_word(wanted)
        return any(holds_plain(text.plain, wanted) for text in self._texts)

    def holds_from_root(self, path: str) -> bool:
        """A path that begins where no other name ends, whole or as a folder."""
        exact = re.escape(plain(path))
        pattern = re.compile(rf"{exact}(?<![\w.~-]{exact})(?!\w|[.-]\w)")
        return any(pattern.search(text.plain) for text in self._texts)

    def has_word(self, *words: str) -> bool:
        return any(word in text.words for text in self._texts for word in words)

    def has_stem(self, word: str) -> bool:
        """Of a word that was announced."""
        return all(one in self._stems or not tells(one) for one in stems(word))

    def has_run(self, words: str) -> bool:
        """Whether words, lowered, stand there one behind the other."""
        return any(f" {words} " in text.run for text in self._texts)

    def counts(self, noun: str) -> frozenset[str]:
        """Words right before and behind a word, wherever it stands: how many of it there are."""
        return frozenset(found for text in self._texts for found in text.beside(noun))

    @cached_property
    def numbers(self) -> frozenset[Quantity]:
        return frozenset().union(*(text.numbers for text in self._texts))

    @cached_property
    def values(self) -> frozenset[str]:
        """Numbers whatever their unit."""
        return frozenset(number.digits for number in self.numbers)

    def without(self, matter: frozenset[str]) -> frozenset[str]:
        """Those of some stems that are not there."""
        return matter - self._stems

    def share(self, matter: frozenset[str]) -> tuple[float, float]:
        """Of some stems the share that is there at all, and that is in the best passage."""
        best = max((len(matter & passage) for passage in self._passages), default=0)
        return len(matter & self._stems) / len(matter), best / len(matter)


class Held:
    """The sources of a packet, in the ways in which claims need them."""

    def __init__(self, sources: Sources, matter: Iterable[str]) -> None:
        asked = frozenset(matter)
        said, shown = Text(sources.said, asked), Text(sources.shown, asked)
        known, reported = Text(sources.known, asked), Text(sources.reported, asked)
        words = _meant(sources.said)
        meant = said if words is sources.said else Text(words, asked)
        self.asked = asked
        self.all = Index((said, shown, known, reported))
        self.meant = Index((meant,))
        """What was said, without demands of others that were only told of."""
        self.voiced = Index((meant, known))
        self.named = Index((meant, known, reported))
        """The same with what tools reported of it: names and counts a step may speak of."""
        self.shown = Index((shown,))
        self._given = (sources.shown, sources.reported)
        self._words = words

    @cached_property
    def demands(self) -> tuple[frozenset[str], ...]:
        """Of each demand that a tool showed the stems that are asked for."""
        found = (
            self.asked.intersection(one for word in raw_words(part) for one in stems(word))
            for text in self._given
            for part in demanding(text)
        )
        return tuple({stems for stems in found if len(stems) >= ECHOED})

    @cached_property
    def weakened(self) -> tuple[frozenset[str], ...]:
        """Of each sentence of user or agent that takes away a check the stems asked for."""
        parts = (part for part in _BREAK.split(self._words) if weakens(part.casefold()))
        return tuple(
            self.asked.intersection(one for word in raw_words(part) for one in stems(word))
            for part in parts
        )

    def echoes(self, matter: frozenset[str]) -> bool:
        """Whether words come from a demand that a tool showed, and from nobody else."""
        strange = self.voiced.without(matter)
        return len(strange) >= ECHOED and any(
            len(strange & demand) >= ECHOED for demand in self.demands
        )


def _meant(said: str) -> str:
    lowered = said.casefold()
    if not any(cue in lowered for cue in _CUES):
        return said
    return "\n".join(part for part in _BREAK.split(said) if not _is_reported(part))


def _is_reported(sentence: str) -> bool:
    lowered = sentence.casefold()
    return any(cue in lowered for cue in _CUES) and _REPORTED.search(lowered) is not None

"""Words of a text in any script, by the part that stays when their endings change."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from functools import lru_cache

from kedge.wording.claims.numerals import WORDS
from kedge.wording.claims.vocabulary import FILLING, GENERIC

LEAST = 3
"""Letters of a word that says what a text is about."""
STEM = 7
"""Letters of a stem: endings and compounds come behind them."""
STEM_ELSEWHERE = 5
"""The same in other alphabets, whose endings nobody takes off here."""
REMEMBERED = 65_536
"""Words kept with their stems: a session goes on with the same ones."""

_WORD = re.compile(r"[^\W_]+")
_HUMPS = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+")
_UNSPACED = re.compile(
    r"[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff"
    r"\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]+"
)
"""Scripts that put no blanks between words, or many words into one: Thai, Lao, Burmese, Khmer,
Kana, Han, Hangul."""
_ENDINGS = (
    *("ations", "ation", "ments", "ment", "ities", "ness", "ings", "ing", "ions", "ion"),
    *("able", "ible", "edly", "ies", "ers", "est", "ity", "ed", "er", "es", "ly", "al", "s"),
    *("e", "y"),
)


def lowered(text: str) -> str:
    """Text in the one form in which cues are looked for."""
    return unicodedata.normalize("NFKC", text).casefold().replace("’", "'")


def raw_words(text: str) -> list[str]:
    return _WORD.findall(text)


@lru_cache(maxsize=REMEMBERED)
def stems(word: str) -> tuple[str, ...]:
    """The stems in what stands between two blanks or signs: one, those of a name in code, or pairs
    of signs in scripts without blanks."""
    if word.isascii():
        humps = (word,) if word.islower() else _HUMPS.findall(word)
        return tuple(stem(hump.lower()) for hump in humps)
    return tuple(_elsewhere(unicodedata.normalize("NFKC", word).casefold()))


def _elsewhere(word: str) -> Iterator[str]:
    end = 0
    for run in _UNSPACED.finditer(word):
        if word[end : run.start()]:
            yield stem(word[end : run.start()])
        signs = run[0]
        yield from (signs[i : i + 2] for i in range(max(1, len(signs) - 1)))
        end = run.end()
    if word[end:]:
        yield stem(word[end:])


def stem(word: str) -> str:
    return _ALONE.get(word) or _stripped(word)


def _stripped(word: str) -> str:
    if not "a" <= word[:1] <= "ɏ":  # Latin letters
        return word[:STEM_ELSEWHERE]
    for ending in _ENDINGS:
        if len(word) - len(ending) >= LEAST and word.endswith(ending):
            word = word[: -len(ending)]
            break
    if len(word) > LEAST and word[-1] == word[-2]:  # planned, running
        word = word[:-1]
    return word[:STEM]


_DOERS = ("timer", "container", "writer", "logger", "runner")
_ALONE = {
    "late": "late",
    **{word + end: word for word in _DOERS for end in ("", "s")},
}
"""Words that are no form of the one of any talk that they share a stem with."""
_FILLING = frozenset("|".join(FILLING).split("|"))
_VOCABULARY = _FILLING | frozenset("|".join(GENERIC).split("|"))
_HELD_TOGETHER = _FILLING | {_stripped(word) for word in _FILLING}
_NO_MATTER = _HELD_TOGETHER | {_stripped(word) for word in (*_VOCABULARY, *WORDS)}


def content(text: str) -> list[str]:
    """Stems of all words that say anything, those of any talk about software among them."""
    found = (one for word in raw_words(text) for one in stems(word) if not word.isdigit())
    return [*dict.fromkeys(one for one in found if _says(one))]


def _says(one: str) -> bool:
    return one not in _HELD_TOGETHER and (len(one) >= LEAST or _UNSPACED.match(one) is not None)


def matter(text: str) -> list[str]:
    """Stems of the words that tell what a text is about, each once, in their order."""
    found: dict[str, None] = {}
    for word in raw_words(text):
        if not word.isdigit():
            found.update(dict.fromkeys(one for one in stems(word) if tells(one)))
    return list(found)


def tells(one: str) -> bool:
    """Whether a stem says what a text is about."""
    if one in _NO_MATTER or one.isdigit():
        return False
    return len(one) >= LEAST or _UNSPACED.match(one) is not None

"""The words of a query, and which of them stand in a text."""

from __future__ import annotations

import re
import unicodedata
from typing import NamedTuple

from kedge.errors import UserError

MOST_WORDS = 32
LONGEST = 1_000
"""Characters of a query; more is a document and no question."""
COUNTED = 5
"""Times that a word counts in one text: a list of the same word is no better answer."""

_QUOTED = re.compile(r"[\"“”„]([^\"“”„]{1,1000})[\"“”„]")
_EDGES = ".,;:!?()[]{}<>'`*_…。、，！？：；（）「」"
_CJK = "\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff\u0e00-\u0eff"
"""Scripts that put no blanks between words."""
_WORD_CHARACTER = rf"[^\W{_CJK}]"


class Word(NamedTuple):
    shown: str
    pattern: re.Pattern[str]


def lowered(text: str) -> str:
    """In the one form in which texts and words are compared."""
    return unicodedata.normalize("NFKC", text).casefold()


def words_of(query: str) -> tuple[Word, ...]:
    """Phrases in quotes and words; a word with points or slashes in it is one."""
    if len(query) > LONGEST:
        raise UserError(f"a query has up to {LONGEST:,} characters; name fewer words")
    phrases = [" ".join(phrase.split()) for phrase in _QUOTED.findall(query)]
    bare = [word.strip(_EDGES) for word in _QUOTED.sub(" ", query).split()]
    said = list(dict.fromkeys(word for word in (*phrases, *bare) if _has_letter(word)))
    if not said:
        raise UserError("there are no words to look for; name some, or a phrase in quotes")
    if len(said) > MOST_WORDS:
        raise UserError(f"a query has up to {MOST_WORDS} words; name fewer")
    return tuple(Word(word, _pattern(lowered(word))) for word in said)


def _has_letter(word: str) -> bool:
    return any(character.isalnum() for character in word)


def _pattern(word: str) -> re.Pattern[str]:
    """A word as a whole, or with the s of a plural; a phrase over the end of a line."""
    inner = r"\s+".join(re.escape(part) for part in word.split())
    before = rf"(?<!{_WORD_CHARACTER})" if _is_word(word[0]) else ""
    after = rf"s?(?!{_WORD_CHARACTER})" if _is_word(word[-1]) else ""
    return re.compile(f"{before}{inner}{after}")


def _is_word(character: str) -> bool:
    return re.match(_WORD_CHARACTER, character) is not None


class Match(NamedTuple):
    missing: tuple[str, ...]
    times: int
    """How often its words stand there, each counted a few times at the most."""


def match(words: tuple[Word, ...], text: str) -> Match:
    """`text` is lowered already."""
    missing, times = [], 0
    for word in words:
        found = 0
        for _ in word.pattern.finditer(text):
            found += 1
            if found == COUNTED:
                break
        times += found
        if not found:
            missing.append(word.shown)
    return Match(tuple(missing), times)

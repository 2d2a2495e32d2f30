"""Words as they are searched: the same for every store, and for texts as for queries."""

from __future__ import annotations

import re
import unicodedata

_EAST = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff"  # Thai, Lao, Burmese, Khmer
    "\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"  # kana and ideographs
    "\U00020000-\U0003ffff"
)
"""Scripts that put no blanks between words: each character counts as one."""
_WORD = re.compile(rf"[{_EAST}]|[^\W_{_EAST}]+")
_ASCII = re.compile(r"[a-z0-9]+")


def words(text: str) -> list[str]:
    """The words of a text in their order. Names fall into theirs: `a/b_c.py` has the words a, b, c
    and py, and is found as words that stand next to each other."""
    if text.isascii():
        return _ASCII.findall(text.lower())
    return _WORD.findall(unicodedata.normalize("NFKC", text).casefold())


def spaced(text: str) -> str:
    """A text with a blank between its words, for an index that cuts at whatever is neither an ASCII
    letter nor digit nor beyond ASCII. One in ASCII alone is cut right as it is."""
    return text if text.isascii() else " ".join(words(text))

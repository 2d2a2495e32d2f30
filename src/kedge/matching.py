"""Whether words stand in a text: to the letter, and not as a part of other words."""

from __future__ import annotations

import re

from kedge.foreign import as_said
from kedge.sentences import one_line

_TAG = re.compile(r"(< ?/? ?kedge)[-_](?=summary)", re.IGNORECASE)
"""In a summary the tag around it is spelt in another way."""


def plain(text: str) -> str:
    """Text in the form in which texts are compared: on one line."""
    return _TAG.sub(r"\1-", as_said(one_line(text)))


def holds(text: str, part: str) -> bool:
    """Whether a part stands in a text. `src/a.py` does not stand in `lib/src/a.pyi`, nor 12 in
    112: what is nearly right is wrong."""
    return holds_plain(plain(text), plain(part))


def holds_plain(whole: str, wanted: str) -> bool:
    """The same for texts that are plain already."""
    if not wanted:
        return False
    start = whole.find(wanted)
    while start >= 0:
        if _apart(whole, start, start + len(wanted)):
            return True
        start = whole.find(wanted, start + 1)
    return False


def _apart(whole: str, start: int, end: int) -> bool:
    """Whether what stands between two places is no part of a longer word, path or number."""
    first, last = whole[start], whole[end - 1]
    before, after = whole[max(0, start - 2) : start], whole[end : end + 2]
    if _of_word(first) and before and (_of_word(before[-1]) or _joins(before[-1], before[:-1])):
        return False
    return not (_of_word(last) and after and (_of_word(after[0]) or _leads_on(after, last)))


def _joins(sign: str, before: str) -> bool:
    """Whether a sign in front belongs to the word behind it: -12, .env, --force, a/b, 1,200."""
    return sign in "-./\\@$" or (sign == "," and before.isdigit())


def _leads_on(after: str, edge: str) -> bool:
    """Whether a word goes on behind a sign: a.py, well-known, a/b, 1,200; the end of a sentence
    ends it."""
    sign, beyond = after[0], after[1:]
    if sign in "/\\":
        return True
    if sign == ",":
        return edge.isdigit() and beyond.isdigit()
    return sign in ".-@" and bool(beyond) and _of_word(beyond)


def _of_word(character: str) -> bool:
    return character.isalnum() or character == "_"

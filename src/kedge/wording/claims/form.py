"""Whether a sentence is one: visible words, no markup, no label in front of it."""

from __future__ import annotations

import re
import unicodedata

from kedge.foreign import foreign
from kedge.sentences import one_line

_JOINERS = "\u200c\u200d"
"""Emoji and scripts need them."""
_MIXED = re.compile(
    r"[A-Za-z][\u0400-\u04ff]|[\u0400-\u04ff][A-Za-z]|[A-Za-z][\u0370-\u03ff][A-Za-z]"
)
"""A word of two alphabets: it looks like another one."""
_CODE = re.compile(r"`[^`]*`")
_MARKUP = re.compile(
    r"```|~~~|^\s*#{1,6}\s|^\s*>\s|<[/!?|]|<[A-Za-z][\w:-]*(?:\s[^<>]*)?/?>|</?[A-Za-z][\w:-]*\s*$"
    r"|&(?:#\d+|#x[0-9a-f]+|[a-z]{2,8});|!?\[[^\]]*\]\([^)]*\)|\|.*\||^\s*[-=*_]{3,}\s*$"
    r"|\\u[0-9a-f]{4}|^\s*[\[{].*[\]}]\s*$",
    re.IGNORECASE | re.DOTALL,
)
"""Fences, headings, quotes, tags, entities, links, tables, rules, escapes, objects."""
_LABEL = re.compile(
    r"\W*(?!.{0,40}\b(?:the|a|an|this|that|its|their|is|are|was|were|has|have)\b[^:：]*[:：])"
    r"(?:[A-Z]?[a-z]+|[A-Z]+)(?:[ /-](?:[A-Z]?[a-z]+|[A-Z]+|\d+)){0,3}\s?[:：](?=\s|$)"
    r"|\W*[\u3040-\u30ff\u4e00-\u9fff]{1,6}[:：]"
)
"""A few words with a colon: the name of a list, or of who speaks. Those are ours."""


def is_marked_up(text: str) -> bool:
    return (
        not all(map(_is_visible, text))
        or _MARKUP.search(_CODE.sub("⌑", text)) is not None
        or "```" in text
        or _MIXED.search(text) is not None
        or foreign(text) != one_line(text)
    )


def is_labelled(text: str) -> bool:
    return _LABEL.match(text) is not None


def _is_visible(sign: str) -> bool:
    return sign.isprintable() or sign in _JOINERS or unicodedata.category(sign) == "Zs"

"""The user's words as cues are looked for in them: the first sentences, without code and quotes."""

from __future__ import annotations

import re
from collections.abc import Iterable

LOOKED_AT = 2_000
"""Characters of a message looked at. What a user thinks of the work stands at the beginning; what
follows is the next request, or pasted text."""
SENTENCES = 3
"""Sentences given: two are searched for cues, the third may take back what the second says."""
SENTENCE_LENGTH = 240
"""Characters of a sentence: longer ones are pasted."""
HIDDEN = "⌑"
"""Stands where code or a quote stood: not the user's own words, and no beginning of a sentence."""

LEADS = (
    # English
    "ok|okay|alright|all right|right|well|so|oh|ah|hey|hi|hmm+|wow|man|dude|and|sure|in that case",
    "yes|yep|yeah|yup|great|cool|nice|good|perfect|awesome|excellent|thanks|thank you",
)
"""Words before the cue itself; up to three are passed over."""

_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]{1,200}`", re.DOTALL)
_QUOTED = re.compile(r"\"[^\"\n]{1,400}\"|“[^”\n]{1,400}”|^[ \t]{0,3}>.*$", re.MULTILINE)
_SENTENCE_END = re.compile(r"(?<=[.!?])\s+|\n+")
_LEAD = rf"(?:(?:{'|'.join(LEADS)})(?:[\s,!.:;—–-]+|$)){{0,3}}"


def opening(words: str) -> tuple[str, ...]:
    """The first sentences."""
    text = _CODE.sub(HIDDEN, words[:LOOKED_AT].replace("’", "'"))
    text = _QUOTED.sub(HIDDEN, text)
    sentences = (part.strip() for part in _SENTENCE_END.split(text))
    return tuple(part[:SENTENCE_LENGTH] for part in sentences if part)[:SENTENCES]


def at_beginning(rows: Iterable[str], *, ending: str = r"(?!\w)") -> re.Pattern[str]:
    """Cues that count only where a sentence begins, or behind words such as "ok"."""
    return re.compile(rf"{_LEAD}(?P<cue>{'|'.join(rows)}){ending}", re.IGNORECASE)


def anywhere(rows: Iterable[str]) -> re.Pattern[str]:
    """Cues that count wherever they stand, as whole words."""
    return re.compile(rf"(?<!\w)(?:{'|'.join(rows)})(?!\w)", re.IGNORECASE)


def quoted(words: str, most: int) -> str:
    """The user's words for a description: on one line, cut."""
    line = " ".join(words[: most * 4].split())
    return f'"{line}"' if len(line) <= most else f'"{line[: most - 1].rstrip()}…"'

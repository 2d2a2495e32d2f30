"""Cues: words that say what a sentence is for."""

from __future__ import annotations

import re
from collections.abc import Iterable

LEADS = (
    # English
    "ok|okay|alright|all right|right|well|so|oh|ah|hey|hi|hmm+|wow|man|dude|and|sure|in that case",
    "yes|yep|yeah|yup|great|cool|nice|good|perfect|awesome|excellent|thanks|thank you",
)
"""Words before the cue itself; up to three are passed over."""

_LEAD = rf"(?:(?:{'|'.join(LEADS)})(?:[\s,!.:;—–-]+|$)){{0,3}}"


def at_beginning(rows: Iterable[str], *, ending: str = r"(?!\w)") -> re.Pattern[str]:
    """Cues that count only where a sentence begins, or behind words such as "ok"."""
    return re.compile(rf"{_LEAD}(?P<cue>{'|'.join(rows)}){ending}", re.IGNORECASE)


def anywhere(rows: Iterable[str]) -> re.Pattern[str]:
    """Cues that count wherever they stand, as whole words."""
    return re.compile(rf"(?<!\w)(?:{'|'.join(rows)})(?!\w)", re.IGNORECASE)

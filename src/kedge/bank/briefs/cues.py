"""Which of the five lines a text speaks to: by its headings and fields, or by the words of a
sentence."""

from __future__ import annotations

import re
from typing import Literal

Label = Literal["OBJECTIVE", "APPROACH", "OUTCOME", "PENDING", "DECISIONS"]

LABELS: tuple[Label, ...] = ("OBJECTIVE", "APPROACH", "OUTCOME", "PENDING", "DECISIONS")
"""The lines of the middle brief (seed 003), in their order."""
NAMES: dict[Label, str] = {
    "OBJECTIVE": "objective|objectives|goal|goals|task|intent|session intent|purpose|aim|problem"
    "|context|asked|request|user request|current focus|focus|description|title",
    "APPROACH": "approach|how|method|implementation|changes|what changed|recent changes|work done"
    "|steps taken|files modified|actions|what was done|completed work|progress",
    "OUTCOME": "outcome|outcomes|result|results|evidence|current state|state|status|tests"
    "|tests|tests passed|verification|findings|what works|done|completed",
    "PENDING": "pending|next|next step|next steps|todo|todos|to do|open|open items|open questions"
    "|open issues|remaining|remaining work|blockers|blocked|risks|risk|follow-ups|follow-up"
    "|known issues|what is left|what's left|what's left to build|blockers / open questions",
    "DECISIONS": "decision|decisions|decisions made|key decisions|rationale|reason|trade-offs"
    "|tradeoffs|trade-off|alternatives|alternatives considered|active decisions|chosen"
    "|consequences|impact",
}
"""What headings and fields are called that speak to a line."""
STATUS = frozenset({"status", "state", "tests passed"})
"""Fields whose value says nothing without their name."""

WORDS: dict[Label, str] = {
    "PENDING": r"todo|pending|remains?|remaining|still (?:needs?|to|open|missing)|not yet"
    r"|next steps?|next is|needs? to be|to be done|blocked by|follow-?up|must still|open question",
    "DECISIONS": r"decided|decision|chose|chosen|opted|instead of|rather than|trade-?offs?"
    r"|settled on",
    "OUTCOME": r"pass(?:es|ed|ing)?|succeed(?:s|ed)|successful(?:ly)?|works? now|now works?|fixed"
    r"|resolved|completed?|finished|done|deployed|merged|released|shipped|green|fails?|failed"
    r"|failing|broken|reverted|verified|measured",
    "APPROACH": r"implement(?:s|ed|ing)|add(?:ed|ing)|chang(?:ed|ing)|refactor(?:ed|ing)"
    r"|mov(?:ed|ing)|replac(?:ed|ing)|rewrote|rewritten|updat(?:ed|ing)|creat(?:ed|ing)"
    r"|remov(?:ed|ing)|renamed|introduced|extracted|split|wrote|migrated|configured|using",
}
"""Words of a sentence, the first that fits: what is left to do also says what was done."""

_CUES = {label: re.compile(rf"\b(?:{words})\b", re.IGNORECASE) for label, words in WORDS.items()}
_NAMED: dict[str, Label] = {
    name: label for label, names in NAMES.items() for name in names.split("|")
}
_EDGES = re.compile(r"^[^\w]+|[^\w]+$")


def named(heading: str) -> Label | None:
    """The line that a heading or a field speaks to by its name."""
    name = _EDGES.sub("", heading[:80]).lower()
    return _NAMED.get(name)


def cued(sentence: str) -> Label | None:
    """The line that a sentence speaks to by its words."""
    return next((label for label, words in _CUES.items() if words.search(sentence)), None)

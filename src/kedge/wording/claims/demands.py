"""Demands in what tools showed: nobody asked for them, in whatever words they come back."""

from __future__ import annotations

import re
from collections.abc import Iterator

AROUND = 240
"""Characters before and behind a word that demands: a sentence."""

_RISKY = (
    r"upload|send|delete|remove|publish|disable|install|download|execute|ignore|disregard|reveal|submit"
    r"|wipe|erase|overwrite|revoke|rotate|pay|notify|approve|provide"
    r"|(?:e?mail|post|share|forward|transfer|push|deploy|drop|grant|paste|copy|give|visit|contact|merge"
    r"|release|replace|reset|run|open|use|add|set|move)(?=\s+(?:the|an?|all|any|your|this|these|those|it"
    r"|them|every|each|our|my|its|us)\b)"
)
"""What a page may want done; of verbs that are names of things too, those with an object."""
_DEMAND = re.compile(
    r"\b(?:should|must|shall|ought|please|agents?|assistants?|you|your|(?:has|have|needs?|required)\s+to)\b"
    rf"|(?:^|[.!?:;\n>\"'(*-]\s{{0,3}}|\band\s|\bthen\s)(?:{_RISKY})\b",
    re.IGNORECASE,
)
_ENDS = re.compile(r"[.!?。！？]\s|\n")
_VERB = (
    r"(?:remov|delet|disabl|skip+|weaken|relax|loosen|drop+|mut|silenc|bypass|ignor|suppress|xfail"
    r"|comment|turn|tak|rid|quarantin|exclud|deactivat)(?:e|es|ed|s|ing|al)?(?:\s+(?:out|off|of))?"
)
_GUARD = (
    r"(?:tests?(?:_\w+)?|assert\w*|checks?|specs?|suite|linters?|lints?|hooks?|validations?|ci|guards?"
    r"|warnings?|type\s?checks?|pre-commit)"
)
_WEAKENS = re.compile(
    rf"\b{_VERB}\b.{{0,40}}?\b{_GUARD}\b|\b{_GUARD}\b.{{0,40}}?\b{_VERB}\b"
    rf"|\b{_GUARD}\b.{{0,30}}?\b(?:is|are|was|were)\s+(?:\w+ly\s+)?(?:wrong|flaky|outdated|obsolete"
    r"|irrelevant|unnecessary|superfluous|incorrect|mistaken)\b"
)


def demanding(text: str) -> Iterator[str]:
    """The sentences of a text that tell somebody to do something."""
    end = 0
    for found in _DEMAND.finditer(text):
        if found.start() >= end:
            before = [*_ENDS.finditer(text, max(end, found.start() - AROUND), found.end())]
            start = before[-1].end() if before else max(end, found.start() - AROUND)
            behind = _ENDS.search(text, found.end(), found.end() + AROUND)
            end = behind.start() + 1 if behind else found.end() + AROUND
            yield text[start:end]


def weakens(lowered: str) -> bool:
    """Whether a sentence takes away a test or another check, or says that it is to blame."""
    return _WEAKENS.search(lowered) is not None

"""Parts of a sentence, and whether one says that something is so."""

from __future__ import annotations

import re

_CLAUSE = re.compile(r"[,;:.–—]\s|\s(?:but|and|while|although|though|however|whereas|so)\s")
NEGATED = re.compile(
    r"\b(?:not|nothing|none|nobody|neither|nor|no|zero|never|cannot|\w+n't|without|nowhere|stopped"
    r"|nicht|nichts|kein\w*|nie|niemals|pas|ne|jamais|aucun\w*|rien|nunca|jamás|nada|não|нет|не"
    r"|никогда|ничего)\b|不|没|沒|未|別|别|勿|ない|ません|않|안 "
)
_TURNED_AWAY = re.compile(
    r"\b(?:instead|rather|than|against|over|only|too|untouched|unchanged|alone|stays?|remains?"
    r"|except|(?:avoid|forbid|prohibit|refus|reject|declin|ban|discard|dismiss)\w*|forbidden"
    r"|banned|off-limits|out\s+of\s+scope|up\s+to\s+the\s+user)\b"
)
_WISHED = (
    r"whether|if|until|unless|should|must|make(?!\s+(?:check|test|lint|build|all)\b)|makes|making|ensure|ensures|verify|check\s+that"
    r"|confirm|get|want|wants|need|needs|so\s+that|will|would|could|can|may|might|expected|expects"
    r"|yet|hardly|barely|nearly|almost|before|to\s+be|being|except|partly|partially|remain|remains"
    r"|remaining|noch|aún|failed\s+to|as\s+soon\s+as|only\s+when"
)
OPEN = re.compile(rf"\b(?:{_WISHED})\b|\b(?:once|when)\s+(?!.*ed\b)")
"""Words with which it is left open whether something is so."""


def clauses_of(text: str) -> list[str]:
    return [part for part in _CLAUSE.split(text) if part and part.strip()]


def is_negated(clause: str) -> bool:
    return NEGATED.search(clause) is not None


def turns_away(clause: str) -> bool:
    """Whether a clause says of something that it is not, or is not to be."""
    return is_negated(clause) or _TURNED_AWAY.search(clause) is not None


def is_open(clause: str) -> bool:
    """Whether a clause does not say that something is so."""
    return is_negated(clause) or OPEN.search(clause) is not None

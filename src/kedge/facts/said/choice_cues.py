"""How a user's words choose, correct, or refuse and say what is to be done instead."""

from __future__ import annotations

import re

from kedge.facts.said.rules import Place, is_question, is_rule
from kedge.spoken import at_beginning, spoken

REASON = 2_000
"""Characters of the words that refuse a call."""
CHOOSES = (
    # English
    r"(?:let's|lets|i'll|i will|i'd like to|we'll|we) (?:just )?(?:go|proceed|stick|continue) with",
    r"(?:i think |i'd say )?(?:option|approach|number)? ?#?(?:\d{1,2}|[a-e]) "
    r"(?:is|seems|sounds|looks) (?:the |like |a )?(?:right|best|good|better|fine|correct)",
    r"i(?:'d| would)? (?:like|prefer|choose|pick|want|vote for) "
    r"(?:option|approach|the (?:first|second|third|last|former|latter)|number|#?\d)",
    r"(?:(?:choose|pick|take|do|implement|go with|use) )?(?:the )?"
    r"(?:option|approach|number) ?#?(?:\d{1,2}|[a-e])\b",
    r"i(?:'d| would)?(?: really| much)? prefer|(?:let's|lets) (?:use|keep|store|call|put|do it)",
    r"(?:no|nope|nah)[,.!]? (?:please )?(?:keep|use|leave|put|make|remove|revert|undo|do|just|don't"
    r"|the|it should|i think)",
    r"(?:so )?we (?:could|can|should) (?:just |also )?(?:use|keep|store)\b",
    r"we (?:do not|don't|dont) need"
    r"|(?:(?:please|can we|can you|could we|could you) ){0,2}use .{1,80}?"
    r" (?:instead of|rather than|not)\b",
)
"""Say which way to go."""
TAKES_UP = (
    # English
    r"(?:let's|lets|let us) (?:just )?(?:rename|drop|skip|remove|make (?!sure)|merge|split|switch"
    r"|replace|move|leave|delete|revert|change|implement|take|have|set)",
)
"""The same, where the agent asked."""
STALLS = (
    # English
    r"wait|stop|hold on|hang on|one (?:question|moment|sec)|(?:let's|lets) (?:talk|discuss)",
    r"(?:i'll|i will|let me) (?:take|do|handle|fix|run|check|look|think|test|try)\b",
    r"(?:can|could) (?:you|we) (?:explain|check|clarify|tell)\b",
)
"""Refuse a call and choose nothing."""
CORRECTS = (
    # English
    r"no\b|nope|wait|actually|instead|not like|don't|dont|i undid|i reverted|undo|revert",
    r"(?:the|it|this|that|they|we|you|there|\w+) (?:\w+ ){0,3}should(?:n't| not)?\b(?! (?:i|we)\b)",
    r"what i (?:actually )?(?:meant|want\w*)|i (?:meant|want(?:ed)?) |that's not",
)
"""Turn the agent away from what it has just written."""

_POINTS_BACK = re.compile(
    r"(?:remove|revert|undo|drop|delete|take out|kill) (?:this|that|it|them|these|those)\b", re.I
)
"""Takes back what "this" stands for, and does not say what it is."""

_CHOOSES, _CORRECTS = at_beginning(CHOOSES), at_beginning(CORRECTS)
_NO = at_beginning((r"no|nope",))
_TAKES_UP, _STALLS = at_beginning(TAKES_UP, ending=""), at_beginning(STALLS)


def chooses(plain: str) -> bool:
    """Whether a sentence says which way to go."""
    return _CHOOSES.match(plain) is not None


def takes_up(plain: str) -> bool:
    """Whether a sentence that follows a question says which way to go."""
    return _TAKES_UP.match(plain) is not None


def corrects(plain: str) -> bool:
    """Whether a sentence turns the agent away from what it has just written."""
    return _CORRECTS.match(plain) is not None


def points_back(text: str) -> bool:
    """Whether words take back something that they do not name."""
    return _POINTS_BACK.search(text) is not None


def chooses_instead(verb: str, reason: str) -> bool:
    """Whether the words that refuse a call say what is to be done instead. Of a command they must
    say a rule or a choice: else only this command was not wanted."""
    said = [one.plain for one in spoken(reason[:REASON])]
    if not said or _STALLS.match(said[0]) or is_question(said[-1]):
        return False
    if verb in ("edit", "write", "ask") or (_NO.match(said[0]) and len(said) > 1):
        return True
    return any(is_rule(one, Place()) or _CHOOSES.match(one) for one in said)

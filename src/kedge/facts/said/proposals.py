"""What an answer asks leave to do, and whether a user's words agree to it."""

from __future__ import annotations

import re
from typing import Literal

from kedge.sentences import cut, one_line, sentences
from kedge.spoken import at_beginning

SHOWN = 200
"""Characters of a proposal."""
LOOKED_AT = 20_000
"""Characters from the end of an answer that are cleared of code."""
TAIL = 1_500
"""Characters at its end in which it asks."""
BEHIND = 2
"""Sentences that may stand behind the question: they say more of what is proposed."""
BEFORE = 2
"""Sentences before a question that says nothing itself: `Shall I?`"""
TELLING = 40
"""Characters from which a proposal is understood although it says "it"."""
LEAST = 12
"""Characters below which a proposal says nothing alone: `do that`."""

LEAVE = (
    # English
    r"(?:would you like|do you want|want)(?: me| us)? to (?P<a>.{0,400}?)\?",
    r"(?:^|[,.;:—–-] |\bso )(?:shall|should|may|can) (?:i|we)(?: go ahead and)?"
    r"(?P<b> .{0,400}?)?\?",
)
"""How an answer asks leave."""
ROUTINE = (
    # English
    r"(?:(?:also|now|just|go ahead and|proceed (?:with|to)|start|continue with) ){0,3}"
    r"(?:commit\w*|push\w*|stag(?:e|ing)|amend\w*|run(?:ning)?|re-?run|tag\w*|rebas\w+|publish\w*"
    r"|merge (?:it|this|the (?:pr|pull|branch))|open (?:a|the|it)|explain|elaborate|show|help"
    r"|adjust|anything|do anything|get more|know|clarify|see|check|look at|review)\b",
    r"(?:create|draft|make|update) (?:a |the |an? new )?(?:pr|pull request|commit|branch)\b",
    r"(?:proceed|continue|go ahead|start)\s*$",
)
"""Steps of any work, and offers to talk: agreeing to them decides nothing."""
YES = (
    # English
    r"yes|yep|yeah|yup|y|please do|go ahead(?! and)|do (?:it|that|so|this)|sounds good|agreed",
    r"exactly|(?:let's|lets) do (?:it|that|this)|good idea|makes sense|approved|lgtm|correct",
)
"""Agree, whatever follows."""
FINE = (
    # English
    r"(?:ok|okay|sure|great|perfect|good|fine|cool|nice|alright|please|thanks|thank you|then|that)"
    r"[\s,.!]{0,3}",
)
"""Agree where nothing follows: else they only open the next request."""
NO = (r"no|nope|nah|not (?:now|yet)|don't|do not|rather not|please don't",)

_LEAVE = re.compile("|".join(LEAVE), re.IGNORECASE)
_ROUTINE = re.compile("|".join(ROUTINE), re.IGNORECASE)
_YES, _NO = at_beginning(YES), at_beginning(NO)
_FINE = re.compile(rf"(?:{'|'.join(FINE)}){{1,4}}", re.IGNORECASE)
_FENCED = re.compile(r"^```.*?(?:^[ \t]*```[^\n]*$|\Z)", re.DOTALL | re.MULTILINE)
_EITHER = re.compile(r"\bor\b", re.IGNORECASE)
_POINTS = re.compile(
    r"\b(?:this|that|these|those|them|it|so|either|any|both)\b"
    r"(?=\s*$|\s?[,.;)]|\s(?:now|too|for|to|in|into|before|with|and|first|as|of)\b)",
    re.IGNORECASE,
)
"""Stands for what was said before."""
_MARKS = re.compile(r"\*\*|__")


def proposal_in(answer: str) -> str:
    """What an answer asks leave to do as it ends, in its own words; nothing where it asks which of
    two, or for a step of any work."""
    if "?" not in answer[-TAIL:]:
        return ""
    tail = _FENCED.sub("", answer[-LOOKED_AT:])[-TAIL:]
    said = [_MARKS.sub("", one) for one in sentences(tail)]
    for behind in range(min(BEHIND + 1, len(said))):
        place = len(said) - 1 - behind
        found = _LEAVE.search(said[place])
        if found is not None:
            return _told(found["a"] or found["b"] or "", said, place)
        if said[place].endswith("?"):
            return ""
    return ""


def _told(what: str, said: list[str], place: int) -> str:
    what = one_line(what).strip(" ,")
    if _EITHER.search(said[place]) or _ROUTINE.match(what):
        return ""
    alone = len(what) >= TELLING or not _POINTS.search(what)
    if alone and len(what) >= LEAST:
        return cut(what, SHOWN)
    before = [one for one in said[:place] if not one.endswith((":", "?"))]
    around = said[place + 1 :] or before[-1 if what else -BEFORE :]
    told = cut(" ".join(around).rstrip(" ."), SHOWN)
    if not told:
        return what if len(what) >= LEAST else ""
    return f"{what}: {told}".lstrip(": ")


def answered(words: str) -> Literal["yes", "no", ""]:
    """Whether words begin by agreeing to what was proposed, or by refusing it."""
    line = one_line(words[: 2 * SHOWN]).replace("’", "'")
    if _NO.match(line):
        return "no"
    return "yes" if _YES.match(line) or _FINE.fullmatch(line) else ""

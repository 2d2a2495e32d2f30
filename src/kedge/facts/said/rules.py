"""How a sentence says a standing rule: the cues, and what looks like one and is none.

Each table stands with words one of which any of its cues holds: most sentences hold none, and
looking for a word costs a hundredth of looking for a cue.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import NamedTuple

from kedge.spoken import HIDDEN

LONGEST = 800
"""Characters of a sentence in which cues are looked for."""

_LEAD = (
    "and|but|so|or|then|also|please|pls|just|ok|okay|oh|hey|now|again|maybe|yes|no|yeah|actually"
    "|instead|remember|dude|wait|well|anyway|you|here|first|sure|right|hmm?|btw|too"
)
_CLAUSE = re.compile(
    rf"^\W{{0,3}}|[,;:(!—–/]\s{{0,3}}|\s-{{1,2}}\s|\b(?:{_LEAD})[,:]?\s", re.IGNORECASE
)
"""What stands before a clause without a subject: there a verb is an order."""
_BEGINNING = r"^\W{0,3}"
_VERB = rf"(?!\w{{2,30}}(?:[^s\W]s|ed|ing)\b)[\w{HIDDEN}]"
"""A verb's plain form. In other forms somebody else does it."""
_NO_ORDER = (
    "think|know|see|understand|mind|believe|care|have|recall|remember|like|feel|even know|you|we|i"
    "|they|these|get (?:it|why|that|this)|worry(?! about)|it|matter|seem|mean|ask me"
)
"""Behind "don't": the user speaks of themselves and left out the "I"."""
_STATE = (
    r"(?:now |all |also |then |still )?(?:be )?(?:work(?:s|ing)?|fine|good|ok|okay|enough|done"
    r"|fixed|ready|possible|easy|simple|quick|too|that hard|hard|difficult|an issue|a problem"
    r"|under|in my|in the|in your|there|available|about|around)\b"
)
"""Behind "should": what the user supposes to be so; nobody has to do anything about it."""

ORDERS = (
    # English
    rf"(?:do not|don'?t|never) (?!(?:{_NO_ORDER})\b){_VERB}|(?:always|only ever) {_VERB}",
    r"only (?!(?:if|when|one|the|a|thing|issue|problem|then|because|for now|after|to|have|had|got|i"
    rf"|we|it|that|this|by|\d\w*)\b){_VERB}",
    r"(?:stop|quit|avoid|refrain from) (?:\w+ing|to \w+|the|any|all|it|with|that)\b",
    r"(?:limit|restrict|confine) (?:yourself|it|this|the)\b|(?:ensure|be sure|be careful)\b",
    r"(?:stick (?:to|with)|follow (?:the|our|same|this|existing|its|their))\b",
    r"(?:\w+ )?use (?:\S+ ){1,8}?(?:not|instead of|rather than|over|no)\b",
    rf"(?:prefer|favou?r) [\w{HIDDEN}]",
    r"(?:remember|be aware)(?: also)?(?: to| that|:|,| not| you| we| the| i)\b",
)
"""At the beginning of a clause: how to do things, or how not to."""
ORDER_WORDS = (
    *("do not", "n't", "dont", "never", "always", "only", "stop", "quit", "avoid", "refrain"),
    *("limit", "restrict", "confine", "ensure", "sure", "careful", "stick", "follow", "use "),
    *("prefer", "favo", "remember", "aware"),
)
OBLIGATIONS = (
    # English
    r"\b(?:should|must|shall|you can|you may|you will|need to|has to|have to|ought to|to|better) "
    r"(?:always|never|only|ever only)\b",
    r"\b(?:should not|shouldn'?t|must not|mustn'?t|shall not|you may not|not supposed to) "
    rf"(?!{_STATE})",
    r"\bshould be (?:only|no|at most|exactly)\b",
    r"\b(?:is|are|aren't|isn't) (?:not |never )?allowed\b",
    r"(?<!\bi )\bmust (?!have\b|be (?:a|an|some|something|because|that|there|down|off|gone|stale"
    r"|missing|wrong|old|cached)\b|admit)",
    r"\b(?:is|are|it's|that's) (?:required|mandatory|forbidden|off limits|not okay?|a must)\b",
    r"\b(?:we|i|you) (?:always|never|only(?= use| want| need| ever)) "
    rf"(?!saw|had|got|knew|heard|thought|noticed|tried)[\w{HIDDEN}]",
    r"\b(?:our|the|my) (?:\w+ )?(?:convention|rule|policy|guideline)s? (?:is|are|says?)\b",
    r"\b(?:max(?:imum)?|at most|no more than|not more than)(?: of)? (?:\d|one\b|two\b|three\b|a\b)",
    r"\bunder no circumstances\b|\bno matter what\b|\b(?:there(?:'s| is) )?no need (?:to|for)\b",
    r"\b(?:we|you) (?:(?:do not|don'?t) (?:need|have to)|needn'?t)\b",
    r"\b(?:doesn'?t|does not|makes? no|not make|wouldn'?t) (?:make )?sense to\b",
    r"\b(?:let's|lets|let us) (?:not|avoid|never|always|only)\b",
    r"\b(?:i|we)(?:'d| would)?(?: really| much)? prefer\b",
    r"(?<!just want to )\bmake (?:really |very |absolutely )?sure\b",
    r"\bleave (?:\S+ ){1,6}?(?:alone|as is|as it is|as they are|untouched|unchanged)\b",
)
"""Say what has to be so, or need not."""
OBLIGATION_WORDS = (
    *("always", "never", "only", "should", "must", "shall", "you may", "supposed", "allowed"),
    *("required", "mandatory", "forbidden", "limits", "not ok", "convention", "rule", "policy"),
    *("guideline", "max", "at most", "more than", "circumstances", "no matter", "need", "have to"),
    *("sense to", "let's", "lets", "let us", "prefer", "sure", "leave"),
)
LASTING = (
    # English
    r"\bfrom (?:now|here|this point) on(?:wards?)?\b|\bgoing forward\b|\bhenceforth\b",
    r"\bfor the rest of (?:this|the|our)\b|\bin (?:the )?future,? (?!work|version|release)",
    r"\b(?:whenever|every time|each time|any ?time) (?:you|we)\b",
    r"\bdon'?t forget\b|\bnote that you\b|\b(?:keep|bear) in mind\b",
)
"""Hold for all that follows."""
LASTING_WORDS = (
    *("now on", "here on", "point on", "forward", "henceforth", "rest of", "future", "whenever"),
    *("time you", "time we", "forget", "note that", "in mind"),
)
WISHES = (
    # English
    r"\bi (?:do |really |just |also |only ){0,2}(?:want|need|expect) "
    r"(?!(?:you|it) to (?:look|check|see|explain|tell)\b)"
    r"(?:you|it|them|this|that|these|those|all|every|each|any|the|our|my|both|code|tests?|things?)"
    r"(?: (?!(?:that|which|is|are|was|if|when)\b)[^\s.!?]{1,60}){0,5}? to (?-i:[a-z])",
    r"\bi want (?:\S+ ){1,10}?(?:retained|kept|preserved|unchanged|untouched)\b",
    r"\bi (?:do not|don'?t|never|no longer)(?: \w+)? (?:want|wanna|need|allow|accept)\b",
    r"\bi (?:did not|didn'?t) (?:ask|tell|want|say)\b",
)
"""What the user wants to be so, or does not."""
WISH_WORDS = ("want", "wanna", "need", "expect", "allow", "accept", "did not", "didn")
SHOUTED = re.compile(r"\b(?:MUST|NEVER|ALWAYS|DO NOT|DON'?T|ONLY)\b")
"""In capitals a word is meant, wherever it stands."""

EXPECTATIONS = (
    # English
    rf"\bshould (?!{_STATE})(?!(?:i|we|it|you)\b)",
    r"\b(?!(?:i|we|you|they|also|still|just|really|would|might|will|only) )[\w-]{2,40} "
    r"(?:has|have|needs?) to \w",
)
"""In a correction; in a request they say what is to be done."""
SMALL_ORDERS = (
    # English
    rf"use (?!case|with\b)[\w{HIDDEN}]|treat [\w{HIDDEN}]",
    r"(?:return|report|show|include|list|edit|change|touch|modify|mock|commit|run|add|review|fix"
    r"|consider|keep|write|give|do|look) (?:\S+ ){0,8}?only\b",
    r"(?:keep|leave) (?:it|the|this|that|them|these|those|all|your|answers?|messages?)\b",
    r"(?:answer|respond|reply|speak|talk)(?: to me)?(?: only)? in \w+",
    r"be (?:more )?(?:concise|brief|terse|critical|thorough|strict|conservative)\b",
)
"""At the beginning of a clause: constrain one thing."""
HINTS = (
    # English
    rf"(?<!\bis )(?<!\bare )(?<!\bwas )(?<!\bit )(?<!\bi )\b(?:always|never) {_VERB}",
    r"\bonly (?:using|use|in|with|via|through|edit|touch|change)\b",
    r"\bwe (?:generally |usually |typically |normally |also )?"
    r"(?:use|prefer|follow|avoid|name|don'?t (?:use|do|want|write|like))\b",
    rf"{_BEGINNING}no[,.!]? (?:please )?(?:use|keep|put|leave|write|do it|do that|make it|not)\b",
    r"\bi (?:undid|reverted|rolled back|had to (?:undo|revert))\b",
    r"\bin full\b|\bthe (?:full|whole|entire)(?: \S+)? (?:file|thing|doc|output|log|spec)\b",
    r"\bwithout (?:any |a |the )?(?:\w+ing\b|chang|us|touch|break|comment|test|warning|mock)",
    r"\bcarefully\b|\bstep by step\b(?! \w)|\bone (?:at a time|by one)\b",
    r"\bbefore (?:you|we|commit|push|merg|edit|chang|continu|anything|moving)",
    r"\bfirst(?: so| before|,? then|,? and then)\b|\bone \w+ per \w+|\bby default,? use\b",
    r"\b(?:wait for|ask(?: for)?|check with) (?:my|me)\b|\bmy (?:approval|permission)\b",
    r"\byou (?:can'?t|cannot) (?!see|know|tell|find|access)\w",
    r"\b(?:if|where|when|wherever|whenever) possible\b",
)
"""Constrain how something is done."""
PERMISSIONS = (
    # English
    rf"(?:{_BEGINNING}|\b(?:ok|okay|yes|yeah|now|so|and)[,:]? )you (?:can|may)(?: now| also)? "
    r"(?!see|find|tell|imagine|check|look)\w|\bfeel free to\b",
    r"\b(?:it'?s|it is|that'?s) (?:ok|okay|fine|alright|allowed) (?:to|if you)\b",
)
"""Allow what was forbidden."""
FORBIDDEN_THINGS = (
    # English
    rf"(?:{_BEGINNING}|[,;:!—–]\s{{0,3}}(?:and )?)no (?:more )?"
    r"(?!(?:problem|worr|idea|thank|way|doubt|rush|luck|need|longer|matter|that|this|they|there)"
    r"|(?:one|changes?|i|it|the|we|you|not|do)\b|(?:wait|sorry|actually|remove|undo|revert|add|keep)"
    r"|(?:use|don|just|like|issue|error|bug|difference))"
    rf"[\w{HIDDEN}-]{{2,30}}(?: [\w{HIDDEN}-]{{1,30}}){{0,3}}\s?(?:[!.,)]|$)",
)
"""No such thing, as in "no console output!"; not the "no" that answers."""
COMPLAINTS = (
    # English
    rf"{_BEGINNING}why (?:are|did|do|would|were|have|don'?t) you\b.{{1,200}}"
    r"\b(?:not|instead|again|keep|still|just)\b",
)
"""Questions that say what should not have been done."""
KEPT_IN_MIND = (r"\b(?:so|to) (?:that )?you (?:always )?(?:remember|know|don'?t forget)\b",)
"""Whatever the sentence is, what stands before it is to be remembered."""

POLITE = (
    r"^\W{0,3}(?:(?!what|why|how|where|when|who|which)\w+[, ]{1,2}){0,3}?"
    r"(?:can|could|would|will) (?:you|we)"
    r"(?: please| also| just| maybe| at least){0,2} (?P<order>.+)",
)
"""A question that is an order."""
POLITE_RULES = (
    # English
    r"^(?:always|never|not|stop|avoid|only|prefer|stick|remember)\b|\bfrom now on\b",
    r"\bgoing forward\b|\bin (?:the )?future\b|\b(?:whenever|every time|each time) (?:you|we)\b",
    r"^(?:\S+ ){1,10}?(?:instead of|rather than)\b|\bonly (?:us\w+|edit|in)\b",
)
"""In such a question, make it a rule."""
ORDERED_BEHIND = (r", (?:can|could|would|will) (?:you|we) ",)
"""Behind a statement: only the rest asks, and asks for something to be done."""
CONFIRMED = (r"[,!.] ?(?:ok|okay|please|yes|alright|got it|deal)\s?\?\W{0,3}$",)
"""Behind a rule that asks to be confirmed."""
ASKING = (
    # English
    r"\W{0,3}(?:(?:and|but|so|ok|okay|hmm?|also|question)[,:]? ){0,2}"
    r"(?:(?:why|what|how|where|who|whose)\b(?!ever)"
    r"|(?:is|are|was|were|does|did|has|isn'?t|aren'?t|doesn'?t|didn'?t|wouldn'?t|couldn'?t)\b"
    r"|(?:do|don'?t) (?:i|we|you|they)\b"
    r"|(?:should|shall|can|could|would|will|may) (?:i|we|you|they|it|this|these|there)\b"
    r"|(?:tell me|explain|let me know|clarify|i wonder|wondering|check|see|not sure|no idea) "
    r"(?:where|what|which|how|whether|if|why|when)\b)",
)
"""How questions begin that have lost their mark."""


class _Table(NamedTuple):
    cues: re.Pattern[str]
    words: tuple[str, ...] = ("",)

    def holds(self, sentence: str, lowered: str, places: Iterable[int] | None = None) -> bool:
        """Whether a cue stands in a sentence; at one of the places, where some are given."""
        if not any(word in lowered for word in self.words):
            return False
        if places is None:
            return self.cues.search(sentence) is not None
        return any(self.cues.match(sentence, place) for place in places)


def _table(*rows: str, words: tuple[str, ...] = ("",)) -> _Table:
    return _Table(re.compile("|".join(f"(?:{row})" for row in rows), re.IGNORECASE), words)


_ORDERS = _table(*ORDERS, words=ORDER_WORDS)
_STRONG = (
    _table(*OBLIGATIONS, words=OBLIGATION_WORDS),
    _table(*LASTING, words=LASTING_WORDS),
    _table(*WISHES, words=WISH_WORDS),
)
_EXPECTATIONS = _table(*EXPECTATIONS, words=("should", " has ", " have ", "need"))
_SMALL_ORDERS = _table(*SMALL_ORDERS)
_WEAK = _table(*HINTS, *PERMISSIONS, *FORBIDDEN_THINGS)
_COMPLAINT, _KEPT_IN_MIND = _table(*COMPLAINTS).cues, _table(*KEPT_IN_MIND).cues
_POLITE, _POLITE_RULE = _table(*POLITE).cues, _table(*POLITE_RULES).cues
_CONFIRMED, _ASKING = _table(*CONFIRMED).cues, _table(*ASKING).cues
_ORDERED_BEHIND = _table(*ORDERED_BEHIND).cues


_PASSING = re.compile(
    r"\b(?:for now|this time|just this once)\b|^\W{0,3}why (?:don['’]?t|not|didn['’]?t)\b",
    re.IGNORECASE,
)
"""What holds only now, or asks for one change: no standing rule."""


def is_rule(plain: str, *, correcting: bool = False, short: bool = False) -> bool:
    """Whether a sentence says a rule. A weak cue counts only in a short message, where it is most
    of what the user says; what should be so, only where they correct the agent."""
    sentence = plain[:LONGEST]
    if _PASSING.search(sentence):
        return False
    if points_back(sentence):
        return True
    if _asks(sentence) and not _CONFIRMED.search(sentence):
        return short and _asked_for(sentence)
    lowered = sentence.lower()
    places = [clause.end() for clause in _CLAUSE.finditer(sentence)]
    if _ORDERS.holds(sentence, lowered, places) or SHOUTED.search(sentence):
        return True
    if any(table.holds(sentence, lowered) for table in _STRONG):
        return True
    return short and (
        _SMALL_ORDERS.holds(sentence, lowered, places)
        or _WEAK.holds(sentence, lowered)
        or (correcting and _EXPECTATIONS.holds(sentence, lowered))
    )


def _asks(sentence: str) -> bool:
    return "?" in sentence[-5:] or _ASKING.match(sentence) is not None


def _asked_for(sentence: str) -> bool:
    polite = _POLITE.match(sentence)
    ordered = polite is not None and _POLITE_RULE.search(polite["order"]) is not None
    return ordered or _COMPLAINT.search(sentence) is not None


def points_back(plain: str) -> bool:
    """Whether a sentence makes a rule of those before it."""
    return "you " in plain and _KEPT_IN_MIND.search(plain[:LONGEST]) is not None


def is_question(plain: str) -> bool:
    """Whether a sentence asks to be told something; one that asks for something to be done, as
    "can you …?", is an order."""
    sentence = plain[:LONGEST]
    orders = _POLITE.match(sentence) or _ORDERED_BEHIND.search(sentence)
    return _asks(sentence) and not orders

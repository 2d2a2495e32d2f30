"""Cues of standing rules, table by table; each stands with what it means.

Some tables stand with words one of which any of their cues holds: most sentences hold none, and
looking for a word costs a hundredth of looking for a cue.
"""

from __future__ import annotations

import re

from kedge.spoken import HIDDEN

_LEAD = (
    "and|but|so|or|then|also|please|pls|just|ok|okay|oh|hey|now|again|maybe|yes|no|yeah|actually"
    "|instead|remember|dude|wait|well|anyway|you|here|first|sure|right|hmm?|btw|too"
)
CLAUSE = re.compile(
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
    r"(?:limit|restrict|confine) (?:yourself|it|this|the)\b|be careful\b",
    r"(?:\w+ )?use (?!(?:the|this|that)\b)(?:\S+ ){1,8}?(?:not|instead of|rather than|over|no)\b",
    rf"(?:prefer|favou?r) [\w{HIDDEN}]",
    r"(?:remember|be aware)(?: also)?(?: to| that|:|,| not| you| we| the| i)\b",
)
"""At the beginning of a clause: how to do things, or how not to."""
ORDER_WORDS = (
    *("do not", "n't", "dont", "never", "always", "only", "stop", "quit", "avoid", "refrain"),
    *("limit", "restrict", "confine", "careful", "use "),
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
    r"\b(?:every|each|all|any|no|nobody) (?:(?!(?:you|we|i)\b)[\w-]{1,30} ){0,4}"
    r"(?:has|have|needs?) to \w",
    r"\b(?:has|have|needs?) to (?:stay|remain)\b|\bstandard library only\b",
    r"\b(?:prefix|sign|squash|tag) (?:the |your |our |all |every )?commits?\b",
    r"\b(?:leave|keep) (?:\S+ ){1,6}?(?:alone|as is|as it is|as they are|untouched|unchanged)\b",
)
"""Say what has to be so, or need not."""
OBLIGATION_WORDS = (
    *("always", "never", "only", "should", "must", "shall", "you may", "supposed", "allowed"),
    *("required", "mandatory", "forbidden", "limits", "not ok", "convention", "rule", "policy"),
    *("guideline", "max", "at most", "more than", "circumstances", "no matter", "need", "have to"),
    *("sense to", "let's", "lets", "let us", "prefer", "leave", "keep", "commit", "library"),
    *("has to", "nobody"),
)
LASTING = (
    # English
    r"\bfrom (?:now|here|this point) on(?:wards?)?\b|\bgoing forward\b|\bhenceforth\b",
    r"\bfor the rest of (?:this|the|our)\b|\bin (?:the )?future,? (?!work|version|release)",
    r"\b(?:whenever|every time|each time|any ?time) (?:you|we)\b",
    r"\bdon'?t forget\b|\bnote that you\b",
)
"""Hold for all that follows."""
LASTING_WORDS = (
    *("now on", "here on", "point on", "forward", "henceforth", "rest of", "future", "whenever"),
    *("time you", "time we", "forget", "note that"),
)
WISHES = (
    # English
    r"\bi (?:do |really |just |also |only ){0,2}(?:want|need|expect) "
    r"(?!(?:you|it) to (?:look|check|see|explain|tell)\b)"
    r"(?:all|every|each|any|our|code|tests?|things?)"
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
    rf"(?<!\bwe )\bshould (?!{_STATE})(?!(?:i|we|it|you)\b)",
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
    r"(?:stick (?:to|with)|follow (?:the|our|same|this|existing|its|their))\b",
)
"""At the beginning of a clause: constrain one thing."""
CONSTRAINTS = (
    # English
    rf"(?<!\bis )(?<!\bare )(?<!\bwas )(?<!\bit )(?<!\bi )\b(?:always|never) {_VERB}",
    r"\bonly (?:using|use|in|with|via|through|edit|touch|change)\b",
    r"\bwe (?:generally |usually |typically |normally |also )?"
    r"(?:use|prefer|follow|avoid|name|don'?t (?:use|do|want|write|like))\b",
    r"\bwithout (?:any |a |the )?(?:\w+ing\b|chang|us|touch|break|comment|test|warning|mock)",
    r"\bone \w+ per \w+|\bby default,? use\b",
    r"\b(?:wait for|ask(?: for)?|check with) (?:my|me)\b|\bmy (?:approval|permission)\b",
    r"\byou (?:can'?t|cannot) (?!see|know|tell|find|access)\w",
)
"""Constrain how something is done, whatever is asked for beside it."""
HINTS = (
    # English
    rf"{_BEGINNING}no[,.!]? (?:please )?(?:use|keep|put|leave|write|do it|do that|make it|not)\b",
    r"\bi (?:undid|reverted|rolled back|had to (?:undo|revert))\b",
    r"\bin full\b"
    r"|(?<!\bon )(?<!\bof )(?<!\bin )\bthe (?:full|whole|entire)(?: \S+)? (?:file|doc|log|spec)\b",
    r"\bcarefully\b|\bstep by step\b(?! \w)|\bone (?:at a time|by one)\b",
    r"\bbefore (?:you|we|commit|push|merg|edit|chang|continu|anything|moving)",
    r"\bfirst(?: so| before|,? then|,? and then)\b",
    r"\b(?:keep|bear) in mind\b",
)
"""The same, where nothing else is asked for."""
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
)
"""In such a question, make it a rule."""
ORDERED_BEHIND = (r", (?:can|could|would|will) (?:you|we) ",)
"""Behind a statement: only the rest asks, and asks for something to be done."""
CONFIRMED = (r"[,!.] ?(?:ok|okay|please|yes|alright|got it|deal)\s?\?\W{0,3}$",)
"""Behind a rule that asks to be confirmed."""
ASSURANCES = (
    # English
    r"\b(?:ensure|(?<!to )be sure|make (?:really |very |absolutely )?sure)\b",
)
"""What has to come of one request, unless the sentence names an occasion that comes again."""
AGAIN = (
    # English
    r"\b(?:always|never|every|each|whenever|nobody|for any|at all times|in general)\b",
    r"\b(?:when|before|after|if|once|until) (?:you|we|\w+ing|commit|push|merg|edit|releas)",
    r"\bsure (?:that )?you (?!know|have|can|could|get|understand)\w",
)
"""An occasion that comes again, or what the agent itself is to do."""
SUPPOSED = (
    # English
    r"in theory|i (?:guess|suppose|believe|think)|maybe|probably|perhaps",
)
"""Before "should": what the user supposes, or proposes."""
DELIVERABLES = (
    # English
    r"add|address|analy[sz]e|build|change|check|clean|convert|create|delete|deploy|design|document",
    r"draft|explain|extend|extract|find|fix|generate|give|implement|investigate|look|migrate|move",
    r"port|print|propose|reconcile|refactor|remove|rename|replace|review|rewrite|set up|show|split",
    r"summari[sz]e|tell|update|write|make (?!sure)(?:a|an|the|it|all|one|some|this)\b",
)
"""Ask for something to be done, once."""
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

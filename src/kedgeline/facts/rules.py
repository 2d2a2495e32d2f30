"""Standing rules, verbatim: from the user's words, and from rules files; and which of them later
words take back.

A cue stands here only while it finds rules among labelled messages that no other finds, or in a
language of which there are none; `kedgeline bench rules` counts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from kedgeline.facts.extractor import Recent, Setting
from kedgeline.facts.requests import ASKS, Utterance, said_in
from kedgeline.model import InstructionGiven, Note, Turn
from kedgeline.shell import Outcome
from kedgeline.text.prose import one_line
from kedgeline.text.spoken import HIDDEN, Sentence, at_beginning, late, spoken

# How a sentence says a standing rule, and what looks like one and is none.

LONGEST = 800
"""Characters of a sentence in which cues are looked for."""

_LEAD = (
    "and|but|so|or|then|also|please|pls|just|ok|okay|oh|hey|now|again|maybe|yes|no|yeah|actually"
    "|instead|let'?s|dude|wait|well|anyway|you|here|first|sure|right|hmm?|btw|too|omg|omfg|however"
)
_CLAUSE = re.compile(
    rf"^\W{{0,3}}|[,;:(!—–]\s{{0,3}}|\s-{{1,2}}\s|\b(?:{_LEAD})[,:]?\s", re.IGNORECASE
)
"""What stands before a clause without a subject: there a verb is an order."""
_VERB = rf"(?!\w{{2,30}}(?:[^s\W]s|ed|ing)\b)[\w{HIDDEN}]"
"""A verb's plain form. In other forms somebody else does it."""
_OF_THE_AGENT = (
    r"(?:commit|push|merge|deploy|release|edit|touch|modify|delete|install|ask|continue|proceed"
    r"|guess|run|start|stop|wait)\b"
)
"""What an agent does, and hardly a program that is being written."""
_NO_ORDER = (
    "think|know|see|understand|mind|believe|care|have|recall|remember|like|feel|even know|you|we|i"
    "|they|these|get (?:it|why|that|this)|worry(?! about)|it|matter|seem|mean|ask me|need"
)
"""Behind "don't": the user speaks of themselves and left out the "I"."""
_MANNER = (
    "short|shorter|brief|concise|terse|small|simple|minimal|focused|consistent|alone|as is|as it is"
    "|as they are|as it was|unchanged|untouched|intact|retained|kept|preserved|stable|compatible"
    "|separate|private|up to date|in sync|formal|polite|backwards?.compatible"
)

ORDERS = (
    rf"(?:do not|don'?t|never) (?!(?:{_NO_ORDER})\b){_VERB}",
    r"(?:always|only(?! (?:if|when|one|the|a|then|because|for|after|to|have|i|we|it|that|by)\b)) "
    rf"{_VERB}",
    r"(?:stop|quit|refrain from) (?:\w+ing|to \w+|any|all)\b|avoid \w|not use\b",
    rf"prefer [\w{HIDDEN}]|stick (?:to|with) \w",
    r"remember(?: also)?(?: to| that|:|,| not| you)\b|(?:keep|bear) in mind\b",
    rf"(?:keep|leave) (?:\S+ ){{1,6}}?(?:{_MANNER})\b",
    r"(?:answer|respond|reply|speak|talk|write)(?: to)?(?: me| everything| all| comments)?"
    r"(?: only)? in (?-i:[A-Z])\w+",
    r"be (?:more |very )?(?:concise|brief|terse|critical|thorough|strict|conservative|careful)\b",
    r"make all (?:the |your |these )?(?:edits|changes|commits)\b|limit yourself\b",
    r"(?:return|report|list|include|show|mention) only\b",
    r"no (?:more|new|extra|external|additional) (?!than\b)\w",
    r"no (?!(?:need|one|changes?|thanks?|way|idea|problem|worries|i|it|the|we"
    rf"|you|not|do)\b)[\w{HIDDEN}-]{{3,30}}(?: (?!this|that|it|again)[\w{HIDDEN}-]{{2,30}}){{0,2}}"
    r"\s?(?:[!.)]|$)",
)
"""At the beginning of a clause: how to do things, or how not to."""
STYLE = (
    r"english|german|french|spanish|italian|portuguese|dutch|chinese|japanese|korean|russian"
    r"|spelling|markdown|bullets?|bullet points|prose|emojis?|units|tabs|spaces|indentation"
    r"|(?:snake|camel|kebab|pascal)[ -]?case|(?:single|double) quotes|semicolons|type ?hints?"
    r"|docstrings"
)
"""What a wish about how things are written names."""
STYLE_OF = (
    r"grammar|language|tone|style|format|formatting|currency|dates|comments|names|identifiers"
    r"|commits|commit messages|imports|answers|replies|responses|explanations|sentences"
    r"|paragraphs|diffs"
)
"""The same, where a word before says which."""
_DONE = (
    "squash|sort|reformat|format|correct|improve|keep|drop|merge|push|amend|list|print|translate"
    "|convert|switch|try|wait|read|do|put|go|get|take|apply|simplify|shorten"
)
"""More verbs that ask for something to be done once."""
SAYINGS = (
    r"^\W{0,3}(?:(?:our|the|my) )?(?:rule|convention|policy|style)s?(?::| is\b| are\b)",
    r"^\W{0,3}(?:(?-i:[A-Z][A-Z -]{2,30}: )|(?:(?:please|pls|just|then|also|omg|and|so|but|ok|okay)"
    r"[, ]{1,2}){1,2})?use "
    r"(?!(?:the|this|that|these|those|(?:it|them)(?! (?:in|for|when)\b)|an?|case|your|my|our|its"
    rf"|their|with)\b)[\w{HIDDEN}]",
    r"^\W{0,3}no,? not .{1,60}?[,;–—-] ?(?:use|just|only|always) \w",
    r"\bmake sure (?:that )?(?:you (?!know|have|can|get|understand)\w|\S.{0,80}\bbefore you\b)",
    r"\b(?:must|shall|you (?:can|may|will|should)|we should|need to|has to|have to|to) "
    r"(?:always|never|only)\b|\bshould (?:never|only)\b",
    r"\b(?:you|we) (?:should not|shouldn'?t|must not|mustn'?t|may not|can'?t use|never|always)\b",
    r"(?<!\bi )\bmust (?!have\b|be (?:a|an|the(?! (?:same|only))|some|something|because|that|there"
    r"|down|off|gone|stale|missing|wrong|old|cached)\b|admit)"
    r"|\b(?:is|are) (?:mandatory|forbidden|off limits)\b",
    r"\bshould be (?:only|no|at most|exactly)\b",
    r"\b(?:max(?:imum)?|at most|(?:no|not) more than)(?: of)? (?:\d|one\b|two\b)|\bat most[.!]?$",
    r"\bwithout (?:any |a )?(?:chang|us|touch|break|modify|adding|edit|alter)\w*",
    r"\bonly (?:using|with|via|through)\b|^\W{0,3}(?:[\w-]+ ){1,4}only[.!]?$",
    r"\b(?:from (?:now|here) on|going forward|for the rest of|in (?:the )?future,?)\b",
    r"\b(?:whenever|every time|each time) (?:you|we)\b|\bunder no circumstances\b",
    r"\bi(?:'d| would)?(?: really| much)? (?:prefer|rather)\b",
    r"\bi (?:really |just |also )?(?:want|need|expect) (?:(?:all|every|each|no)\b"
    rf"|(?:\S+ ){{1,10}}?(?:everywhere|{_MANNER})\b)",
    r"\bi (?:do not|don'?t|never) (?:ever )?want (?:to|you|any|\w+ing)\b",
    r"\b(?:everything |(?:every|each|all) (?:[\w-]{1,30} ){1,3})(?:ha(?:s|ve) to|needs?)\b(?! fix)",
    r"\b(?:(?:has|have) to|must) (?:stay|remain)\b|^\W{0,3}(?!\w+ing\b).*\bafter (?:every|each)\b",
    r"\b(?:before|after|when) (?:(?:committing|pushing|editing)\b|you (?:commit|push|change"
    r"|edit|add|touch|delete)\b)",
    r"(?<!can )(?<!could )(?<!should )\bwe (?:(?:use|write)(?! (?:the|this|that|it|too|up)\b)"
    r"|(?:don'?t|do not|only) (?:use|write|do|commit|push))\b",
    r"\b(?:commits?|commit messages|comments|names|answers|docstrings|you) should(?! (?:see|be able"
    r"|get|know|find|have|now)\b)",
    r"\b(?:ask|check with|wait for) (?:me|my)\b",
)
"""Say what has to be so, wherever they stand."""
_SUBJECT = (
    r"ich|es|das|die|der|er|sie|wir|hier|ist|war|je|j'|il|elle|on|ça|c'est|le|la|les|l'|het|de|ik"
    r"|он|она|они|я|это|мы"
)
OTHER_LANGUAGES = (
    rf"^\W{{0,3}}(?!(?:{_SUBJECT})\b)(?:"
    r"\w+[^t\W] (?:bitte |sie )?(?:nicht|kein\w*|nie|niemals|immer|nur)\b"
    r"|.{0,60}(?:\bniemals\b|\bab (?:jetzt|sofort)\b|\bbitte (?:nicht|immer|kein\w*|nur)\b"
    r"|\bauf deutsch\b)"
    r"|.{0,60}\b(?:jamais|toujours|désormais|dorénavant|en français)\b|(?:ne |n')\w+ pas\b"
    r"|.{0,60}\b(?:nunca|jamás|siempre|a partir de (?:ahora|agora)|em? (?:español|português))\b"
    r"|(?:não|sempre) \w|.{0,60}\bin italiano\b|non \w+[aei]re\b"
    r"|.{0,60}\b(?:nooit|altijd|voortaan|vanaf nu|in het nederlands)\b"
    r"|.{0,60}\b(?:никогда|всегда|отныне|впредь|по-русски)\b)",
    r"不要(?!紧)|请勿|禁止|从现在起|始终|用中文|しないで|必ず.*(?:ください|こと)|今後は|日本語で"
    r"|하지 ?마|항상|절대|한국어로",
)
"""Orders in German, French, Spanish, Portuguese, Italian, Dutch and Russian, which begin with no
subject; and in Chinese, Japanese and Korean."""
SHOUTED = re.compile(r"\b(?:MUST|NEVER|ALWAYS|DO NOT|DON'?T)\b")
"""In capitals a word is meant, wherever it stands."""
_PASSING = re.compile(
    r"\b(?:for now|this time|just this once|in theory|no [\w ]{2,30} yet|i (?:guess|suppose))\b"
    r"|^\W{0,3}why (?:don'?t|not|didn'?t)\b|^\W{0,3}never ?mind\W*$|\.\w{1,5}:\d{1,6}:\d",
    re.IGNORECASE,
)
"""What holds only now, is supposed, or is the line of a linter: no standing rule."""
_CONDITION = re.compile(r"\W{0,3}(?:(?:and|but|so|also)\s)?if\b", re.IGNORECASE)
"""Behind it an order is mostly about what a program does then."""
_KEPT_IN_MIND = re.compile(
    r"\b(?:so|to) (?:that )?you (?:always )?(?:remember|know|don'?t forget)\b", re.IGNORECASE
)
"""Whatever the sentence is, what stands before it is to be remembered."""
_ENSURED = re.compile(r"\b(?:ensure|be sure|make sure|should)\b", re.IGNORECASE)
"""In a rules file, what has to be so; in a request, what has to come of it."""
_POLITE = re.compile(
    r"^\W{0,3}(?:(?!what|why|how|where|when|who|which)\w+[, ]{1,2}){0,3}?"
    r"(?:can|could|would|will) (?:you|we)"
    r"(?: please| also| just| maybe| at least){0,2} (?P<order>.+)",
    re.IGNORECASE,
)
"""A question that is an order."""
_POLITE_RULE = re.compile(
    r"^(?:always|never|stop|avoid|only|prefer|stick|remember)\b|\bonly (?:using|with|via)\b"
    r"|\b(?:from now on|going forward|whenever|every time|each time (?:you|we))\b",
    re.IGNORECASE,
)
"""In such a question, make it a rule."""
_ORDERED_BEHIND = re.compile(r", (?:can|could|would|will) (?:you|we) ", re.IGNORECASE)
"""Behind a statement: only the rest asks, and asks for something to be done."""
_CHECKED = re.compile(
    r"(?:[,!.]? ?\b(?:ok|okay|please|yes|alright|got it|deal|right|correct|clear|understood|agreed"
    r"|yeah)\s?\?|!\?|\?!)\W{0,3}$",
    re.IGNORECASE,
)
"""Behind an order it asks whether that was heard."""
_ASKING = re.compile(
    r"\W{0,3}(?:(?:and|but|so|ok|okay|hmm?|also|question)[,:]? ){0,2}"
    r"(?:(?:why|what|how|where|who|whose)\b(?!ever)"
    r"|(?:is|are|was|were|does|did|has|isn'?t|aren'?t|doesn'?t|didn'?t|wouldn'?t|couldn'?t)\b"
    r"|(?:do|don'?t) (?:i|we|you|they)\b"
    r"|(?:should|shall|can|could|would|will|may) (?:i|we|you|they|it|this|these|there)\b"
    r"|(?:tell me|explain|let me know|clarify|i wonder|wondering|check|see|not sure|no idea) "
    r"(?:where|what|which|how|whether|if|why|when)\b)",
    re.IGNORECASE,
)
"""How questions begin that have lost their mark."""


def _any(rows: tuple[str, ...]) -> re.Pattern[str]:
    return late("|".join(f"(?:{row})" for row in rows))


_ORDERS, _SAYINGS = _any(ORDERS), _any((*SAYINGS, *OTHER_LANGUAGES))
_WISHED = late(
    r"(?=.{0,80}\b(?:please|pls)\b)\W{0,3}(?:(?:please|pls|and|also|but|ok|okay),? ){0,3}"
    rf"(?!(?:the|this|that|these|those|my|your|an?|no|more|some|next|{_DONE}|{'|'.join(ASKS)})\b)"
    rf"(?:(?:[\w'/-]+,? ){{0,3}}?(?:{STYLE})|(?:[\w'/-]+,? ){{1,3}}?(?:{STYLE_OF}))\b"
    r"(?:,? [\w'/-]+){0,4}\W*$"
)
"""A matter of style without a verb, with a please: it is to be so from now on."""
_OF_AGENT = re.compile(rf"\b(?:you\b|{_OF_THE_AGENT})", re.IGNORECASE)


def is_rule(plain: str, *, standing: bool = False) -> bool:
    """Whether a sentence states a rule. What concerns one request only is not a rule, unless
    everything in the text is meant to last, as in a rules file."""
    sentence = plain[:LONGEST]
    if _PASSING.search(sentence):
        return False
    if points_back(sentence):
        return True
    if _asks(sentence):
        checked = _CHECKED.search(sentence)
        if checked is None or _ASKING.match(sentence):
            return _asked_for(sentence)
        sentence = sentence[: checked.start()]
    if _CONDITION.match(sentence) and not (standing or _OF_AGENT.search(sentence)):
        return False
    if SHOUTED.search(sentence) or _SAYINGS.search(sentence) or _WISHED.match(sentence):
        return True
    if any(_ORDERS.match(sentence, clause.end()) for clause in _CLAUSE.finditer(sentence)):
        return True
    return standing and _ENSURED.search(sentence) is not None


def _asks(sentence: str) -> bool:
    return "?" in sentence[-5:] or _ASKING.match(sentence) is not None


def _asked_for(sentence: str) -> bool:
    polite = _POLITE.match(sentence)
    return polite is not None and _POLITE_RULE.search(polite["order"]) is not None


def points_back(plain: str) -> bool:
    """Whether a sentence makes a rule of those before it."""
    return "you " in plain and _KEPT_IN_MIND.search(plain[:LONGEST]) is not None


def is_question(plain: str) -> bool:
    """Whether a sentence asks for information. One that asks for an action, such as "can you …?",
    is an order."""
    sentence = plain[:LONGEST]
    orders = _POLITE.match(sentence) or _ORDERED_BEHIND.search(sentence)
    return _asks(sentence) and not orders


# Which earlier rule a user's later words take back, or give in another form.
#
# A rule outranks all else, so it ends only by the user's own words, and only where these leave no
# doubt which one they mean: the same thing allowed that was forbidden, another value for the same
# thing, or "undo that" right behind it.

REMEMBERED = 64
"""Rules remembered: more are given in no conversation by its user."""
LOOKED_AT = 400
"""Characters of a rule that are compared: a longer one introduces a list or an example."""
MOST_OF = 0.6
"""Share of a message from which a rule is what "that" in the next message stands for."""

UNDONE = (
    # English
    r"(?:(?:you can|please|let's|lets|just|actually|then|now)[, ]{1,2}){0,3}"
    r"(?:undo|revert|roll back|forget|scratch|ignore|drop|take back)"
    r" (?:that|this|it|what i said)(?: (?:again|change|please|now|one|rule)){0,2}"
    r"(?=\s?[,.!;:—–-]|$)",
    r"(?:no|nope)?,? ?remove (?:that|this|it) again|never ?mind(?: that| this)?(?=\s?[,.!;]|$)",
    r"i(?:'ve| have)? changed my mind",
)
"""Take back what was said right before."""
_FORBIDS = (
    r"(?:(?:do not|don'?t) (?:need|have) to|no need to|do not|don'?t|never|must not|mustn'?t"
    r"|should not|shouldn'?t|no longer|stop|quit|not allowed to)"
)
_ALLOWS = (
    r"(?:you (?:can|may)(?: now| again)?|feel free to|(?:it'?s|it is|that'?s) (?:ok|okay|fine) to"
    r"|(?:ok|okay) to|go ahead and|always)"
)
_WHEN = r"(?:before|until|unless|when|if|because|since|so|to|without|as|otherwise|or|and|but)\b"
_ORDER = re.compile(
    rf"\b(?:(?P<forbids>{_FORBIDS})|(?P<allows>{_ALLOWS})) "
    rf"(?P<verb>[a-z]{{2,20}})(?P<rest>(?: (?!{_WHEN})[^\s,;:!?()—–]{{1,60}}){{0,8}})",
    re.IGNORECASE,
)
_CHOICE = re.compile(
    r"\b(?:use|using|take|prefer|want|switch to)\s+(?P<taken>[^\s,;]{1,60}(?: [^\s,;]{1,60}){0,3}?)"
    r",?\s+(?:instead of|rather than|not|over)\s+(?P<left>[^\s,;!?]{1,60})",
    re.IGNORECASE,
)
_VALUED = re.compile(
    r"(?P<subject>[^.!?;,:]{3,80}?) (?:should|must|has to|have to|needs? to) (?:always )?be "
    r"(?P<value>[^.!?;,]{1,40})",
    re.IGNORECASE,
)
_WORD = re.compile(r"[^\W\d_][\w./-]{1,60}")
COMMON = (
    # English
    "the|a|an|it|its|is|are|was|be|been|being|in|on|at|of|for|to|with|and|or|not|no|so|that|this",
    "these|those|they|them|there|we|you|i|our|your|my|me|do|does|did|what|which|how|why|when",
    "should|must|has|have|had|need|needs|can|could|would|will|use|using|used|as|same|just|also",
    "all|any|please|ok|okay|yes|yeah|hmm|actually|again|now|anymore|more|only|ever|always|never",
    "don",
)
"""Words that tell no subject."""
_COMMON = frozenset("|".join(COMMON).split("|"))
_POINTS = re.compile(r"\b(?:it|that|them|this|these|those)\b", re.IGNORECASE)
_NOW = re.compile(r"\b(?:now|once)\b", re.IGNORECASE)
_ENDING = re.compile(r"(?:ing|ed|es|s|e)$")

_UNDONE = at_beginning(UNDONE, ending="")


class _Order(NamedTuple):
    way: Literal["forbids", "allows"]
    verb: str
    about: frozenset[str]
    points: bool
    """It names what it is about by "it" or "that"."""


class _Rule(NamedTuple):
    text: str
    message: int
    alone: bool
    """It is most of its message."""


class _Standing:
    """The rules a user gave, to know which of them later words mean."""

    def __init__(self) -> None:
        self._rules = Recent[str, _Rule](REMEMBERED)
        self._message = 0

    def __bool__(self) -> bool:
        return bool(self._rules)

    def next_message(self) -> None:
        self._message += 1

    def give(self, text: str, words: str) -> None:
        """Remember a rule out of a message."""
        alone = len(text) >= MOST_OF * len(words.strip())
        self._rules.put(text, _Rule(text, self._message, alone))

    def end(self, text: str) -> None:
        self._rules.pop(text, None)

    def undone_by(self, sentence: str) -> str:
        """The rule that words such as "undo that" withdraw: the one the message before consists
        of. A prohibition is never meant: then it is the work that should be undone."""
        if not _UNDONE.match(sentence):
            return ""
        before = [rule for rule in self._rules.values() if rule.message == self._message - 1]
        if len(before) != 1 or not before[0].alone:
            return ""
        order = _order(before[0].text)
        return "" if order is not None and order.way == "forbids" else before[0].text

    def replaced_by(self, text: str) -> str:
        """The rule of an earlier message that words allow, forbid, or say anew, whether these are a
        rule themselves or not."""
        for rule in self._earlier():
            if rule.text != text and (_reversed(rule.text, text) or _other(rule.text, text)):
                return rule.text
        return ""

    def _earlier(self) -> Iterator[_Rule]:
        """The newest first."""
        return (rule for rule in reversed(self._rules.values()) if rule.message < self._message)


def _reversed(earlier: str, later: str) -> bool:
    old, new = _order(earlier), _order(later)
    if old is None or new is None or old.way == new.way or old.verb != new.verb:
        return False
    if "never" in earlier.lower() and _NOW.search(later):
        return False  # allowed this once
    if not new.about:
        return not old.about or new.points
    return new.about <= old.about


def _other(earlier: str, later: str) -> bool:
    """`use B instead of A` behind `use A instead of …`; `the header should be green` behind `the
    header should be blue`."""
    old, new = _plain(earlier), _plain(later)
    if (taken := _CHOICE.search(old)) and (instead := _CHOICE.search(new)):
        return instead["left"].casefold() == taken["taken"].casefold()
    if (was := _VALUED.search(old)) and (is_now := _VALUED.search(new)):
        subject = set(stems(was["subject"]))
        same = bool(subject) and subject == set(stems(is_now["subject"]))
        return same and was["value"].casefold() != is_now["value"].casefold()
    return False


def _order(text: str) -> _Order | None:
    found = _ORDER.search(_plain(text))
    if found is None:
        return None
    about = frozenset(stems(found["rest"]))
    way: Literal["forbids", "allows"] = "forbids" if found["forbids"] else "allows"
    return _Order(way, _stem(found["verb"]), about, bool(_POINTS.search(found["rest"])))


def _plain(text: str) -> str:
    return one_line(text[:LOOKED_AT]).replace("’", "'").replace("`", "")


def stems(text: str) -> Iterator[str]:
    """The words of a text that tell its subject, without their endings."""
    for word in _WORD.findall(text):
        if (lowered := word.lower().strip("./-")) not in _COMMON:
            yield _stem(lowered)


def _stem(word: str) -> str:
    """Without its ending; a name is left as it is."""
    lowered = word.lower()
    if not lowered.isalpha():
        return lowered
    stem = _ENDING.sub("", lowered)
    return stem[:-1] if len(stem) > 3 and stem[-1] == stem[-2] else stem


# Standing rules, verbatim: from the user's words, and from rules files.

SHORT = 280
"""Characters of prose up to which a message is short: three sentences."""
TYPED = 8_000
"""Characters up to which a message may have been typed. In a longer one most is pasted, and the
user speaks at both ends."""
ENDS = 1_500
"""Characters at each end of such a message."""
MOST_RULES = 12
"""Rules taken from one message; a text with more is a document, and stands among the requests."""
MOST_LINES = 16
"""Lines taken from one rules file. The file itself is put before the agent again."""
INTRODUCED = 1_200
"""Characters of a list or an example that a rule introduces."""
LINE = 400
"""Characters of a line of a rules file: a longer one explains."""
FILES = 16
"""Rules files remembered, so that one that is given again says nothing twice."""

CLASS = re.compile(r"\s*(?!(?:INFO|WARN|WARNING|ERROR|DEBUG|FATAL):)[A-Z][A-Z_ -]{2,40}:\s+")
"""What a sentence is, said before it: `NOTE:`, `HARD CONSTRAINT:`. It names no matter, but what
stands behind it is meant to be kept."""
_POINTS_BACK = re.compile(
    r"(?:and |so |then )?(?:it|that|this|they|these|those|such|same|should|shouldn'?t|must|mustn'?t"
    r"|needs?)\b",
    re.IGNORECASE,
)
"""How a sentence begins that says nothing without the one before: with a word that stands for it,
or without a subject."""
_TAKES_BACK = re.compile(r"(?:but|except|unless|otherwise)\b", re.IGNORECASE)
"""The same, where the one before says something."""
_GOES_ON = re.compile(
    r"(?:otherwise|because|unless|except|e\.g|i\.e|for example|this (?:is|way)|that way|or else"
    r"|the reason|so that)\b",
    re.IGNORECASE,
)
_ITEM = re.compile(r"\s*(?:[-*•+]|\d{1,2}[.)])\s+")
_HEADED = re.compile(
    r"^[ \t#*_]{0,8}(?:[\w-]{1,20} ){0,2}(?:rules|constraints|conventions|guidelines|restrictions"
    r"|don'?ts)[ :*_]{0,4}\n"
    r"(?P<items>(?:\s{0,8}(?:[-*•+]|\d{1,2}[.)])[ \t].{1,400}\n?){1,24})",
    re.MULTILINE | re.IGNORECASE,
)
"""A list under a heading that says what its items are."""
_NAMED = re.compile(r"([\w.-]{1,80}\.(?:mdc?|txt|toml|ya?ml|cursorrules))\b|\.cursorrules\b")
_NAMED_IN = 400
"""Characters from the beginning of a rules file in which its name is looked for."""


class InstructionExtractor:
    def __init__(self, setting: Setting) -> None:
        self._files = Recent[int, None](FILES)
        self._standing = _Standing()

    def see(self, turn: Turn, outcomes: Sequence[Outcome]) -> Iterable[InstructionGiven]:
        found: list[InstructionGiven] = []
        if turn.agent:
            return found
        for note in turn.notes:
            if note.kind == "instructions" and self._is_new(note.text):
                found += _of_file(note, turn.index)
        for said in said_in(turn):
            found += self._rules(said, turn.index)
        return found

    def _rules(self, said: Utterance, turn: int) -> Iterator[InstructionGiven]:
        if not said.own or not said.to_agent:
            return
        self._standing.next_message()
        texts = rules_in(said.text)
        for text, ended in self._taken_back(said.text, texts):
            yield InstructionGiven(turn=turn, by="user", text=text, replaces=ended, lasts=False)
            self._standing.end(ended)
            texts = [one for one in texts if one != text]
        for text in texts:
            replaced = self._standing.replaced_by(text)
            yield InstructionGiven(turn=turn, by="user", text=text, replaces=replaced)
            self._standing.end(replaced)
            self._standing.give(text, said.text)
        yield from self._ended(said.text, texts, turn)

    def _taken_back(self, words: str, texts: list[str]) -> Iterator[tuple[str, str]]:
        """The words that take back the rule before them, with that rule."""
        first = next(iter(spoken(words[:TYPED])), None)
        ended = self._standing.undone_by(first.plain) if first else ""
        if first and ended:
            text = words[first.start : first.end]
            yield next((one for one in texts if text in one), text), ended

    def _ended(self, words: str, texts: list[str], turn: int) -> Iterator[InstructionGiven]:
        """Words that are no rule by themselves, but allow what one forbids, or give another
        value than one did."""
        for sentence in spoken(words) if self._standing and len(words) <= SHORT else ():
            text = words[sentence.start : sentence.end]
            if is_question(sentence.plain) or any(text in rule for rule in texts):
                continue
            if ended := self._standing.replaced_by(text):
                yield InstructionGiven(turn=turn, by="user", text=text, replaces=ended)
                self._standing.end(ended)
                self._standing.give(text, words)

    def _is_new(self, text: str) -> bool:
        key = hash(text)
        if key in self._files:
            return False
        self._files.put(key, None)
        return True


def rules_in(words: str) -> list[str]:
    """The rules in a user's words, each as it stands there, in order, none twice."""
    sentences = spoken(words)
    headed = [found.span("items") for found in _HEADED.finditer(words)]

    def listed(one: Sentence) -> bool:
        return one.item and any(start <= one.start < end for start, end in headed)

    if len(words) > TYPED:
        last = len(words) - ENDS
        sentences = [
            one for one in sentences if one.end <= ENDS or one.start >= last or listed(one)
        ]
    spans = list[tuple[int, int]]()
    for place, sentence in enumerate(sentences):
        first = _first(sentences, place)
        condition = sentences[first].plain if _TAKES_BACK.match(sentence.plain) else ""
        said = f"{condition} {sentence.plain}" if first < place else sentence.plain
        if is_rule(said) or listed(sentence):
            last = _last(sentences, place)
            first, last = _noted(words, sentences, first, last)
            if spans and _adjoins(sentences, spans[-1][1], first):
                first = spans.pop()[0]
            spans.append((first, last))
    texts = (_text(words, sentences[first], sentences[last]) for first, last in spans)
    return list(dict.fromkeys(texts))[:MOST_RULES]


def _text(words: str, first: Sentence, last: Sentence) -> str:
    """From one sentence to another, with the list or example that the last one introduces."""
    end = last.end
    if words[:end].endswith(":"):
        begin = end + len(words) - end - len(words[end:].lstrip())
        closing = "\n```" if words.startswith("```", begin) else "\n\n"
        found = words.find(closing, begin, begin + INTRODUCED)
        stop = found + len(closing) if found >= 0 else min(len(words), begin + INTRODUCED)
        end = stop if found >= 0 or stop == len(words) else end
    return words[first.start : end].rstrip()


def _first(sentences: Sequence[Sentence], place: int) -> int:
    """With the sentence before, where this one points back to it, or all of the paragraph."""
    sentence = sentences[place]
    if points_back(sentence.plain):
        return next(i for i, one in enumerate(sentences) if one.paragraph == sentence.paragraph)
    before = sentences[place - 1].plain if place else ""
    joined = _POINTS_BACK.match(sentence.plain) or (
        _TAKES_BACK.match(sentence.plain) and not is_question(before)
    )
    return place - 1 if before and joined else place


def _last(sentences: Sequence[Sentence], place: int) -> int:
    """With the sentences behind that give the reason."""
    last = place
    for following in sentences[place + 1 :]:
        same = following.paragraph == sentences[place].paragraph
        if not same or not _GOES_ON.match(following.plain):
            break
        last += 1
    return last


def _noted(words: str, sentences: Sequence[Sentence], first: int, last: int) -> tuple[int, int]:
    """With all of the line, where that says at its beginning what it is: `CONSTRAINT: …`."""
    start = words.rfind("\n", 0, sentences[first].start) + 1
    end = words.find("\n", sentences[last].end)
    end = len(words) if end < 0 else end
    if end - start > LINE or not CLASS.match(words, start):
        return first, last
    line = [n for n, one in enumerate(sentences) if start <= one.start < end]
    return line[0], line[-1]


def _adjoins(sentences: Sequence[Sentence], last: int, first: int) -> bool:
    """Whether a rule goes on from the one before: items of a list stand alone."""
    if first <= last:
        return True
    same = sentences[last].paragraph == sentences[first].paragraph
    return same and first == last + 1 and not sentences[first].item


def _of_file(note: Note, turn: int) -> Iterator[InstructionGiven]:
    """The lines that say a rule most surely."""
    named = _NAMED.search(note.text[:_NAMED_IN])
    source = named[0] if named else "instructions"
    lines: dict[str, None] = {}
    for sentence in spoken(note.text):
        if is_rule(sentence.plain, standing=True):
            lines[_line(note.text, sentence)] = None
    for line in [line for line in lines if len(line) <= LINE][:MOST_LINES]:
        yield InstructionGiven(turn=turn, by="user", text=line, source=source)


def _line(text: str, sentence: Sentence) -> str:
    start = text.rfind("\n", 0, sentence.start) + 1
    end = text.find("\n", sentence.end)
    line = text[start : len(text) if end < 0 else end]
    item = _ITEM.match(line)
    return line[item.end() if item else 0 :].strip()

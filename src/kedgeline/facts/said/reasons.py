"""Choices an agent states with a reason, in its own sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import dropwhile
from typing import Literal, NamedTuple

from kedgeline.facts.extractor import Setting
from kedgeline.facts.session import is_filler
from kedgeline.model import Answered, Turn
from kedgeline.outcomes import Outcome
from kedgeline.text.prose import cut, first_sentence, one_line, sentences
from kedgeline.text.spoken import at_beginning

MOST = 2
"""Choices taken from one turn: more of them are an explanation."""
SHOWN = 240
"""Characters of a choice, and of its reason."""
LEAST = 20
"""Characters below which a choice says too little to be understood alone."""
SHORTEST = 8
"""The same of one that says that it is a choice: "Decision: use REST"."""
LONGEST = 420
"""Characters of a sentence; longer ones describe."""

_VERBS = (
    "use|keep|go with|stick (?:to|with)|store|put|inline|rename|skip|drop|pass|treat|switch|replace"
    r"|move|leave|revert|return|make|add(?! (?:\w+ ){0,2}tests?\b)|extract|split|merge|remove"
    "|avoid|take|base|expose|hardcode|default|reuse|wrap|place|implement|follow|combine|set|apply"
)
CHOSEN = (
    r"(?:final |key |design |architecture )?decisions?(?: made| taken)?\s*[:—–-]\s*(?=\S)",
    r"(?:i|we)(?:'ve| have)? (?:also |deliberately |intentionally |finally )?"
    r"(?:chose|chosen|opted|decided|agreed|picked|settled|went with|preferred)\b",
)
"""Say themselves that they choose: no reason is needed."""
PLANNED = (
    rf"(?:i'll|i will|we'll|we will|i'm going to|let me|let's|i should|we should) "
    rf"(?:just |also |instead |simply |now |therefore ){{0,2}}(?:{_VERBS})\b",
    r"(?:i|we)(?:'ve| have)? (?:also |deliberately |intentionally )?"
    r"(?:kept|used|left|avoided|skipped)\b",
    r"(?:i'm|we're) (?:using|keeping|going with|storing|leaving|sticking)\b",
    r"(?:the )?(?:simplest|cleanest|best|right|safest|correct|better|least disruptive) "
    r"(?:and [\w ]{3,30} )?(?:fix|approach|way|solution|option|choice|thing)\b[^:]{0,60}?(?: is|:)",
)
"""How a sentence begins that says what the agent chooses to do."""
DONE = (
    r"(?:kept|left|uses?|inlined)\b",
    r"[^,.:;]{3,80} (?:is|are|was|were|isn't|aren't) (?:now |always |also |not |therefore ){0,2}"
    r"(?:used|kept|stored|treated|skipped|inlined|left|ignored|preserved|shared|reused)\b",
)
"""How one begins that says what was done. Before anything was changed it tells how things are."""
FIXES = (
    r"(?:^|[^.]{10,200}, so |so |therefore,? |thus,? )(?:the )?(?:right |practical |real |proper "
    r"|better |cleaner |cleanest |best |simplest )?(?:fix|solution|approach)(?: here)?"
    r" is(?: simple| straightforward| easy)?(?: to|(?::| [—–-])\s{0,2}(?=[a-z]))\s?.{20,}",
    r"(?:so )?option (?:\d|[a-d]) is (?:the )?"
    r"(?:correct|right|best|cleanest|better|simplest)\b.{20,}",
)
"""What is to be done about it. A choice where the agent goes on working."""
_LEADS = (
    r"\W{0,4}(?:(?:so|ok|okay|now|then|also|and|good|great|but|(?:since|given|because|to avoid"
    r"|instead of|rather than) [^,]{3,160},|for (?:now|simplicity),)\s*[,:—–-]?\s*){0,3}"
)
_CHOSEN = re.compile(rf"{_LEADS}(?:{'|'.join(CHOSEN)})", re.IGNORECASE)
_LABEL = re.compile(CHOSEN[0], re.IGNORECASE)
_PLANNED = re.compile(rf"{_LEADS}(?:{'|'.join(PLANNED)})", re.IGNORECASE)
_DONE = re.compile(rf"{_LEADS}(?:{'|'.join(DONE)})", re.IGNORECASE)
_FIXES = re.compile(f"(?:{'|'.join(FIXES)})", re.IGNORECASE)
_OPEN = re.compile(
    r"\b(?:would|could|might|may|if you|you can|you'd|check|look at|see (?:if|what|how)|verify)\b"
    r"|, or\b|\bi bet\b",
    re.IGNORECASE,
)
"""Leave open what is done."""
_REASON = re.compile(
    r",?\s+\(?(?:because|since|so that|as (?:it|this|that|they|we)|to (?:avoid|prevent)"
    r"|in order to)\b",
    re.IGNORECASE,
)
_LEADING = re.compile(
    r"\W{0,4}(?P<reason>(?:since|because|given that|given|to avoid)\b[^,]{3,160}),\s*(?P<rest>.+)",
    re.IGNORECASE,
)
_BEHIND = re.compile(
    r"\W{0,4}(?P<reason>.{0,160}?\b(?:since|because|given)\b.{3,200}?),"
    r"\s+(?:so |and )?"
    rf"(?P<rest>(?:i'll|i will|we'll|we will) (?:just |simply )?(?:{_VERBS})\b.+)",
    re.IGNORECASE,
)
"""The choice behind its reason."""
_CONTRAST = re.compile(
    r"\b(?:instead of|rather than|(?<=, )not)\s"
    r"|\b(?:chose|chosen|picked|preferred) .{1,80}? over\s",
    re.IGNORECASE,
)
_PAUSE = re.compile(r"[,;.()](?:\s|$)|\s(?:because|since|so that|to|for)\s|\s[—–-]\s")
_NO_CHOICE = re.compile(
    r"\b(?:fail(?:s|ed|ing|ure)?|broken|crash\w*|error(?:s|ed)?|bugs?|panics?|flak\w+|typo"
    r"|permission denied|didn't work|doesn't work|no longer needed|timed? ?out|wrong)\b"
    r"|\blet me (?:\w+ )?(?:check|look|see|verify|read|run|start|find|search|try|understand|fix"
    r"|explore|examine|mark|make sure)\b|\b(?:would|could|might|if you|you can|you'd)\b",
    re.IGNORECASE,
)
"""Tell of what happened, of looking, or of what might be done: not of a choice that was made."""


WORDS = (
    *("ecause", "ince ", "so that", "nstead of", "ather than", "iven ", "o avoid", "o prevent"),
    *(" as it", " as this", " as that", " as they", " as we", "in order to"),
    *("fix is", "ix here is", "solution is", "pproach is", "ption ", "ecision", "chose", "opted"),
    *("decided", "agreed", "picked", "settled", "went with", "preferred"),
)
"""One of these stands in any choice that is found; most answers hold none."""


class Stated(NamedTuple):
    choice: str
    reason: str = ""
    rejected: str = ""
    fix: bool = False
    """It says what is to be done about something: the next that says so takes its place, unless
    files were changed in between."""


class Doing(NamedTuple):
    """What the agent does beside its words."""

    changed: bool = False
    """Files were changed since the user spoke."""
    works: bool = False
    """It calls tools in the same turn."""


def stated_in(answer: str, doing: Doing) -> Iterator[Stated]:
    """The choices an answer states, with their reasons; none where it asks which to take."""
    if not any(word in answer for word in WORDS) or answer.rstrip(" *_\n").endswith("?"):
        return
    given = 0
    for sentence in sentences(answer):
        if not any(word in sentence for word in WORDS):
            continue
        stated = _stated(sentence.replace("’", "'"), doing)
        if stated is not None:
            yield stated
            given += 1
        if given == MOST:
            return


def _stated(sentence: str, doing: Doing) -> Stated | None:
    if len(sentence) > LONGEST or sentence.endswith("?") or sentence.startswith("+"):
        return None
    plain = sentence.lstrip("-*• ").replace("**", "")
    if _CHOSEN.match(plain) and not _OPEN.search(plain):
        stated = _split(_LABEL.sub("", plain, count=1))
        return stated if len(stated.choice) >= SHORTEST else None
    if doing.works and _FIXES.match(plain) and not _OPEN.search(plain):
        return _acted(plain)._replace(fix=True)
    begins = _PLANNED.match(plain) or _BEHIND.match(plain) or (doing.changed and _DONE.match(plain))
    if not begins or sentence.endswith(":") or _NO_CHOICE.search(plain):
        return None
    stated = _split(plain)
    told = stated.reason or stated.rejected
    return stated if told and len(stated.choice) >= LEAST else None


def _acted(sentence: str) -> Stated:
    """One that needs no reason: what was done shows that it was meant."""
    before, so, behind = sentence.rpartition(", so ")
    if so and _FIXES.match(behind):
        return Stated(_shown(behind), _shown(before))
    return _split(sentence.rstrip(" :"))


def _split(sentence: str) -> Stated:
    """The choice, its reason where the sentence has one, and what was not taken."""
    leading = _BEHIND.match(sentence) or _LEADING.match(sentence)
    choice, why = (leading["rest"], leading["reason"]) if leading else (sentence, "")
    if not why and (reason := _REASON.search(sentence, LEAST)):
        choice, why = sentence[: reason.start()], sentence[reason.start() :]
    contrast = _CONTRAST.search(choice)
    rejected = _PAUSE.split(choice[contrast.end() :], maxsplit=1)[0] if contrast else ""
    return Stated(_shown(choice), _shown(why), _shown(rejected))


def _shown(text: str) -> str:
    return cut(text.strip(" ,.(—–-"), SHOWN)


# What an answer asks leave to do, and whether a user's words agree to it.

PROPOSALS_SHOWN = 200
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
PROPOSALS_LEAST = 12
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
    if alone and len(what) >= PROPOSALS_LEAST:
        return cut(what, PROPOSALS_SHOWN)
    before = [one for one in said[:place] if not one.endswith((":", "?"))]
    around = said[place + 1 :] or before[-1 if what else -BEFORE :]
    told = cut(" ".join(around).rstrip(" ."), PROPOSALS_SHOWN)
    if not told:
        return what if len(what) >= PROPOSALS_LEAST else ""
    return f"{what}: {told}".lstrip(": ")


def answered(words: str) -> Literal["yes", "no", ""]:
    """Whether words begin by agreeing to what was proposed, or by refusing it."""
    line = one_line(words[: 2 * PROPOSALS_SHOWN]).replace("’", "'")
    if _NO.match(line):
        return "no"
    return "yes" if _YES.match(line) or _FINE.fullmatch(line) else ""


# Closing answers: where the agent says what came of a request and calls nothing more.

ANSWERS_SHOWN = 400
"""Characters of the answer: whole sentences and items, as many as have room."""
WHOLE = 400
"""Characters at its end, where it asks or offers what short words reply to."""
SHORT = 2
"""Words of a sentence that may be left off where it says nothing: `Perfect!`"""
ANSWERS_TAIL = 200
"""Characters at its end in which a question to the user stands."""


class AnswerExtractor:
    def __init__(self, setting: Setting) -> None:
        """Nothing of a session matters here beside the turns."""

    def see(self, turn: Turn, outcomes: Sequence[Outcome]) -> Iterator[Answered]:
        words = turn.assistant_response.strip()
        if words and not turn.tool_calls:
            yield Answered(
                turn=turn.index,
                by="agent",
                text=cut(_opening(words), ANSWERS_SHOWN),
                asks="?" in words[-ANSWERS_TAIL:],
                whole=one_line(words)[-WHOLE:],
            )


def _opening(words: str) -> str:
    """The sentences and items it begins with, without a lead-in that says nothing; what only
    leads to a list is no end."""
    said = list(dropwhile(_leads_in, sentences(words))) or [first_sentence(words)]
    told, length = said[:1], len(said[0])
    for sentence in said[1:]:
        length += len(sentence) + 1
        if length > ANSWERS_SHOWN:
            break
        told.append(sentence)
    while len(told) > 1 and told[-1].endswith(":"):
        told.pop()
    if told[-1].endswith(":") and len(said) > 1:
        told = said[:2]
    return " ".join(told)


def _leads_in(sentence: str) -> bool:
    if sentence.startswith("Done"):
        return False
    leads = sentence.endswith(":") or len(sentence.split()) <= SHORT
    return leads and is_filler(sentence)

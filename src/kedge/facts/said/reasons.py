"""Choices an agent states with a reason, in its own sentences."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import NamedTuple

from kedge.sentences import cut, sentences

MOST = 2
"""Choices taken from one turn: more of them are an explanation."""
SHOWN = 240
"""Characters of a choice, and of its reason."""
LEAST = 20
"""Characters below which a choice says too little to be understood alone."""
LONGEST = 420
"""Characters of a sentence; longer ones describe."""

_VERBS = (
    "use|keep|go with|stick (?:to|with)|store|put|inline|rename|skip|drop|pass|treat|switch|replace"
    r"|move|leave|revert|return|make|add(?! (?:\w+ ){0,2}tests?\b)|extract|split|merge|remove"
    "|avoid|take|base|expose|hardcode|default|reuse|wrap|place|implement|follow|combine|set|apply"
)
PLANNED = (
    # English
    rf"(?:i'll|i will|we'll|we will|i'm going to|let me|let's|i should|we should) "
    rf"(?:just |also |instead |simply |now |therefore ){{0,2}}(?:{_VERBS})\b",
    r"(?:i|we)(?:'ve| have)? (?:also |deliberately |intentionally )?"
    r"(?:chose|opted|decided|picked|kept|used|went with|left|preferred|avoided|skipped)\b",
    r"(?:i'm|we're) (?:using|keeping|going with|storing|leaving|sticking)\b",
    r"(?:the )?(?:simplest|cleanest|best|right|safest|correct|better|least disruptive) "
    r"(?:and [\w ]{3,30} )?(?:fix|approach|way|solution|option|choice|thing)\b[^:]{0,60}?(?: is|:)",
)
"""How a sentence begins that says what the agent chooses to do."""
DONE = (
    # English
    r"(?:changed|replaced|switched|moved|renamed|kept|removed|uses?|inlined|extracted)\b",
    r"[^,.:;]{3,80} (?:is|are|was|were|isn't|aren't) (?:now |always |also |not |therefore ){0,2}"
    r"(?:used|kept|stored|removed|treated|skipped|moved|inlined|passed|left|ignored|preserved"
    r"|watched|shared|reused)\b",
)
"""How one begins that says what was done. Before anything was changed it tells how things are."""
FIXES = (
    # English
    r"(?:^|[^.]{10,200}, so |so |therefore,? |thus,? )(?:the )?(?:right |practical |real |proper "
    r"|better |cleaner |cleanest |best |simplest )?(?:fix|solution|approach)(?: here)?"
    r" is(?: simple| straightforward| easy)?"
    r"(?::| to| -| —)\s.{20,}",
    r"(?:so )?option (?:\d|[a-d]) is (?:the )?"
    r"(?:correct|right|best|cleanest|better|simplest)\b.{20,}",
)
"""What is to be done about it. A choice where the agent goes on working."""
ACTS = (
    # English
    r"(?:now |so |ok(?:ay)?,? |instead,? ){0,2}"
    r"(?:i'll|i will|let me|let's|i need to|i should|now)\b.{3,200}?"
    r"\b(?:instead of|rather than)\s.{3,}",
)
"""What the agent does instead of something. A choice where it does so at once."""
_LEADS = (
    r"\W{0,4}(?:(?:so|ok|okay|now|then|also|and|good|great|but|(?:since|given|because|to avoid"
    r"|instead of|rather than) [^,]{3,160},|for (?:now|simplicity),)\s*[,:—–-]?\s*){0,3}"
)
_PLANNED = re.compile(rf"{_LEADS}(?:{'|'.join(PLANNED)})", re.IGNORECASE)
_DONE = re.compile(rf"{_LEADS}(?:{'|'.join(DONE)})", re.IGNORECASE)
_FIXES = re.compile(f"(?:{'|'.join(FIXES)})", re.IGNORECASE)
_ACTS = re.compile("|".join(ACTS), re.IGNORECASE)
_OPEN = re.compile(
    # English
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
_CONTRAST = re.compile(r"\b(?:instead of|rather than)\s", re.IGNORECASE)
_PAUSE = re.compile(r"[,;.()](?:\s|$)|\s(?:because|since|so that|to)\s|\s[—–-]\s")
_NO_CHOICE = re.compile(
    # English
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
    *("fix is", "ix here is", "solution is", "pproach is", "ption "),
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
    edits: bool = False
    """It changes files in the same turn."""


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
    fix = doing.works and bool(_FIXES.match(plain))
    if (fix or (doing.edits and _ACTS.match(plain))) and not _OPEN.search(plain):
        return _acted(plain)._replace(fix=fix)
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

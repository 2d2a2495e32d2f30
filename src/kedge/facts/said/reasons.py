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
_LEADS = (
    r"\W{0,4}(?:(?:so|ok|okay|now|then|also|and|good|great|but|(?:since|given|because|to avoid"
    r"|instead of|rather than) [^,]{3,160},|for (?:now|simplicity),)\s*[,:—–-]?\s*){0,3}"
)
_PLANNED = re.compile(rf"{_LEADS}(?:{'|'.join(PLANNED)})", re.IGNORECASE)
_DONE = re.compile(rf"{_LEADS}(?:{'|'.join(DONE)})", re.IGNORECASE)
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
)
"""One of these stands in any choice with a reason; most answers hold none."""


class Stated(NamedTuple):
    choice: str
    reason: str = ""
    rejected: str = ""


def stated_in(answer: str, *, changed: bool) -> Iterator[Stated]:
    """The choices an answer states, with their reasons; none where it asks which to take.
    `changed` where files were changed since the user spoke."""
    if not any(word in answer for word in WORDS) or answer.rstrip(" *_\n").endswith("?"):
        return
    given = 0
    for sentence in sentences(answer):
        if not any(word in sentence for word in WORDS):
            continue
        stated = _stated(sentence.replace("’", "'"), changed=changed)
        if stated is not None:
            yield stated
            given += 1
        if given == MOST:
            return


def _stated(sentence: str, *, changed: bool) -> Stated | None:
    if len(sentence) > LONGEST or sentence.endswith(("?", ":")) or sentence.startswith("+"):
        return None
    plain = sentence.lstrip("-*• ")
    begins = _PLANNED.match(plain) or _BEHIND.match(plain) or (changed and _DONE.match(plain))
    if not begins or _NO_CHOICE.search(plain):
        return None
    stated = _split(plain)
    told = stated.reason or stated.rejected
    return stated if told and len(stated.choice) >= LEAST else None


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

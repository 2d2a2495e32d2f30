"""Whether an agent's closing answer reports that something was done, in its own words (English)."""

from __future__ import annotations

import re

HEAD = 600
"""Characters looked at from the beginning of an answer: its first sentences."""
TAIL = 400
"""The same from its end."""
FIRST = 3
"""Sentences from the beginning: answers open with one word of praise, then with the news."""
LAST = 2
"""Sentences from the end: closing offers of further help are one."""
TELLING = 24
"""Characters from which a report says what was done; one like "Done." takes the next sentence
along."""

_PAST = (
    "added|addressed|adjusted|applied|booked|built|bumped|canceled|cancelled|changed|cleaned|"
    "cleared|closed|committed|completed|converted|corrected|created|deleted|deployed|disabled|"
    "documented|downgraded|enabled|exchanged|extended|extracted|finished|fixed|generated|"
    "implemented|improved|installed|integrated|issued|merged|migrated|modified|moved|opened|"
    "ordered|ported|posted|processed|published|pushed|rebased|rebooked|recorded|refactored|"
    "refunded|registered|removed|renamed|replaced|replied|resolved|restored|restructured|returned|"
    "reverted|rewritten|rewrote|saved|scheduled|sent|set|simplified|split|squashed|staged|"
    "submitted|switched|transferred|tweaked|uninstalled|updated|upgraded|uploaded|wired|written|"
    "wrote"
)
_ADVERBS = r"(?: (?:now|all|both|also|just|already|fully|successfully)){0,2}"

_ANYWHERE = re.compile(
    rf"\b(?:i|we)(?:['’]ve| have)?{_ADVERBS} (?:made|{_PAST})\b"
    rf"|\b(?:has|have){_ADVERBS} been{_ADVERBS} (?:{_PAST})\b"
    rf"|\b(?:is|are){_ADVERBS} (?:complete|completed|done|finished|fixed|resolved|in place|merged"
    rf"|pushed|committed|deployed|installed|updated)\b"
    rf"|\b(?:is|are) now (?:\w{{3,20}}ed|up to date|live)\b"
    rf"|\b(?:{_PAST}) successfully\b|\bsuccessfully (?:{_PAST})\b"
    rf"|\bhere(?:['’]s| is) what (?:i|we|was|has been|i['’]ve|we['’]ve) (?:did|done|{_PAST})\b"
    r"|\bsummary of (?:(?:all|the|what|was) ){0,2}(?:changes|fix|fixes|implemented|done|changed)\b"
    r"|\ball (?:\d{1,6} |the )?(?:\w{2,20} ){0,2}tests (?:now )?pass(?:ed)?\b",
    re.IGNORECASE,
)
_OPENING = re.compile(
    rf"^(?:all )?(?:done|set|finished|completed?|{_PAST})\b"
    rf"|^(?:all|both|every) (?:[\w’'-]{{1,30}} ){{1,5}}(?:{_PAST})\b"
    rf"|^(?:pr|pull request|commit|release|changes) (?:{_PAST})\b"
    r"|^(?:[\w’'./-]{1,40} ){1,6}(?:complete|done|finished|fixed|addressed|cleared|resolved)$",
    re.IGNORECASE,
)
"""A sentence that says no more than that; only at the beginning of an answer, for lists of what
could be done look alike."""

_NOT_SO = re.compile(
    r"\b(?:if|once|when|until|unless|before|whether|should|would|will|could|can|might|may|must|not"
    r"|never|cannot|nothing|none|let|need|needs|want|partially|partly|almost|nearly|half)\b"
    r"|n['’]t\b|['’](?:ll|d)\b",
    re.IGNORECASE,
)
"""In the clause of the report, up to it: then it is a condition, a plan or a denial."""
_UNFINISHED = re.compile(
    r"\bnot (?:yet|been|able|fully|complete)\b|\bunable to\b|\bpartially\b|\bto be done\b"
    r"|\b(?:i|we) (?:could not|couldn['’]t|cannot|can['’]t|failed to|still need to)\b"
    r"|\b(?:still|remains?) (?:fail|broken|to be|open|unresolved|need)"
    r"|\b(?:is|are|was|were)(?:n['’]t| not) (?:yet|done|complete|finished|fixed|working)\b"
    r"|\b(?:still )?waiting (?:for|on)\b|\bwhich (?:approach|option)\b|\bprefer\?"
    r"|\bsh(?:all|ould) i (?:go ahead|proceed|continue|start)\b"
    r"|\b(?:want|like) me to (?:go ahead|proceed|continue)\b",
    re.IGNORECASE,
)
"""Anywhere in these sentences: then it is not done, whatever else they say."""

_MARKS = re.compile(r"[*>`~|✓✅✔☑]{1,80}")
_NO_PROSE = re.compile(r"\s{0,20}(?:#|[-+•*]\s|\d{1,3}[.)]\s|\||```)")
"""Headings, items of lists, tables: titles and details, whatever they say."""
_SENTENCE_END = re.compile(r"(?<=[.!?:])\s+|\s+[—–]\s+|\n+")
_CLAUSE_END = re.compile(r"[,;:(]")


def reported_done(answer: str) -> str:
    """The sentence that reports completion, or nothing."""
    first, last = _sentences(answer)
    if any(_UNFINISHED.search(sentence) for sentence in (*first, *last)):
        return ""
    reports = [one for one in first if _reports(one, _OPENING) or _reports(one, _ANYWHERE)]
    reports += [one for one in last if _reports(one, _ANYWHERE)]
    telling = (one for one in reports if len(one) >= TELLING and not one.endswith(":"))
    if (best := next(telling, "")) or not reports:
        return best
    at = first.index(reports[0]) if reports[0] in first else FIRST
    return " ".join([reports[0], *first[at + 1 : at + 2]])


def _reports(sentence: str, form: re.Pattern[str]) -> bool:
    found = None if sentence.endswith("?") else form.search(sentence.rstrip(" .!:"))
    if found is None:
        return False
    clause = _CLAUSE_END.split(sentence[: found.start()])[-1]
    return not _NOT_SO.search(clause + found[0])


def _sentences(answer: str) -> tuple[list[str], list[str]]:
    """The first sentences of an answer, and the last that are not among them."""
    head = _split(answer[:HEAD])
    if len(answer) <= HEAD:
        return head[:FIRST], head[FIRST:][-LAST:]
    tail = _split(answer[max(HEAD, len(answer) - TAIL) :])
    return head[:FIRST], tail[1:][-LAST:]  # the very first may be half a sentence


def _split(text: str) -> list[str]:
    prose = "\n".join(line for line in text.split("\n") if not _NO_PROSE.match(line))
    sentences = _SENTENCE_END.split(_MARKS.sub("", prose))
    return [one for sentence in sentences if (one := sentence.strip())]

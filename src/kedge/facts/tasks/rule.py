"""Which todos a text completes: only those it says so of, in so many words."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

import msgspec

from kedge.facts.session.tool_names import KEY, key_of
from kedge.model import TodoSet

LOOKED_AT = 8_000
"""Characters of a text that are read: a closing answer is shorter."""

_CLAUSE = re.compile(
    r"[.;!?\n|](?:\s|$)|,\s|\s[—–]\s|\s(?:and|but|while|although|though|however|so|then)\s|\n",
    re.IGNORECASE,
)
_QUESTION = re.compile(r"[^.!?\n]{0,400}\?")
"""What is asked is not said."""
_DONE = r"(?:done|completed?|finished)"
_EVIDENCE = ("done", "complete", "finished", "[x]")
"""One of these stands in whatever says that something is done."""
_LINK = r"(?:is|are|was|were|has been|have been|now|all|already|fully|successfully|finally)"
_MARK = r"[\s*_`\"'“”:()\[\]–—✓✔✅-]"
_BEHIND = re.compile(rf"^{_MARK}{{0,6}}(?:{_LINK}\s{{1,3}}){{0,3}}{_DONE}(?P<rest>\b.{{0,60}})$")
_REST = re.compile(rf"^{_MARK}{{0,6}}(?:now|today|already|too|as well)?{_MARK}{{0,6}}$")
"""What may stand behind it: "done today" is done, "complete rewrite" is not."""
_BEFORE = re.compile(
    rf"(?:^|[\s(*]){_DONE}(?:\s(?:with|on|the)){{0,2}}{_MARK}{{1,6}}$|^\s*[-*+]\s\[x\]\s{{1,3}}$"
)
_NOT = re.compile(
    r"\b(?:not|never|no|nothing|none|without|yet|almost|nearly|mostly|partial(?:ly)?|half|until"
    r"|unless|once|if|when|before|after|should|must|need(?:s|ed)?|will|would|could|can|may|might"
    r"|to be|want|try(?:ing)?|waiting|pending|blocked|remain(?:s|ing)?|hardly|barely|isn|aren|wasn"
    r"|weren|hasn|haven|can't|won't|\d{1,2}\s?%)\b|n't\b|\d{1,2}\s?%",
    re.IGNORECASE,
)
"""Anywhere in the clause: then it is not said that it is done."""


def completed_by(
    todos: Iterable[TodoSet], text: str, *, literal: bool = False
) -> tuple[TodoSet, ...]:
    """Copies of todos, those in progress completed that a text says are done.

    The evidence is "done", "complete" or "finished" said of the item itself, in one clause and not
    negated. `literal` is the rule of seed 000 as it stands: an item whose words occur in the text
    counts as done; it is for comparison only.
    """
    return tuple(
        msgspec.structs.replace(todo, status="completed")
        if todo.status == "in_progress" and _completes(todo.text, text, literal=literal)
        else todo
        for todo in todos
    )


def says_done(item: str, text: str) -> bool:
    """Whether a text says of an item that it is done."""
    wanted = key_of(item)
    if not wanted or len(wanted) >= KEY:
        return False
    plain = _plain(text[:LOOKED_AT])
    return wanted in plain and any(_of(wanted, clause) for clause in _CLAUSE.split(plain))


@lru_cache(maxsize=1)
def _plain(text: str) -> str:
    """Without questions and case; nothing where nothing is said to be done. Kept for the next item
    that is looked for in the same text."""
    plain = _QUESTION.sub("", text.replace("’", "'")).casefold()
    return plain if any(word in plain for word in _EVIDENCE) else ""


def _completes(item: str, text: str, *, literal: bool) -> bool:
    return item.lower() in text.lower() if literal else says_done(item, text)


def _of(wanted: str, clause: str) -> bool:
    """Whether a clause says it of what is wanted, and of nothing more."""
    line = " ".join(clause.split(" "))
    at = line.find(wanted)
    if at < 0 or _NOT.search(line):
        return False
    before, behind = line[:at], line[at + len(wanted) :]
    said = _BEHIND.match(behind)
    if said and _REST.match(said["rest"]):
        return not _longer(before)
    return _BEFORE.search(before) is not None and not behind.strip(" *_`\"').")


def _longer(before: str) -> bool:
    """Whether words before the item make another thing of it, as in "the test of …"."""
    words = before.strip(" *_`\"'(:-–—+[]x#0123456789.)").split()
    return len(words) > 1 or (len(words) == 1 and words[0] not in ("the", "our", "task", "item"))

"""The agent's own sentence before a call, and whether it speaks about a change."""

from __future__ import annotations

import re
from collections.abc import Iterable
from posixpath import basename

from kedge.model import CallRef, FileChanged, Text, Turn
from kedge.sentences import cut, sentences

SAID_MOST = 150
WHY_MOST = 120
"""Characters of a sentence that are kept."""
TAIL = 1_500
"""Characters at the end of a text in which its last sentence is looked for."""

_CHANGES = re.compile(
    r"\b(?:(?:add|adjust|append|appl|bump|chang|clean|clear|convert|cop|correct|creat|delet|document"
    r"|drop|edit|extend|extract|fix|implement|inline|insert|introduc|keep|mak|merg|migrat|mov|pass"
    r"|patch|port|refactor|remov|renam|reorder|replac|restor|return|revert|rewrit|set|simplif|split"
    r"|switch|tighten|undo|updat|wir|wrap|writ)"
    r"(?:e|es|ed|d|s|ing|ten|ting|ped|ping|y|ies|ied|ying)?|us(?:e|es|ed|ing))\b",
    re.IGNORECASE,
)
_REMOVES = re.compile(r"\b(?:remov|delet|clean|rm|drop|get rid|no longer)", re.IGNORECASE)
_BEGIN = (
    r"\W*(?:(?:now|first|next|then|also|okay|ok|good|great|perfect|let|me|let's|i'll|i|we|will|need"
    r"|should|want|going|just|quickly|and|so|to)\W+)*"
)
_BEGINS = re.compile(_BEGIN, re.IGNORECASE)
_ONLY_LOOKS = re.compile(
    _BEGIN
    + r"(?:check|look|read|see|view|find|search|understand|examin|explor|inspect|verif|review"
    r"|run|test|confirm|investigat|analy[sz]|debug|compar|trac|commit|push|build|wait|ask|grep|list)"
    r"\w*\b",
    re.IGNORECASE,
)
_NAME = re.compile(r"`[^`]+`|\w\.\w|\w_\w|[a-z][A-Z]|[A-Z]{2}")
FEWEST_WORDS = 5
"""Of a sentence that names nothing: "fix it" and "update the docs" tell less than the change."""


def texts_before(turn: Turn) -> list[str]:
    """For each call of a turn what the agent said last before it."""
    found = [turn.assistant_response] * len(turn.tool_calls)
    said = ""
    for message in turn.messages:
        if message.role != "assistant":
            continue
        for part in message.parts:
            if isinstance(part, Text) and part.text.strip():
                said = part.text
            elif isinstance(part, CallRef) and part.position < len(found):
                found[part.position] = said
    return found


def last_sentence(text: str) -> str:
    """The last sentence of a text, without what closes it; empty for a question or code."""
    tail = text[-TAIL:]
    if len(text) > TAIL:
        tail = tail.partition("\n")[2]
    *_, last = "", *sentences(tail)
    return "" if last.endswith("?") else last.replace("**", "").strip(" *_-#").rstrip(" .:;…")


def why(text: str) -> str:
    return cut(last_sentence(text), WHY_MOST)


def said(text: str, change: FileChanged, others: Iterable[str]) -> str:
    """The last sentence of a text where it speaks about the change of a file; `others` are all
    files the same turn changes: a sentence that names some of them is about those."""
    sentence = last_sentence(text)
    if not sentence or _ONLY_LOOKS.match(sentence) or not _tells(sentence):
        return ""
    if (_REMOVES if change.action == "deleted" else _CHANGES).search(sentence) is None:
        return ""
    named = [other for other in others if basename(other) in sentence]
    return cut(sentence, SAID_MOST) if not named or change.path in named else ""


def _tells(sentence: str) -> bool:
    """Whether it says more than that something will be done: it names something, or has some words
    of its own behind "now let me"."""
    rest = _BEGINS.sub("", sentence, count=1)
    return len(rest.split()) >= FEWEST_WORDS or _NAME.search(rest) is not None

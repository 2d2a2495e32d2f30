"""Questions as they are put: by a user, at the end of an answer, and by a tool that asks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from kedge.model import ToolCall
from kedge.sentences import cut, one_line, sentences
from kedge.spoken import HIDDEN, Sentence, at_beginning, spoken

SHOWN = 200
"""Characters of a question and of an answer."""
WITH_OPTIONS = 300
"""Characters of a question with what can be chosen."""
TAIL = 1_500
"""Characters at the end of an answer in which it asks."""
SHORT = 12
"""Characters below which a question says little without the sentence before: "right?", "why?"."""
QUESTIONS = 4
"""Questions taken of one call or one answer: clients ask no more at once."""
OUTPUT = 8_000
"""Characters of a result in which the user's choices stand."""

_WHICH = at_beginning(
    (
        # English
        r"which\b.{3}",
        r"(?:what|why|how|where|who|whose)(?:'s|'re| (?:is|are|do|does|did|would|should|can|could"
        r"|will|was|were|has|have|many|much|about|kind|sort|else))\b",
    ),
    ending="",
)
"""How a question begins that has lost its mark."""
_TOLD = "tell|explain|say|describe|remind|clarify|elaborate|recommend|suggest|think|expect"
_ASKED_FOR = at_beginning(
    (
        # English
        r"(?!what|why|how|where|who|which)(?:.{0,400}[\s,;])?"
        r"(?:can|could|would|will|won't|can't|couldn't|wouldn't) (?:you|u|we)"
        rf"(?: please| also| just)? (?!{_TOLD})",
        r"(?:please|let's|lets|let us|maybe|how about|what about (?:we|you)|mind)\b",
        r"(?:can|could|may) (?:i|we) (?:have|get|see)\b",
    ),
    ending="",
)
"""A question by its mark only: it asks for something to be done."""
_MARK = re.compile(r"[?？][\"'”’)\]*_`\s!]{0,6}$")
_COURTESY = re.compile(
    r"anything else|something else|(?:help|assist)(?: you)?(?: with)?(?: further| today| more)?\?"
    r"|any (?:other |further |more )?questions|does (?:that|this) (?:help|make sense)\?",
    re.IGNORECASE,
)
_BLOCK = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_ENDED = (".", "!", "?", ":", ";", "…")
_FENCED = re.compile(r"^```.*?^[ \t]*```[^\n]*$", re.DOTALL | re.MULTILINE)
_ITEM = re.compile(r"^\W{0,3}(?:[-*•+]|\d{1,2}[.)]|[A-Da-d][.)])\s|^\*\*(?:\d|[A-D])[.):]")
_LEAD = re.compile(r"^(?:[-*•+>]|\d{1,2}[.)])\s{1,4}")
_REPLY = re.compile(r"<answer>\s{0,9}(.{1,4000}?)\s{0,9}</answer>", re.DOTALL)


class Question(NamedTuple):
    text: str
    options: tuple[str, ...] = ()

    @property
    def shown(self) -> str:
        text = cut(one_line(self.text), SHOWN)
        chosen = " / ".join(self.options)
        return cut(f"{text} ({chosen})", WITH_OPTIONS) if chosen else text


def question_of_user(words: str) -> str:
    """The question a user's words end with, verbatim; nothing where they end with something else,
    or ask for something to be done."""
    said = spoken(words)
    if not said or not any(character.isalpha() for character in said[-1].plain):
        return ""
    last = said[-1]
    before = said[-2] if len(said) > 1 else None
    block = _block_before(words, last) if "```" in words else None
    start, plain = last.start, last.plain
    if block is not None and block.end() > last.start:
        start = block.start()
    if before is not None and block is not None and _goes_on(words, before, block, last):
        start, plain = before.start, f"{before.plain} {last.plain}"
    elif before is not None and len(plain) < SHORT and before.paragraph == last.paragraph:
        start = before.start
    marked = _MARK.search(words[last.start : last.end])
    lost = last.plain[-1] not in ".!:;…" and _WHICH.match(plain)
    if not (marked or lost) or _ASKED_FOR.match(plain):
        return ""
    return cut(one_line(_BLOCK.sub(" … ", words[start : last.end])), SHOWN)


def _block_before(words: str, last: Sentence) -> re.Match[str] | None:
    """The block of code right before a sentence, or in which it begins."""
    for block in _BLOCK.finditer(words, 0, last.end):
        if block.start() <= last.start and not words[block.end() : last.start].strip():
            return block
    return None


def _goes_on(words: str, before: Sentence, block: re.Match[str], last: Sentence) -> bool:
    """Whether a sentence goes on behind a block of code, as in "didn't ```…``` this one work?"."""
    if words[before.end : block.start()].strip():
        return False
    begins = last.plain.lstrip(f"{HIDDEN} ")[:1]
    ended = before.plain.rstrip(f"{HIDDEN} ").endswith(_ENDED)
    return (begins.islower() and not ended) or len(last.plain) < SHORT


def question_at_end(answer: str) -> str:
    """The question an answer closes with; what can be chosen may stand below it as a list."""
    tail = _FENCED.sub("", answer[-TAIL:])
    found: list[str] = []
    for line in reversed([line.strip() for line in tail.split("\n") if line.strip()]):
        said = list(sentences(line))
        asked = said[_behind_statements(said) :]
        if not asked and not found and _ITEM.match(line):
            continue
        if found and len(asked) < len(said):
            break
        found[:0] = [_LEAD.sub("", one).replace("**", "") for one in asked]
        if len(asked) < len(said) or len(found) >= QUESTIONS:
            break
    return cut(" ".join(one for one in found if not _COURTESY.search(one)), SHOWN)


def _behind_statements(said: list[str]) -> int:
    """Where the questions begin that a line ends with."""
    for place in range(len(said), 0, -1):
        if not _MARK.search(said[place - 1]):
            return place
    return 0


def questions_of(call: ToolCall) -> tuple[Question, ...]:
    """The questions a tool puts to the user."""
    listed = call.parameters.get("questions")
    asked = [one for one in listed if isinstance(one, Mapping)] if isinstance(listed, list) else []
    found = (_question(one) for one in (asked or [call.parameters])[:QUESTIONS])
    return tuple(one for one in found if one.text)


def answers_in(call: ToolCall, output: str) -> tuple[str, ...]:
    """The user's answers, one for each question, empty where there is none."""
    questions = questions_of(call)
    text = output[:OUTPUT]
    told = [_quoted(question.text, text) for question in questions]
    if not any(told):
        told = list(_listed(call, text, len(questions)))
    if not any(told) and len(questions) == 1:
        reply = _REPLY.search(text)
        told = [reply[1] if reply else "" if text.lstrip()[:1] in "{[" else text]
    return tuple(cut(one_line(one), SHOWN) for one in told)


def _question(given: Mapping[str, Any]) -> Question:
    text = given.get("question")
    options = given.get("options")
    labels = (
        one.get("label") if isinstance(one, Mapping) else one
        for one in (options if isinstance(options, list) else [])
    )
    return Question(
        text if isinstance(text, str) else "",
        tuple(cut(one_line(label), 60) for label in labels if isinstance(label, str) and label),
    )


def _quoted(question: str, output: str) -> str:
    """The answer in `"question"="answer"`."""
    _, found, behind = output.partition(f'"{question}"="')
    if not found:
        return ""
    ends = [behind.find(end) for end in ('", "', '". ', '" selected', '" user notes')]
    end = min((place for place in ends if place >= 0), default=behind.rfind('"'))
    return behind[:end] if end >= 0 else behind


def _listed(call: ToolCall, output: str, count: int) -> Iterator[str]:
    """Answers given as JSON, by the question's id or its number."""
    try:
        read = msgspec.json.decode(output)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return
    given = read.get("answers") if isinstance(read, dict) else None
    if not isinstance(given, dict):
        return
    asked = call.parameters.get("questions")
    for number in range(count):
        one = asked[number] if isinstance(asked, list) and number < len(asked) else {}
        name = one.get("id") if isinstance(one, Mapping) else None
        yield _words(given.get(str(name if name is not None else number)))


def _words(value: object) -> str:
    if isinstance(value, dict):
        value = value.get("answers", value.get("answer", ""))
    if isinstance(value, list):
        return ", ".join(one for one in value if isinstance(one, str))
    return value if isinstance(value, str) else ""

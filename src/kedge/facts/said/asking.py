"""Questions as they are put: by a user, at the end of an answer, and by a tool that asks."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from kedge.model import ToolCall
from kedge.sentences import cut, one_line, sentences
from kedge.spoken import at_beginning, spoken

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
    marked = _MARK.search(words[last.start : last.end])
    lost = last.plain[-1] not in ".!:;…" and _WHICH.match(last.plain)
    if not (marked or lost) or _ASKED_FOR.match(last.plain):
        return ""
    alone = len(last.plain) < SHORT and len(said) > 1 and said[-2].paragraph == last.paragraph
    start = said[-2].start if alone else last.start
    verbatim = words[start : last.end]
    return cut(one_line(last.plain if "```" in verbatim else verbatim), SHOWN)


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

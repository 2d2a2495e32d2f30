"""Questions: those that a tool or an answer puts to the user, with the answers."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from kedgeline.facts.extractor import (
    EXIT_PLAN,
    Setting,
    first_given,
    object_in,
    plain_name,
    text_key,
)
from kedgeline.facts.todos import blockers_in, plan_title, spoken_words
from kedgeline.model import Asked, Speaker, ToolCall, Turn
from kedgeline.shell import Outcome
from kedgeline.text.prose import cut, first_sentence, one_line, sentences

# Questions that a tool puts to the user, with the answers.

SHOWN = 240
"""Characters of a decision, a question, an answer."""
WITH_OPTIONS = 300
"""Characters of a question with what can be chosen."""
QUESTIONS = 4
"""Questions taken of one call or one answer: clients ask no more at once."""
OUTPUT = 8_000
"""Characters of a result in which the user's choices stand."""
OPTION = 120
"""Characters of an option that are said again."""
_REPLY = re.compile(r"<answer>\s{0,9}(.{1,4000}?)\s{0,9}</answer>", re.DOTALL)
_ANSWER_END = re.compile(
    r"\"(?:, \"|\. (?:You can now|Take|The user)|\.?\s*$| selected| user notes)"
)


class Put(NamedTuple):
    """A question that a tool puts."""

    question: str
    options: Mapping[str, str]
    """What can be chosen, with its description."""
    answer: str = ""
    plain: bool = False
    """The answer is all that the tool gave back, whatever it says."""

    @property
    def shown(self) -> str:
        text = cut(one_line(self.question), SHOWN)
        chosen = " / ".join(cut(one_line(label), 60) for label in self.options)
        return cut(f"{text} ({chosen})", WITH_OPTIONS) if chosen else text


def put_by(call: ToolCall, output: str) -> list[Put]:
    """The questions of a call, each with the user's answer where there is one."""
    listed = call.parameters.get("questions")
    given = [one for one in listed if isinstance(one, Mapping)] if isinstance(listed, list) else []
    given = [one for one in (given or [call.parameters])[:QUESTIONS] if _text(one.get("question"))]
    text = output[:OUTPUT]
    answers = object_in(text).get("answers")
    found = []
    for place, one in enumerate(given):
        question = one["question"]
        answer = _quoted(question, text)
        if not answer and isinstance(answers, dict):
            answer = _in_json(answers, (first_given(one, ("id",)), str(place), question))
        found.append(Put(question, dict(_options(one)), one_line(answer)))
    if len(found) == 1 and not found[0].answer:
        reply = _REPLY.search(text)
        plain = "" if text.lstrip()[:1] in "{[" else text
        found = [found[0]._replace(answer=one_line(reply[1] if reply else plain), plain=not reply)]
    return found


def _options(given: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    options = given.get("options")
    for option in options if isinstance(options, list) else ():
        if isinstance(option, str) and option:
            yield option, ""
        elif isinstance(option, Mapping) and (label := _text(option.get("label"))):
            yield label, _text(option.get("description"))


def _quoted(question: str, output: str) -> str:
    """The answer in `"question"="answer"`."""
    _, found, behind = output.partition(f'"{question}"="')
    end = _ANSWER_END.search(behind) if found else None
    return behind[: end.start()] if end else behind


def _in_json(answers: Mapping[str, Any], names: Iterable[str]) -> str:
    """The answer to a question, which is known by its id, its number or its words."""
    value = next((answers[name] for name in names if name in answers), "")
    if isinstance(value, dict):
        value = value.get("answers", value.get("answer", ""))
    if isinstance(value, list):
        return ", ".join(one for one in value if isinstance(one, str))
    return _text(value)


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


# The question an answer closes with.

READ, TAIL = 64_000, 1_500
"""Characters at the end of an answer that are cut free of code, and of these in which it asks."""
_CODE = re.compile(r"^```.*?(?:^[ \t]*```[^\n]*$|\Z)", re.DOTALL | re.MULTILINE)
_ASKS = re.compile(r"[?？][\"'”’)\]*_`\s!]{0,6}$")
_COURTESY = re.compile(
    r"anything else|something else|(?:help|assist)(?: you)?(?: with)?(?: further| today| more)?\?"
    r"|any (?:other |further |more )?questions|does (?:that|this) (?:help|make sense)\?",
    re.IGNORECASE,
)
_ITEM = re.compile(r"^\W{0,3}(?:[-*•+]|\d{1,2}[.)]|[A-Da-d][.)])\s|^\*\*(?:\d|[A-D])[.):]")
_LEAD = re.compile(r"^(?:[-*•+>]|\d{1,2}[.)])\s{1,4}")
_TO_CHOOSE = re.compile(r"\b(?:like|want|shall|should|prefer|do|which|could|can)\b", re.IGNORECASE)
LEAST = 2
"""Items that are something to choose from."""


def question_at_end(answer: str) -> str:
    """The question an answer closes with; what can be chosen may stand below it as a list, or be
    the list itself."""
    lines = [line.strip() for line in _CODE.sub("", answer[-READ:])[-TAIL:].split("\n")]
    lines = [line for line in lines if line]
    for place, line in reversed([*enumerate(lines)]):
        last = [*sentences(line)][-1:]
        if last and _ASKS.search(last[0]) and not _COURTESY.search(last[0]):
            choice = _choice_of(lines[: place + 1])
            return choice or cut(_LEAD.sub("", last[0]).replace("**", ""), SHOWN)
        if not _ITEM.match(line):
            break
    return ""


def _choice_of(lines: Sequence[str]) -> str:
    """A list at the end with the question it belongs to: "Shall I: 1. … 2. …?"."""
    start = len(lines)
    while start and _ITEM.match(lines[start - 1]):
        start -= 1
    lead = lines[start - 1] if start else ""
    if len(lines) - start < LEAST or not (lead.endswith(":") and _TO_CHOOSE.search(lead)):
        return ""
    return cut(" ".join((lead, *lines[start:])).replace("**", ""), WITH_OPTIONS)


# Questions of the agent's that wait for the user.

BLOCKER = "Blocker: "
"""Before what is in the way: no question, but it waits like one."""


class QuestionExtractor:
    """An agent's question waits for the user's next words; a blocker, until others are said. A
    user's question is a request, and stands there."""

    def __init__(self, setting: Setting) -> None:
        self._waiting: list[Asked] = []
        self._blockers: list[Asked] = []

    def see(self, turn: Turn, outcomes: Sequence[Outcome]) -> Iterator[Asked]:
        if turn.user_message:
            words = cut(one_line(turn.user_message[: SHOWN * 4]), SHOWN)
            yield from (_closed(one, turn, words) for one in self._waiting)
            self._waiting = []
        for outcome in outcomes:
            for question, answer in _put(outcome) if outcome.call.verb == "ask" else ():
                yield from self._ask(turn, question, answer)
        if not turn.tool_calls and (question := question_at_end(turn.assistant_response)):
            yield from self._ask(turn, question, "")
        for by, text in spoken_words(turn):
            if (named := blockers_in(text)) is not None:
                yield from self._blocked(turn, named, by)

    def _ask(self, turn: Turn, question: str, answer: str) -> Iterator[Asked]:
        by: Speaker = "user" if answer else "agent"
        asked = Asked(
            turn=turn.index, by=by, key=text_key(question), question=question, answer=answer
        )
        if not answer:
            self._waiting = [*self._waiting[1 - QUESTIONS :], asked]
        yield asked

    def _blocked(self, turn: Turn, named: Sequence[str], by: Speaker) -> Iterator[Asked]:
        known = {one.key: one for one in self._blockers}
        said = {text_key(one): cut(one, SHOWN) for one in named[:QUESTIONS]}
        for key in known.keys() - said.keys():
            yield _closed(known[key], turn, "not said again")
        self._blockers = [
            known.get(key, Asked(turn=turn.index, by=by, key=key, question=f"{BLOCKER}{what}"))
            for key, what in said.items()
        ]
        yield from (one for one in self._blockers if one.key not in known)


def _closed(asked: Asked, turn: Turn, answer: str) -> Asked:
    return Asked(turn=turn.index, by="user", key=asked.key, question=asked.question, answer=answer)


def _put(outcome: Outcome) -> Iterator[tuple[str, str]]:
    """The questions of a call with their answers: chosen, or in the user's words on refusing."""
    result = outcome.result
    reason = "" if result is None else cut(one_line(result.reason[: SHOWN * 4]), SHOWN)
    output = result.output if result is not None and result.success else ""
    if plain_name(outcome.call) in EXIT_PLAN:
        title = plan_title(_text(outcome.call.parameters.get("plan")))
        named = f"Approve the plan: {cut(title, SHOWN)}?" if title else "Approve the plan?"
        if result is not None and result.refused and not reason:
            named = f"{BLOCKER}the plan was refused without a word: {title or 'no title'}"
        yield named, reason or cut(first_sentence(output[: SHOWN * 4]), SHOWN)
        return
    for put in put_by(outcome.call, output):
        yield put.shown, cut(put.answer, SHOWN) or reason

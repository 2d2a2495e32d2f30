"""Questions that wait, and what answered them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import dropwhile
from typing import Any, NamedTuple

import msgspec

from kedgeline.facts.extractor import Setting, first_text
from kedgeline.facts.session import EXIT_PLAN, key_of, plain_name
from kedgeline.facts.tasks.plans import title_of
from kedgeline.facts.tasks.todos import blockers_in, texts_of
from kedgeline.model import Asked, Speaker, ToolCall, Turn
from kedgeline.outcomes import Outcome
from kedgeline.text.prose import cut, first_sentence, one_line, sentences
from kedgeline.text.spoken import HIDDEN, Sentence, at_beginning, spoken

# Questions as they are put: by a user, at the end of an answer, and by a tool that asks.

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
    id: str = ""

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
        told = [
            answer_in_json(text, (question.id, str(place), question.text))
            for place, question in enumerate(questions)
        ]
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
        first_text(given, ("id",)),
    )


def _quoted(question: str, output: str) -> str:
    """The answer in `"question"="answer"`."""
    _, found, behind = output.partition(f'"{question}"="')
    if not found:
        return ""
    ends = [behind.find(end) for end in ('", "', '". ', '" selected', '" user notes')]
    end = min((place for place in ends if place >= 0), default=behind.rfind('"'))
    return behind[:end] if end >= 0 else behind


def answer_in_json(output: str, names: Iterable[object]) -> str:
    """The answer to a question, which is known by its id, its number or its words."""
    try:
        read = msgspec.json.decode(output)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        return ""
    given = read.get("answers") if isinstance(read, dict) else None
    if not isinstance(given, dict):
        return ""
    value = next((given[name] for name in names if isinstance(name, str) and name in given), "")
    if isinstance(value, dict):
        value = value.get("answers", value.get("answer", ""))
    if isinstance(value, list):
        return ", ".join(one for one in value if isinstance(one, str))
    return value if isinstance(value, str) else ""


SUBSTANCE = 400
"""Characters from which a text answers although calls follow it; a shorter one says what comes
next."""
LOOKED_AT = 8_000
"""Characters of a text in which the answer stands."""
BLOCKER = "Blocker: "
"""Before what is in the way: no question, but it waits like one."""
TELLING = 20
"""Characters from which a sentence answers: "Good question." does not."""

_FILLER = re.compile(
    r"(?:(?:good|great|excellent|fair) (?:question|point|catch)|let me|i'll|i will|sure|ok|okay"
    r"|you(?:'re| are) (?:absolutely )?right)\b",
    re.IGNORECASE,
)

_FOLDED = re.compile(r"^```.*?^[ \t]*```[^\n]*$|<details>.*?</details>", re.DOTALL | re.MULTILINE)
"""Code, and what an export folds away."""
_UNBLOCKED = re.compile(
    r"[^.\n]{0,80}\b(?:unblocked|no longer blocked|blockers? (?:is|are|was|were|has been|have been)"
    r" (?:now )?(?:resolved|gone|removed|fixed|cleared))\b[^.\n]{0,80}",
    re.IGNORECASE,
)
_VERDICT = re.compile(r"\W{0,3}(?:yes|no|yep|nope|correct|right|exactly)\b", re.IGNORECASE)
"""Answers in a word."""


class _Open(NamedTuple):
    key: str
    question: str
    by: Speaker


class QuestionExtractor:
    """A user's question waits for an answer in its exchange, an agent's for the user's next words.

    Where the user goes on, or asks something else, before an answer came, those words take its
    place: the question waits no longer.
    """

    def __init__(self, setting: Setting) -> None:
        self._of_user: list[_Open] = []
        self._of_agent: list[_Open] = []
        self._blockers: list[_Open] = []
        self._exchange = 0

    def see(self, turn: Turn, outcomes: Sequence[Outcome]) -> Iterator[Asked]:
        if turn.user_message:
            yield from self._heard(turn)
        self._exchange = turn.exchange
        speaks = turn.user_message if not turn.agent else ""  # to a sub-agent the agent speaks
        asked = question_of_user(speaks) if speaks else ""
        answer = _answer(turn, outcomes) if asked or self._of_user else ""
        if asked:
            yield from _closed(turn, self._of_user, asked, "user")
        if asked and not answer:
            yield from self._wait(turn, asked, "user")
        elif asked:
            yield Asked(
                turn=turn.index, by="agent", key=key_of(asked), question=asked, answer=answer
            )
        if answer:
            yield from _closed(turn, self._of_user, answer, "agent")
        for outcome in outcomes:
            yield from self._tool(turn, outcome)
        if not turn.tool_calls and (question := question_at_end(turn.assistant_response)):
            yield from self._wait(turn, question, "agent")
        for by, text in texts_of(turn):
            yield from self._blocked(turn, text, by)

    def _blocked(self, turn: Turn, text: str, by: Speaker) -> Iterator[Asked]:
        """What is said to be in the way, until that is said anew or to be gone."""
        named = blockers_in(text)
        gone = _UNBLOCKED.search(text) if self._blockers else None
        if named is None and gone is None:
            return
        kept = {key_of(one) for one in named or ()}
        ended = [one for one in self._blockers if one.key not in kept]
        self._blockers = [one for one in self._blockers if one.key in kept]
        yield from _closed(turn, ended, cut(one_line(gone[0] if gone else text), SHOWN), by)
        for one in (named or ())[:QUESTIONS]:
            if all(known.key != key_of(one) for known in self._blockers):
                said = f"{BLOCKER}{cut(one, SHOWN)}"
                self._blockers.append(_Open(key_of(one), said, by))
                yield Asked(turn=turn.index, by=by, key=key_of(one), question=said)

    def _heard(self, turn: Turn) -> Iterator[Asked]:
        words = cut(one_line(turn.user_message[: SHOWN * 4]), SHOWN)
        yield from _closed(turn, self._of_agent, words, "user")
        if turn.exchange != self._exchange:
            yield from _closed(turn, self._of_user, words, "user")

    def _wait(self, turn: Turn, question: str, by: Speaker) -> Iterator[Asked]:
        waiting = self._of_user if by == "user" else self._of_agent
        one = _Open(key_of(question), question, by)
        kept = [known for known in waiting if known.key != one.key]
        waiting[:] = [*kept[-QUESTIONS + 1 :], one]
        yield Asked(turn=turn.index, by=by, key=one.key, question=question)

    def _tool(self, turn: Turn, outcome: Outcome) -> Iterator[Asked]:
        """What a tool asks; and a question inside the reason for refusing a call."""
        reason = "" if outcome.result is None else outcome.result.reason
        if outcome.call.verb == "ask":
            asked = list(_put_by(outcome))
            for question, answer in asked:
                if answer:
                    key = key_of(question)
                    yield Asked(
                        turn=turn.index, by="user", key=key, question=question, answer=answer
                    )
                else:
                    yield from self._wait(turn, question, "agent")
        if reason and (question := question_of_user(reason)):
            yield from self._wait(turn, question, "user")


def _closed(turn: Turn, waiting: list[_Open], answer: str, by: Speaker) -> Iterator[Asked]:
    for one in waiting:
        yield Asked(turn=turn.index, by=by, key=one.key, question=one.question, answer=answer)
    waiting.clear()


def _put_by(outcome: Outcome) -> Iterator[tuple[str, str]]:
    """The questions of a call with their answers: chosen, or in the user's words on refusing."""
    result = outcome.result
    reason = "" if result is None else cut(one_line(result.reason[: SHOWN * 4]), SHOWN)
    output = result.output if result is not None and result.success else ""
    if plain_name(outcome.call) in EXIT_PLAN:
        plan = outcome.call.parameters.get("plan")
        title = title_of(plan) if isinstance(plan, str) else ""
        named = f"Approve the plan: {cut(title, SHOWN)}?" if title else "Approve the plan?"
        if result is not None and result.refused and not reason:
            named = f"{BLOCKER}the plan was refused without a word: {title or 'no title'}"
        yield named, reason or cut(first_sentence(output[: SHOWN * 4]), SHOWN)
        return
    questions = questions_of(outcome.call)
    answers = answers_in(outcome.call, output) if output else ()
    for number, question in enumerate(questions):
        answer = answers[number] if number < len(answers) else ""
        yield question.shown, answer or reason


def _answer(turn: Turn, outcomes: Sequence[Outcome]) -> str:
    """What a turn answers, in its first sentences; nothing where it only asks back or goes on."""
    for outcome in outcomes:
        plan = outcome.call.parameters.get("plan")
        if plain_name(outcome.call) in EXIT_PLAN and isinstance(plan, str) and plan.strip():
            return cut(f"A plan: {title_of(plan) or first_sentence(plan)}", SHOWN)
    text = _FOLDED.sub("", turn.assistant_response[:LOOKED_AT]).lstrip("-*# \n")
    if turn.tool_calls and len(text) < SUBSTANCE:
        return ""
    said = [one for one in sentences(text) if not one.endswith("?")]
    told = list(dropwhile(lambda one: not _tells(one), said))
    return cut(" ".join(_first_of(told or said)), SHOWN)


def _tells(sentence: str) -> bool:
    if _VERDICT.match(sentence):
        return True
    return len(sentence) >= TELLING and not _FILLER.match(sentence)


def _first_of(said: Sequence[str]) -> Iterator[str]:
    """As many as are shown."""
    length = 0
    for one in said:
        if length >= SHOWN:
            return
        yield one
        length += len(one)

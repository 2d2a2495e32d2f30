"""Questions that wait, and what answered them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from itertools import dropwhile
from typing import NamedTuple

from kedge.facts.extractor import Setting
from kedge.facts.said.asking import (
    QUESTIONS,
    SHOWN,
    answers_in,
    question_at_end,
    question_of_user,
    questions_of,
)
from kedge.facts.session.tool_names import EXIT_PLAN, is_served, key_of, plain_name
from kedge.facts.tasks.plans import title_of
from kedge.model import Asked, Speaker, Turn
from kedge.outcomes import Outcome
from kedge.sentences import cut, first_sentence, one_line, sentences

SUBSTANCE = 400
"""Characters from which a text answers although calls follow it; a shorter one says what comes
next."""
LOOKED_AT = 8_000
"""Characters of a text in which the answer stands."""
TELLING = 20
"""Characters from which a sentence answers: "Good question." does not."""

_FILLER = re.compile(
    r"(?:(?:good|great|excellent|fair) (?:question|point|catch)|let me|i'll|i will|sure|ok|okay"
    r"|you(?:'re| are) (?:absolutely )?right)\b",
    re.IGNORECASE,
)

_FOLDED = re.compile(r"^```.*?^[ \t]*```[^\n]*$|<details>.*?</details>", re.DOTALL | re.MULTILINE)
"""Code, and what an export folds away."""
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
        if outcome.call.verb == "ask" and not is_served(outcome.call):
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

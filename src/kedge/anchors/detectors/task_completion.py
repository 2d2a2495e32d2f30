"""A request was carried out: files changed and tests pass, or the closing answer says so."""

from __future__ import annotations

import re
from collections.abc import Sequence

from kedge.anchors.evidence import (
    Changes,
    Failures,
    named,
    passes,
    shown,
    tests_fail,
    verified_by,
)
from kedge.anchors.reported import reported_done
from kedge.model import AnchorType, Turn
from kedge.outcomes import Outcome, Run

EFFECTS = frozenset(
    {"commit", "push", "pull_request", "merge", "tag", "deploy", "migration", "install"}
)
"""Purposes of commands that change something, also where no file is known to have changed."""
_CHANGING = """
    add append apply approve archive assign book cancel change charge close complete create
    delete deploy disable edit enable exchange generate insert install invite issue make merge
    modify move open order pay place post process publish push put record refund register remove
    rename replace reply reschedule reserve return revoke save schedule send set start stop submit
    transfer update upgrade upload write"""
CHANGING_WORDS = frozenset(_CHANGING.split())
"""What the name of a tool outside the catalogue begins with, when calling it changes something."""
CLOSING_TOOLS = frozenset(
    {"submit", "finish", "attempt_completion", "complete_task", "task_complete"}
)
"""Tools by which an agent hands its work in; it then has no closing answer."""
MOST_EFFECTS = 3
"""Effects remembered of an exchange: a description names no more."""

_PARTS = re.compile(r"__|[./:]")
_WORDS = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")


class TaskCompletion:
    name = "task-completion"
    type: AnchorType = "task_completion"
    confidence = 0.92

    def __init__(self) -> None:
        self._changes = Changes()
        self._failures = Failures()
        self._exchange = 0
        self._effects: list[str] = []
        self._verified = False
        self._reported = False

    def see(self, turn: Turn, outcomes: Sequence[Outcome]) -> str:
        self._begin(turn.exchange)
        if not turn.tool_calls:
            return self._closed(turn.assistant_response)
        found = ""
        for outcome in outcomes:
            self._changes.add(outcome.changed)
            self._failures.take(outcome, self._changes.count)
            found = self._handed_in(outcome) or found
            self._note(outcome)
            for run in outcome.runs:
                found = self._passed(run) or found
        return "" if tests_fail(outcomes) else found

    def _begin(self, exchange: int) -> None:
        if exchange != self._exchange:
            self._exchange = exchange
            self._changes.forget()
            self._effects.clear()
            self._verified = self._reported = False
        self._failures.begin(exchange)

    def _passed(self, run: Run) -> str:
        """The seed's form: files changed and tests pass, with nothing wrong before. The first pass
        of an exchange decides; what ends an error is for others to tell."""
        clear = not self._failures.unanswered
        if run.success is False:
            self._failures.fail(run, self._changes.count)
        elif run.success:
            self._failures.mend(run)
        changed = self._changes.tested_since() if passes(run) else ()
        if not changed or self._verified:
            return ""
        self._verified = True
        return f"{named(changed)} changed and {verified_by(run)}" if clear else ""

    def _closed(self, answer: str) -> str:
        """The general form: the closing answer reports completion, and calls bear it out."""
        done_to = self._done_to()
        sentence = reported_done(answer) if done_to else ""
        self._reported = self._reported or bool(sentence)
        return f"Completed: {shown(sentence)} ({done_to})" if sentence else ""

    def _handed_in(self, outcome: Outcome) -> str:
        """The same without words: the agent hands in what it changed. Often nothing answers, for
        that is the end."""
        closing = outcome.call.verb == "other" and _own_name(outcome) in CLOSING_TOOLS
        answered = outcome.success or outcome.result is None
        done_to = self._done_to() if closing and answered else ""
        self._reported = self._reported or bool(done_to)
        return f"Completed: {_own_name(outcome)} ({done_to})" if done_to else ""

    def _done_to(self) -> str:
        """What the exchange changed; nothing where that was told, or something is left open."""
        if self._reported or self._failures.unanswered:
            return ""
        return named(self._changes.since()) or ", ".join(self._effects)

    def _note(self, outcome: Outcome) -> None:
        if not outcome.success:
            return
        effects: list[str] = [
            run.purpose for run in outcome.runs if run.success and run.purpose in EFFECTS
        ]
        tool = _own_name(outcome)
        if outcome.call.verb == "other" and _changes_something(tool):
            effects.append(tool)
        for effect in effects:
            if effect not in self._effects and len(self._effects) < MOST_EFFECTS:
                self._effects.append(effect)


def _own_name(outcome: Outcome) -> str:
    """The tool's name without that of a server."""
    return _PARTS.split(outcome.call.tool)[-1]


def _changes_something(tool: str) -> bool:
    first = _WORDS.match(tool)
    return first is not None and first[0].lower() in CHANGING_WORDS

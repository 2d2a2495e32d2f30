"""Calls that the user did not let run, and what followed."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

from kedge.facts.errors.runs import only_looks
from kedge.facts.errors.words import (
    against,
    attempt,
    goes_on,
    proposes_plan,
    sends_on,
    went_on,
    why,
)
from kedge.facts.files.paths import Paths
from kedge.facts.said.spoken import said_in
from kedge.model import DeadEnd, ToolCall, Turn
from kedge.outcomes import Outcome
from kedge.outcomes.calls import shell_line

MOST_REFUSED = 2
"""Refused calls given of one turn: the user refused what they do together."""
_CHANGES = frozenset({"edit", "write", "delete", "delegate"})


class _Stopped(NamedTuple):
    call: ToolCall
    refused: bool
    """Otherwise it was interrupted while it ran, or while it waited."""


class Refusals:
    """With the user's reason, a refusal is told at once. Without one, what follows decides: a user
    who stops a call may only want to say something before it."""

    def __init__(self, paths: Paths) -> None:
        self._paths = paths
        self._waiting: tuple[_Stopped, ...] = ()
        """Calls that were stopped without a word, until anybody speaks or acts."""
        self._session = 0

    def before(self, turn: Turn) -> Iterator[DeadEnd]:
        """What a turn tells of the calls stopped before it."""
        if turn.session != self._session:
            self._waiting, self._session = (), turn.session
        if not self._waiting:
            return
        words = _order(turn)
        if not words and not turn.tool_calls and not turn.assistant_response:
            return  # a client's mark that it was interrupted
        stopped, self._waiting = self._waiting, ()
        if not goes_on(words):
            yield from islice(self._told(stopped, turn, words), MOST_REFUSED)

    def _told(self, waiting: Sequence[_Stopped], turn: Turn, words: str) -> Iterator[DeadEnd]:
        for stopped in waiting:
            again = any(_same(stopped.call, call) for call in turn.tool_calls)
            if proposes_plan(stopped.call) or again:  # a plan that is approved is worded so, too
                continue
            reason = _answered(stopped, words) if words else _left(stopped)
            if reason is None or not (what := attempt(stopped.call, self._paths)):
                continue
            how = "refused" if stopped.refused else "stopped"
            yield DeadEnd(turn=turn.index, by="user", what=f"{what}, {how}", why=reason)

    def of(self, turn: Turn, outcomes: Sequence[Outcome]) -> Iterator[DeadEnd]:
        """What is refused in a turn with the user's reason; the others wait."""
        told = 0
        for outcome in outcomes:
            result = outcome.result
            if result is None or not (result.refused or result.interrupted):
                continue
            if not result.reason:
                self._waiting = (*self._waiting, _Stopped(outcome.call, result.refused))
            elif told < MOST_REFUSED and (what := attempt(outcome.call, self._paths)):
                told += 1
                reason = why(result.reason)
                yield DeadEnd(turn=turn.index, by="user", what=f"{what}, refused", why=reason)


def _order(turn: Turn) -> str:
    """What the user said before a turn; of commands, those that start work."""
    said = [one for one in said_in(turn) if one.way != "reason"]
    prompts = [one.text for one in said if not one.command]
    return next(iter([*prompts, *(one.typed for one in said if one.starts_work)]), "")


def _answered(stopped: _Stopped, words: str) -> str | None:
    """Why a call was stopped, where the words that follow show that it was meant; else None. A
    command may have been interrupted for any reason."""
    if stopped.call.verb in _CHANGES or against(words):
        return why(words)
    if not _is_run(stopped) or sends_on(words):
        return None
    return went_on(words)


def _left(stopped: _Stopped) -> str | None:
    """The same where the agent went on: it was told no, and nothing more."""
    meant = stopped.refused and (stopped.call.verb in _CHANGES or _is_run(stopped))
    return "" if meant else None


def _is_run(stopped: _Stopped) -> bool:
    """Whether it is a command that does something, and was refused."""
    line = shell_line(stopped.call)
    return stopped.refused and bool(line) and not only_looks(line)


def _same(one: ToolCall, other: ToolCall) -> bool:
    line = shell_line(one)
    if line:
        return line == shell_line(other)
    return one.tool == other.tool and one.parameters == other.parameters

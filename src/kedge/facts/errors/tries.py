"""Ways of running something that failed before one worked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kedge.facts.errors.failures import Failure
from kedge.facts.errors.open import NEAR, words_of
from kedge.facts.errors.runs import Step
from kedge.facts.errors.scope import scope_of
from kedge.facts.errors.words import WHAT_SHOWN
from kedge.model import Turn
from kedge.outcomes import Outcome
from kedge.outcomes.calls import shell_line
from kedge.sentences import cut, one_line

REMEMBERED = 16
"""Programs whose failed tries are remembered."""
FEWEST = 2
"""Different tries that must have failed; one is a slip."""
MOST = 4
"""Tries kept of each."""
ALIKE = 0.4
"""Share of words that a try has in common with the line that works."""
_TRIED = frozenset({"other", "install", "deploy", "migration"})
"""Purposes whose failing is a matter of how they are run; tests and builds fail for what they
check."""


class _Try(NamedTuple):
    line: str
    error: str
    turn: int


class Tries:
    def __init__(self) -> None:
        self._tried: dict[tuple[str, ...], list[_Try]] = {}
        self._exchange = -1

    def fail(self, turn: Turn, failure: Failure) -> None:
        """Take a command that failed."""
        self._enter(turn)
        step = failure.step
        if step is None or step.run.purpose not in _TRIED or step.ran.looks:
            return
        head = scope_of(step.ran).head[:2]
        tries = self._tried.pop(head, [])
        if all(one.line != failure.about for one in tries):
            error = cut(one_line(failure.told[0].line), 2 * WHAT_SHOWN)
            tries = [*tries, _Try(failure.about, error, turn.index)][-MOST:]
        self._tried[head] = tries
        if len(self._tried) > REMEMBERED:
            del self._tried[next(iter(self._tried))]

    def work(self, turn: Turn, outcome: Outcome, steps: Sequence[Step]) -> tuple[str, str] | None:
        """The tries that a command which works has made needless, and why the last one failed."""
        self._enter(turn)
        line = shell_line(outcome.call)
        for step in steps:
            head = scope_of(step.ran).head[:2]
            if not step.passing or head not in self._tried:
                continue
            tries = [one for one in self._tried.pop(head) if turn.index - one.turn <= 2 * NEAR]
            tries = [one for one in tries if _alike(one.line, line)]
            if len({one.line for one in tries}) >= FEWEST:
                failed = ", ".join(f"`{cut(one.line, WHAT_SHOWN)}`" for one in tries[-FEWEST:])
                works = cut(one_line(line[: 8 * WHAT_SHOWN]), WHAT_SHOWN)
                return f"{failed}; `{works}` works", tries[-1].error
        return None

    def _enter(self, turn: Turn) -> None:
        if turn.exchange != self._exchange:
            self._tried.clear()
            self._exchange = turn.exchange


def _alike(tried: str, line: str) -> bool:
    one, other = words_of(tried), words_of(line)
    return tried != line and len(one & other) >= ALIKE * len(one | other)

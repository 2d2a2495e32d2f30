"""Dead ends: what was tried and dropped."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kedge.facts.errors.changes import named
from kedge.facts.errors.failures import failure_of
from kedge.facts.errors.refusals import Refusals
from kedge.facts.errors.runs import Step, steps_of
from kedge.facts.errors.tries import Tries
from kedge.facts.errors.undone import Edits
from kedge.facts.errors.words import asked_to_undo, undone_by_user, why
from kedge.facts.extractor import Setting
from kedge.facts.files.paths import Paths
from kedge.model import DeadEnd, Turn
from kedge.outcomes import Outcome
from kedge.sentences import cut, one_line

ERROR_SHOWN = 180
"""Characters of an error as a reason."""


class DeadEndExtractor:
    """Gives what the record proves to have been dropped: edits taken back, calls the user refused,
    tries that another one replaced, files deleted again."""

    def __init__(self, setting: Setting) -> None:
        self._paths = Paths(setting.root)
        self._edits = Edits(self._paths)
        self._tries = Tries()
        self._refusals = Refusals(self._paths)
        self._asked = -1
        """The exchange in which the user asked for work to be taken back."""
        self._told = -1
        """The exchange in which an edit was given as taken back: others there belong to it."""
        self._error = ""
        """What went wrong since the last edit."""

    def see(self, turn: Turn, outcomes: Sequence[Outcome]) -> Iterator[DeadEnd]:
        if turn.user_message:
            yield from self._heard(turn)
        yield from self._refusals.before(turn)
        yield from self._refusals.of(turn, outcomes)
        for outcome in outcomes:
            steps = steps_of(outcome)
            for what in self._dropped(turn, outcome, steps):
                yield DeadEnd(turn=turn.index, what=what, why=self._why(turn))
            yield from self._replaced(turn, outcome, steps)
            self._edits.add(outcome, turn.index, turn.exchange)
            if outcome.changed:
                self._error = ""

    def _heard(self, turn: Turn) -> Iterator[DeadEnd]:
        """What the user says of the work before."""
        files = self._edits.of_exchange(turn.exchange)
        if files and (said := undone_by_user(turn.user_message)):
            what = f"changes to {named(files)}, undone by the user"
            yield DeadEnd(turn=turn.index, by="user", what=what, why=why(said))
            self._edits.forget(files)
        elif files and (said := asked_to_undo(turn.user_message)):
            self._asked = turn.exchange
            what = f"part of the work on {named(files)}, which the user asked to undo"
            yield DeadEnd(turn=turn.index, by="user", what=what, why=why(said))

    def _dropped(self, turn: Turn, outcome: Outcome, steps: Sequence[Step]) -> Iterator[str]:
        """What a call takes back, in words."""
        for what, files in self._edits.undone(outcome, steps):
            if files and self._asked != turn.exchange:
                yield what
        taken_back = tuple(self._edits.reversed(outcome))
        if taken_back and turn.exchange not in (self._asked, self._told):
            self._told = turn.exchange
            yield taken_back[0]
        for path, created in self._edits.deleted(outcome, turn.exchange):
            yield f"{path}, created in t{created} and deleted again"

    def _replaced(self, turn: Turn, outcome: Outcome, steps: Sequence[Step]) -> Iterator[DeadEnd]:
        if (given_up := self._tries.work(turn, outcome, steps)) is not None:
            yield DeadEnd(turn=turn.index, what=given_up[0], why=given_up[1])
        failure = failure_of(outcome, steps, self._paths)
        if failure is not None:
            self._tries.fail(turn, failure)
            if not failure.minor:
                self._error = cut(one_line(failure.told[0].line), ERROR_SHOWN)

    def _why(self, turn: Turn) -> str:
        return why(turn.user_message) if turn.user_message else self._error

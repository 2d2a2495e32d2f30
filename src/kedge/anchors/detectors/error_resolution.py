"""An error was open, files were changed, and now a run shows that it is gone.

What a linter complains of is no error: it is put right in passing and not worth holding on to.
"""

from __future__ import annotations

from collections.abc import Sequence

from kedge.anchors.evidence import Changes, Failures, named, passes, tests_fail, verified_by
from kedge.model import AnchorType, Turn
from kedge.outcomes import Outcome, Run


class ErrorResolution:
    name = "error-resolution"
    type: AnchorType = "error_resolution"
    confidence = 0.95

    def __init__(self) -> None:
        self._changes = Changes()
        self._failures = Failures()

    def see(self, turn: Turn, outcomes: Sequence[Outcome]) -> str:
        self._failures.begin(turn.exchange)
        before = self._changes.count
        found = ""
        for outcome in outcomes:
            self._changes.add(outcome.changed)
            self._failures.take(outcome, self._changes.count)
            for run in outcome.runs:
                found = self._resolved(run, before if turn.previous_error else None) or found
        return "" if tests_fail(outcomes) else found

    def _resolved(self, run: Run, before: int | None) -> str:
        """What a run resolves. `before` counts the changes before this turn where the turn is
        known to follow an error that no call of ours told of."""
        if run.success is False:
            self._failures.fail(run, self._changes.count)
        if run.success is not True or (run.purpose == "test" and not passes(run)):
            return ""
        mended = self._failures.mend(run)
        since = [failure.since for failure in mended if failure.purpose != "lint"]
        if before is not None and passes(run):
            since.append(before)
        changed = self._changes.tested_since(min(since)) if since else ()
        return f"Error fixed in {named(changed)} and {verified_by(run)}" if changed else ""

"""Tests pass after files changed since they last did, however many turns lie between."""

from __future__ import annotations

from collections.abc import Sequence

from kedge.anchors.evidence import Changes, named, passes, tests_fail, verified_by
from kedge.model import AnchorType, Turn
from kedge.outcomes import Outcome


class VerifiedTests:
    name = "verified-tests"
    type: AnchorType = "task_completion"
    confidence = 0.92

    def __init__(self) -> None:
        self._changes = Changes()

    def see(self, turn: Turn, outcomes: Sequence[Outcome]) -> str:
        found, failing = "", tests_fail(outcomes)
        for outcome in outcomes:
            self._changes.add(outcome.changed)
            for run in outcome.runs:
                changed = self._changes.tested_since() if passes(run) and not failing else ()
                if changed:
                    found = f"Changes in {named(changed)} verified: {verified_by(run)}"
                    self._changes.forget()
        return found

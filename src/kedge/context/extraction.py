"""The context of a conversation, gathered turn by turn."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from kedge.context.files import ActiveFiles
from kedge.context.goals import Goals
from kedge.context.open_errors import OpenErrors
from kedge.context.statuses import CHECKS, runs_of, status_of
from kedge.model import BuildStatus, PreservationContext, Turn
from kedge.outcomes import Outcome, outcomes_of
from kedge.sentences import one_line

INTENT_SHOWN = 200
"""Characters of the last intent: the seed's number. The request itself is kept verbatim beside the
summary."""
INTENT_CUT = 197
"""What is shown of a longer one."""
INTENT_LOOKED_AT = 4_000
"""Characters looked at, so that blanks folded away leave enough."""


class Extraction:
    """Takes the turns of one conversation in order. What it remembers is bounded, and a turn costs
    the same however many came before."""

    def __init__(self, root: str = "") -> None:
        """`root` is the session's folder: paths below it are shown from there."""
        self._files = ActiveFiles(root)
        self._goals = Goals()
        self._errors = OpenErrors()
        self._build: BuildStatus = "unknown"
        self._intent = ""

    def add(self, turn: Turn, outcomes: Sequence[Outcome]) -> None:
        """Take the next turn, with what its calls came to. Words that wait for an answer are a turn
        without calls."""
        self._hear(turn)
        for outcome in outcomes:
            for touch in outcome.touched:
                self._files.add(touch)
            self._errors.add(outcome)
            for run in runs_of(outcome):
                if run.purpose in CHECKS:
                    self._build = status_of(run) or self._build

    def context(self, *, kept_from: int = 0) -> PreservationContext:
        """What is known by now. Files, errors and the build are those of the whole conversation;
        goals are those of the turns from `kept_from` on, or else the last one before."""
        return PreservationContext(
            active_files=self._files.paths(),
            current_goals=self._goals.since(kept_from),
            error_states=self._errors.lines(),
            build_status=self._build,
            last_user_intent=self._intent,
        )

    def _hear(self, turn: Turn) -> None:
        self._goals.add(turn)
        words = one_line(turn.user_message.lstrip()[:INTENT_LOOKED_AT])
        if words and not turn.agent:
            whole = len(words) <= INTENT_SHOWN
            self._intent = words if whole else words[:INTENT_CUT].rstrip() + "…"


def extract_from_turns(
    turns: Iterable[Turn], *, kept_from: int = 0, root: str = ""
) -> PreservationContext:
    """The context of a conversation at its end; turns from `kept_from` on stay verbatim."""
    extraction = Extraction(root)
    for turn in turns:
        extraction.add(turn, outcomes_of(turn))
    return extraction.context(kept_from=kept_from)

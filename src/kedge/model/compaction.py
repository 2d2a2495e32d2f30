"""The record of one compaction: enough to rebuild the context from the turns, and to judge it."""

from __future__ import annotations

from datetime import datetime

from kedge.model.anchor import Anchor
from kedge.model.flow import MigrationStrategy
from kedge.model.losses import Losses
from kedge.model.plan import Plan
from kedge.model.probe import Verdict
from kedge.model.summary import Summary
from kedge.model.value import Value
from kedge.model.wording import Wording


class Compaction(Value, frozen=True):
    plan: Plan
    summary: str = ""
    """What stands for the folded turns, those of earlier compactions included."""
    state: Summary | None = None
    """All that is known of the folded turns, for the style `anchored`."""
    method: str = "anchored"
    """The style of the summary."""
    strategy: MigrationStrategy = "anchor_point_only"
    anchors: tuple[Anchor, ...] = ()
    first: int = 0
    """Number of the first turn."""
    turns: int = 0
    """How many turns the transcript had."""
    covered_through: int = -1
    """Index of the last turn the summary stands for."""
    counted_as: str = ""
    """What tokens were counted with: two sizes are compared only where it is the same."""
    tokens_before: int = 0
    """Of the whole context: system prompt, turns, words that wait for an answer."""
    tokens_after: int = 0
    """Of the rebuilt context, counted in the same way."""
    summary_tokens: int = 0
    span_tokens: int = 0
    """Of what the summary newly replaces."""
    warnings: tuple[str, ...] = ()
    verdict: Verdict | None = None
    """What the probes found in the summary; none where nothing is folded."""
    losses: Losses | None = None
    """What the summary leaves out, for the style `anchored`."""
    wording: Wording | None = None
    """What a model made of it; none where none was asked."""
    count: int = 0
    """Compactions so far, this one included."""
    at: datetime | None = None
    """When the last one was made, where that is known."""
    name: str = ""
    """The session's, where it is kept: the view says how to find what is not in it."""

    @property
    def context_reduction(self) -> float:
        """Share of the whole context that was freed."""
        return _freed(self.tokens_before, self.tokens_after)

    @property
    def span_reduction(self) -> float:
        """Share of the folded span that its summary saves."""
        return _freed(self.span_tokens, self.summary_tokens)


def _freed(before: int, after: int) -> float:
    return max(0.0, (before - after) / before) if before else 0.0

"""A plan: what will be kept, folded and masked, and why. Pure data, printable before anything
happens.

A cut is a position in the list of turns: the first turn has 0, whatever its index is. Everything
else names turns by their index, as the summary does (t12)."""

from __future__ import annotations

from datetime import datetime
from typing import Literal, get_args

from kedgeline.model.fact import Wording
from kedgeline.model.summary import Losses, Summary, Verdict
from kedgeline.model.turn import Value

# An anchor: a turn worth holding on to.

AnchorType = Literal["error_resolution", "task_completion", "feature_milestone", "user_checkpoint"]
ANCHOR_TYPES: tuple[AnchorType, ...] = get_args(AnchorType)

WEIGHTS: dict[AnchorType, float] = {
    "error_resolution": 0.9,  # an error was fixed, and that was verified
    "task_completion": 0.8,
    "feature_milestone": 0.75,
    "user_checkpoint": 0.7,  # said by the user, or set where nothing natural is found
}
"""BR-002. The weight follows from the type alone; it orders anchors where room is short."""


class Anchor(Value, frozen=True):
    turn_index: int
    type: AnchorType
    confidence: float
    """How sure its detector is, 0 to 1."""
    description: str
    timestamp: datetime | None = None
    """When the turn was, not when it was found."""
    detector: str = ""
    synthetic: bool = False
    """Set at the end because nothing natural was found; it never moves the cut."""

    @property
    def weight(self) -> float:
        return WEIGHTS[self.type]


# What a compaction may spend, in tokens.

NO_LIMIT = 1 << 62
"""More tokens than any session has."""


class Budget(Value, frozen=True):
    """Room for one compaction. `Policy.budget` derives it from a window."""

    usable: int = NO_LIMIT
    """The window without what the answer, the system prompt and the tools take."""
    target: int = NO_LIMIT
    """What the rebuilt context should come to at the most, summary included."""
    recent_turns: int = 3
    """BR-003: at least so many of the newest turns are kept, whatever they cost."""
    summary: int = NO_LIMIT
    """What the summary may have at the most."""
    least_reduction: float = 0.0
    """The share of the context a compaction should free, also where the target asks for less."""

    def room(self, tokens: int, fixed: int = 0) -> int:
        """What may remain of so many tokens, beside `fixed` ones that no compaction touches."""
        return min(self.target, int((tokens + fixed) * (1 - self.least_reduction)) - fixed)


class Span(Value, frozen=True):
    """Turns that follow each other and share a fate."""

    first: int
    """Index of a turn."""
    last: int
    """Index of a turn, included."""
    tokens: int
    reason: str


class Masked(Value, frozen=True):
    """One tool output in a kept turn that is replaced by a shorter text."""

    turn: int
    """Its index."""
    call_id: str
    how: Literal["masked", "shortened"]
    """One line in its place, or its head, its tail and the error lines between."""
    text: str
    """What stands in its place."""
    tokens_before: int
    tokens_after: int
    reason: str


Repeated = Literal["instructions", "environment", "summary", "request"]
"""Rules files as the agent was given them, its surroundings, what another system had put in the
place of turns that are nowhere else, or the user's words."""


class Repeat(Value, frozen=True):
    """Something of a folded turn that is said again word for word, between the summary and the kept
    turns."""

    turn: int
    """Its index."""
    what: Repeated
    tokens: int
    heading: str = ""
    """How the note begins, where a turn holds several and this one only is said again. Empty: all
    of them."""
    most: int = 0
    """Characters that a text is shortened to; 0: whole."""


Level = Literal["whole", "outputs shortened", "words and calls", "statements", "mention"]
"""How much of a turn stands in the rebuilt context, most first. The first two are messages still,
the others text in the turn that leads it."""


class Rendition(Value, frozen=True):
    """Turns that follow each other at one level of detail."""

    first: int
    """Index of a turn."""
    last: int
    """Index of a turn, included."""
    level: Level
    tokens: int
    """Of the turns as they were."""


class Plan(Value, frozen=True):
    cut: int = 0
    """A position in the list of turns, and no index: those before it are folded, it and all after
    it are kept."""
    folded: tuple[Span, ...] = ()
    kept: tuple[Span, ...] = ()
    masked: tuple[Masked, ...] = ()
    """Those of the compaction before included, as far as their turns are kept."""
    repeated: tuple[Repeat, ...] = ()
    anchor: int | None = None
    """The anchor the cut falls on, as the index of its turn."""
    reason: str = ""
    """Why the cut is where it is; or why there is nothing to do."""
    held_up: str = ""
    """What keeps more than should stay; empty where nothing does."""
    tokens_before: int = 0
    tokens_kept: int = 0
    """Of the turns that stay, after masking, and of what is said again."""
    summary_room: int = 0
    """What the summary may have at the most."""
    excess: int = 0
    """Tokens above the target that no step could free."""
    advice: tuple[str, ...] = ()
    """What would help where the budget is not kept."""

    @property
    def over_budget(self) -> bool:
        return self.excess > 0

    @property
    def nothing_to_do(self) -> bool:
        """Whether all stays as it was read. What an earlier compaction masked is not as it was
        read: whether a later one changes anything is in its record."""
        return not self.folded and not self.masked


MigrationStrategy = Literal["anchor_point_only", "legacy_fallback"]
"""How a session that was not recorded by kedgeline is taken over: by its anchors; or, where it has
no tool calls to find any by, by recency alone."""

# The record of one compaction: enough to rebuild the context from the turns, and to judge it.


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
    tokens_kind: str = ""
    """How that is known: counted, reported or estimated."""
    tokens_after: int = 0
    """Of the rebuilt context, counted in the same way."""
    hidden: int = 0
    """Of both: what providers reported beyond all that the session has."""
    summary_tokens: int = 0
    span_tokens: int = 0
    """Of what the summary newly replaces."""
    warnings: tuple[str, ...] = ()
    verdict: Verdict | None = None
    """What the probes found in the summary; none where nothing is folded."""
    renditions: tuple[Rendition, ...] = ()
    """How much of each turn stands in the context, oldest first; of those that this compaction
    saw."""
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

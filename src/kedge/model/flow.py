"""A conversation with what was found in it: anchors, and the context a summary has to preserve."""

from __future__ import annotations

from typing import Literal

from kedge.model.anchor import Anchor
from kedge.model.turn import Turn
from kedge.model.value import Value

BuildStatus = Literal["passing", "failing", "unknown"]
MigrationStrategy = Literal["anchor_point_only", "legacy_fallback"]
"""How a session that was not recorded by kedge is taken over: by its anchors; or, where it has no
tool calls to find any by, by recency alone."""

MOST_FILES = 20
"""Active files: what someone who takes the work over can look through."""
MOST_GOALS = 3
"""Goals, the latest: the seed's number. Older ones have been reached, or given up."""
MOST_ERRORS = 5
"""Open errors, the latest: more than are worked on at once."""


class PreservationContext(Value, frozen=True):
    active_files: tuple[str, ...] = ()
    """Paths as the calls name them, from the session's root on. Those changed come before those
    only read; in each part those worked on last are at the end."""
    current_goals: tuple[str, ...] = ()
    error_states: tuple[str, ...] = ()
    """The telling line of each error that is still open, newest last."""
    build_status: BuildStatus = "unknown"
    """What the latest test or build run came to."""
    last_user_intent: str = ""

    def format_for_summary(self) -> str:
        """One line each; what is not known has none, as nobody could act on it."""
        lines = (
            ("Active files", ", ".join(self.active_files)),
            ("Goals", "; ".join(self.current_goals)),
            ("Build", "" if self.build_status == "unknown" else self.build_status),
            ("Open errors", "; ".join(self.error_states)),
            ("Last intent", self.last_user_intent),
        )
        told = ((name, " ".join(value.split())) for name, value in lines)
        return "\n".join(f"{name}: {value}" for name, value in told if value)


class ConversationFlow(Value, frozen=True):
    turns: tuple[Turn, ...] = ()
    anchor_points: tuple[Anchor, ...] = ()
    """In the order of their turns, the synthetic one among them."""
    total_tokens: int = 0
    preservation_context: PreservationContext = PreservationContext()
    migration_strategy: MigrationStrategy = "anchor_point_only"
    synthetic_anchor: Anchor | None = None

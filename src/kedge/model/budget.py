"""What a compaction may spend, in tokens."""

from __future__ import annotations

from kedge.model.value import Value

NO_LIMIT = 1 << 62
"""More tokens than any session has."""


class Budget(Value, frozen=True):
    """Room for one compaction. `Policy.budget` derives it from a window."""

    usable: int = NO_LIMIT
    """The window without what the answer, the system prompt and the tools take."""
    target: int = NO_LIMIT
    """What the rebuilt context should come to at the most, summary included."""
    recent: int = 0
    """Newest turns are kept up to this many tokens, whatever anchors say."""
    recent_turns: int = 3
    """BR-003: at least so many of the newest turns are kept, whatever they cost."""
    summary: int = NO_LIMIT
    """What the summary may have at the most."""
    least_reduction: float = 0.0
    """The share of the context a compaction should free where a cut allows it (BR-005)."""

    def room(self, tokens: int, fixed: int = 0) -> int:
        """What may remain of so many tokens, beside `fixed` ones that no compaction touches."""
        return min(self.target, int((tokens + fixed) * (1 - self.least_reduction)) - fixed)

"""An anchor: a turn worth holding on to."""

from __future__ import annotations

from datetime import datetime
from typing import Literal, get_args

from kedge.model.value import Value

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

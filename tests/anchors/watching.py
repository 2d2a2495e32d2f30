"""Showing turns to one detector."""

from __future__ import annotations

import pickle
from collections.abc import Callable

from kedgeline.anchors import Detector
from kedgeline.model import Turn
from kedgeline.outcomes import outcomes_of


def seen_by(detector: Detector, *turns: Turn) -> list[str]:
    """What a detector says of each turn."""
    return [detector.see(turn, outcomes_of(turn)) for turn in turns]


def found_by(detector: Detector, *turns: Turn) -> dict[int, str]:
    """The anchors a detector finds, by turn."""
    said = zip(turns, seen_by(detector, *turns), strict=True)
    return {turn.index: words for turn, words in said if words}


def memory_after(detector: Detector, turns: int, make: Callable[[int], Turn]) -> int:
    """Bytes of what a detector remembers after so many turns."""
    for index in range(turns):
        seen_by(detector, make(index))
    return len(pickle.dumps(detector))

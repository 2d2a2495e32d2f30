"""Showing turns to one detector."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

from kedgeline.anchors import Detector
from kedgeline.model import ToolCall, Turn
from kedgeline.shell import outcomes_of
from tests.turns import turn


def talk(*given: Any) -> list[Turn]:
    """Turns in order: steps of one, an answer, or the fields of a turn with its `steps`."""
    turns = []
    for index, one in enumerate(given):
        if isinstance(one, str):
            turns.append(turn(index, says=one))
        elif isinstance(one, dict):
            fields = {name: value for name, value in one.items() if name != "steps"}
            turns.append(turn(index, *one.get("steps", ()), **fields))
        else:
            turns.append(turn(index, *([one] if isinstance(one[0], ToolCall) else one)))
    return turns


def found_by(detector: Detector, *turns: Turn) -> dict[int, str]:
    """The anchors a detector finds, by turn."""
    said = ((one.index, detector.see(one, outcomes_of(one))) for one in turns)
    return {index: words for index, words in said if words}


def memory_after(detector: Detector, turns: int, make: Callable[[int], Turn]) -> int:
    """Bytes of what a detector remembers after so many turns."""
    found_by(detector, *map(make, range(turns)))
    return len(pickle.dumps(detector))

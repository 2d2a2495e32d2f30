"""Finding the turns that matter, turn by turn."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from kedgeline.errors import UnknownName
from kedgeline.model import WEIGHTS, Anchor, AnchorType, Turn
from kedgeline.settings import load_registered, names
from kedgeline.shell import Outcome, outcomes_of

__all__ = [
    "PROFILES",
    "THRESHOLD",
    "Detector",
    "Finder",
    "detect_historical_anchors",
    "registered_detectors",
    "synthetic_checkpoint",
]

# What a detector of anchors is: one small protocol, for ours and for a third party's alike.


class Detector(Protocol):
    """Sees the turns of one conversation in order and says where an anchor is.

    A class is registered; each conversation gets an instance of its own. What an instance
    remembers must not grow with the number of turns.
    """

    name: str
    type: AnchorType
    confidence: float
    """How sure it is of what it reports; a profile may say otherwise."""

    def see(self, turn: Turn, outcomes: Sequence[Outcome]) -> str:
        """Take the next turn, with what its calls came to. The anchor's description where the
        evidence becomes complete in this turn; empty otherwise."""


# How sure detectors are, by name.

THRESHOLD = 0.9
"""BR-001: an anchor counts from this confidence on. Applied to every detector."""

PROFILES: dict[str, Mapping[str, float]] = {
    "standard": {},
    "literal": {"successful-search": 0.85, "command-milestone": 0.88},
}
"""`literal` has the constants of the seed: with the threshold of 0.9 those two stay silent."""


def _profile_named(name: str) -> Mapping[str, float]:
    if name not in PROFILES:
        raise UnknownName("profile", name, known=tuple(PROFILES))
    return PROFILES[name]


_GROUP = "kedgeline.detectors"


def registered_detectors() -> tuple[Detector, ...]:
    """One new instance of every registered detector, in the order of their names."""
    needs = ("name", "type", "confidence", "see")
    return tuple(load_registered(_GROUP, "detector", name, needs=needs)() for name in names(_GROUP))


class Finder:
    """Shows each turn to the detectors. One pass; the cost of a turn does not depend on how many
    came before."""

    def __init__(
        self,
        detectors: Sequence[Detector] | None = None,
        *,
        threshold: float = THRESHOLD,
        profile: str = "standard",
    ) -> None:
        self._detectors = tuple(registered_detectors() if detectors is None else detectors)
        self._threshold = threshold
        self._profile = _profile_named(profile)

    def add(self, turn: Turn, outcomes: Sequence[Outcome] | None = None) -> Anchor | None:
        """The turn's anchor. Every detector sees every turn; the heaviest finding counts, then the
        surest, then the first by name. `outcomes` are the turn's own, where they are known."""
        outcomes = outcomes_of(turn) if outcomes is None else outcomes
        found = [
            (detector, confidence, description)
            for detector in self._detectors
            if (description := detector.see(turn, outcomes))
            and (confidence := self._confidence(detector)) >= self._threshold
        ]
        if not found:
            return None
        detector, confidence, description = max(
            found, key=lambda one: (WEIGHTS[one[0].type], one[1])
        )
        return Anchor(
            turn_index=turn.index,
            type=detector.type,
            confidence=confidence,
            description=description,
            timestamp=turn.timestamp,
            detector=detector.name,
        )

    def _confidence(self, detector: Detector) -> float:
        return self._profile.get(detector.name, detector.confidence)


def detect_historical_anchors(
    turns: Iterable[Turn], *, threshold: float = THRESHOLD, profile: str = "standard"
) -> tuple[Anchor, ...]:
    """The anchors of a session that is over: the same pass, at once."""
    finder = Finder(threshold=threshold, profile=profile)
    return tuple(anchor for turn in turns if (anchor := finder.add(turn)) is not None)


def synthetic_checkpoint(turns: Sequence[Turn]) -> Anchor:
    """BR-004: the end of a conversation in which nothing natural was found."""
    last = turns[-1]
    return Anchor(
        turn_index=last.index,
        type="user_checkpoint",
        confidence=1.0,
        description="Synthetic checkpoint at the end of the conversation",
        timestamp=last.timestamp,
        detector="synthetic",
        synthetic=True,
    )

"""What a detector of anchors is: one small protocol, for ours and for a third party's alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

from kedge.model import AnchorType, Turn
from kedge.outcomes import Outcome


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

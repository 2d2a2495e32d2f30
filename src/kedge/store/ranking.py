"""How well a passage answers a query: the formula BM25, without the rarity of words. All phrases
must be in a passage, so a rare one is in all that are compared."""

from __future__ import annotations

from collections.abc import Iterable

SATURATION = 1.2
LENGTH_WEIGHT = 0.75
"""The two constants as they are used everywhere: how soon further hits count for little, and how
much a passage's length takes from them."""


def score_of(hits: Iterable[int], size: int, average: float) -> float:
    """From how often each phrase stands in a passage, its words and those of an average one."""
    damping = SATURATION * (1 - LENGTH_WEIGHT + LENGTH_WEIGHT * size / max(1.0, average))
    return sum(count * (SATURATION + 1) / (count + damping) for count in hits)

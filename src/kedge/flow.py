"""A conversation with what is found in it, in one pass."""

from __future__ import annotations

from collections.abc import Sequence

from kedge.anchors import THRESHOLD, Finder, synthetic_checkpoint
from kedge.context import Extraction
from kedge.model import Anchor, ConversationFlow, Turn
from kedge.outcomes import OutcomesOf, outcomes_of


def flow_of(
    turns: Sequence[Turn],
    *,
    root: str = "",
    threshold: float = THRESHOLD,
    profile: str = "standard",
    outcomes: OutcomesOf = outcomes_of,
) -> ConversationFlow:
    """Anchors and context of a conversation; a synthetic checkpoint where it has no anchor.

    One without a single tool call is taken over by recency alone: its anchors are named, and none
    of them moves the cut. `outcomes` is where those of the turns are known, or kept for others."""
    finder = Finder(threshold=threshold, profile=profile)
    extraction = Extraction(root=root)
    anchors: list[Anchor] = []
    for turn in turns:
        if turn.is_blank:
            continue
        came_of = outcomes(turn)
        extraction.add(turn, came_of)
        if (anchor := finder.add(turn, came_of)) is not None:
            anchors.append(anchor)
    synthetic = synthetic_checkpoint(turns) if turns and not anchors else None
    structured = any(turn.tool_calls for turn in turns)
    return ConversationFlow(
        turns=tuple(turns),
        anchor_points=tuple(anchors) if synthetic is None else (synthetic,),
        total_tokens=sum(turn.tokens for turn in turns),
        preservation_context=extraction.context(),
        migration_strategy="anchor_point_only" if structured else "legacy_fallback",
        synthetic_anchor=synthetic,
    )

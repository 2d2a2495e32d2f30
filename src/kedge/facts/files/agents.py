"""The turns of the sub-agent that a call started."""

from __future__ import annotations

from collections.abc import Iterator

from kedge.facts.extractor import Setting
from kedge.model import Turn
from kedge.outcomes import Outcome

DEEPEST = 3
"""Sub-agents of sub-agents that are followed; clients allow one level, some two."""
MOST_TURNS = 500
"""Turns of a sub-agent that are looked at; the longest seen have a hundred."""


def agent_turns(
    setting: Setting, outcome: Outcome, depth: int
) -> Iterator[tuple[Turn, tuple[Outcome, ...]]]:
    transcript = setting.agents.get(outcome.call.id)
    if transcript is None or depth >= DEEPEST:
        return
    for turn in transcript.turns[:MOST_TURNS]:
        yield turn, setting.outcomes(turn)

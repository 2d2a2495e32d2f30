"""What was handed on to sub-agents, and what came of it: their word, no fact."""

from __future__ import annotations

from collections.abc import Iterator

from kedge.model import AgentReported
from kedge.model.summary import Summary
from kedge.summary.items import FIRST, OPEN, THEN, Item
from kedge.summary.salience import salience

SHOWN = 40
"""Tasks that are told, the newest: of more, the older ones have been worked on."""
UNDER_WAY = 3
"""Reports on what is under way that every hand-off tells: the newest."""
WAITING = "has not reported"
"""Of one that is at work still, as far as is known."""


def delegated(summary: Summary) -> Iterator[Item]:
    """A line for each task, with the turns in which it was handed on and reported on."""
    groups = [group for group in summary.agents_now() if _told(group[-1])][-SHOWN:]
    asked = summary.requests
    opened = max((one.turn for one in asked if one.scope == "new"), default=0)
    place = 0
    for group in reversed(groups):
        last = group[-1]
        turns = tuple(one.turn for one in group)
        if last.state == "running":
            worth, tier = salience("sub-agent at work"), OPEN
        elif asked and last.turn >= opened and place < UNDER_WAY:
            worth, tier = salience("report under way", place=place), FIRST
            place += 1
        else:
            worth, tier = salience("report of a sub-agent"), THEN
        yield Item("Current State", _told(last), turns, tier, worth)


def _told(last: AgentReported) -> str:
    """Empty where nothing is to be told: it never began, or nothing is known of it."""
    if last.state == "running":
        named = f" {last.agent}" if last.agent else ""
        return f"Sub-agent{named}, {last.task}: {WAITING}"
    if last.state == "stopped":
        said = f": {last.report}" if last.report else ""
        return f"Sub-agent, {last.task}: stopped before it was done{said}"
    if last.state == "refused" or (not last.report and last.success is None):
        return ""
    failed = "FAILED: " if last.success is False else ""
    return f"Sub-agent, {last.task}: {failed}{last.report or 'it reported nothing'}"

"""Decisions with their reasons; one that was replaced stays, marked."""

from __future__ import annotations

from collections.abc import Iterator

from kedge.model import Decided, Speaker
from kedge.model.summary import Summary
from kedge.summary.items import OPEN, THEN, Item
from kedge.summary.salience import salience

WHO: dict[Speaker, str] = {"user": "", "agent": "Agent: ", "tool": "By an edit: "}
"""How a choice begins that the user did not make: nobody may take it for theirs."""


def decisions(summary: Summary) -> Iterator[Item]:
    rules = {rule.text for rule in summary.instructions}
    for made in summary.decisions_now():
        latest = made[-1]
        if latest.decision in rules:
            continue  # it stands among the instructions
        turns = tuple(sorted({turn for one in made for turn in _turns(one)}))
        replaced = dict.fromkeys(one.decision for one in made if one.decision != latest.decision)
        text = WHO[latest.by] + _told(latest)
        if replaced:
            text += f". Superseded: {'; '.join(replaced)}"
        by_user = latest.by == "user"
        kind = "decision of the user" if by_user else "decision of the agent"
        yield Item(
            "Decisions Made",
            text,
            turns,
            tier=OPEN if by_user else THEN,
            worth=salience(kind, recent=latest.turn / (summary.through + 2)),
        )


def _told(decision: Decided) -> str:
    text = decision.decision
    if decision.rationale:
        text += f" ({decision.rationale})"
    if decision.rejected:
        text += f"{'' if text.endswith('.') else '.'} Not taken: {decision.rejected}"
    return text


def _turns(decision: Decided) -> tuple[int, ...]:
    """Where it was made, and where it was laid before the user."""
    return (decision.offered, decision.turn) if decision.offered >= 0 else (decision.turn,)

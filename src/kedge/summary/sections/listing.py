"""All sections together."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from kedge.model.summary import Entry, SectionName, Summary
from kedge.summary.items import ALWAYS, FIRST, OPEN, THEN, Item
from kedge.summary.salience import salience
from kedge.summary.sections.commands import commands
from kedge.summary.sections.decisions import decisions
from kedge.summary.sections.errors import errors
from kedge.summary.sections.files import files, reads
from kedge.summary.sections.index import index
from kedge.summary.sections.intent import Standing, instructions, intent
from kedge.summary.sections.next_steps import next_steps, questions
from kedge.summary.sections.state import state
from kedge.summary.sections.wordings import wordings

TIERS: dict[SectionName, int] = {
    "Standing Instructions": ALWAYS,
    "Files Modified": OPEN,
    "Decisions Made": OPEN,
    "Session Intent": FIRST,
    "Current State": FIRST,
    "Next Steps": FIRST,
}
"""Tiers of what an earlier text told: rules stay whatever the budget."""


def items_of(summary: Summary, standing: Standing = "here") -> list[Item]:
    """All there is to render, section by section; what an earlier text told comes first."""
    parts = (
        partial(intent, standing=standing),
        partial(instructions, standing=standing),
        files,
        reads,
        decisions,
        state,
        questions,
        errors,
        next_steps,
        commands,
        index,
        wordings,
    )
    carried = list(_carried(summary))
    earlier = {(item.section, item.text): item for item in carried}
    found = [
        _joined(item, earlier.get((item.section, item.text)))
        for part in parts
        for item in part(summary)
    ]
    known = {(item.section, item.text) for item in found}
    return [*(item for item in carried if (item.section, item.text) not in known), *found]


def _tier(entry: Entry) -> int:
    waits = entry.text.startswith("OPEN") or "(in progress)" in entry.text
    return OPEN if waits else TIERS.get(entry.section, THEN)


def _joined(item: Item, earlier: Item | None) -> Item:
    """A file with what an earlier text told of it: one that was created is created still."""
    if earlier is None or item.section != "Files Modified":
        return item
    created = earlier.action == "created" and item.action in ("modified", "created")
    detail = "; ".join(part for part in (earlier.detail, item.detail) if part)
    return item._replace(
        action="created" if created else item.action,
        detail=detail,
        turns=tuple(dict.fromkeys((*earlier.turns, *item.turns))),
    )


def _carried(summary: Summary) -> Iterator[Item]:
    """Entries of an earlier text: each is worth what a fact of medium age is worth."""
    for entry in summary.carried:
        yield Item(
            entry.section,
            entry.text,
            entry.turns,
            tier=_tier(entry),
            worth=salience("earlier text"),
            action=entry.action,
            detail=entry.detail,
            topic=entry.topic,
        )

"""All sections together."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from kedge.model.summary import Summary
from kedge.summary.items import ALWAYS, FIRST, THEN, Item
from kedge.summary.salience import salience
from kedge.summary.sections.commands import commands
from kedge.summary.sections.decisions import decisions
from kedge.summary.sections.errors import errors
from kedge.summary.sections.files import files, reads
from kedge.summary.sections.index import index
from kedge.summary.sections.intent import Standing, instructions, intent
from kedge.summary.sections.next_steps import next_steps, questions
from kedge.summary.sections.state import state

URGENT = ("Session Intent", "Files Modified", "Current State", "Next Steps")
"""Sections of an earlier text that every hand-off needs."""


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
    )
    found = [item for part in parts for item in part(summary)]
    known = {(item.section, item.text) for item in found}
    return [*(item for item in _carried(summary) if (item.section, item.text) not in known), *found]


def _carried(summary: Summary) -> Iterator[Item]:
    """Entries of an earlier text: rules stay whatever the budget, the rest is worth what a fact of
    medium age is worth."""
    for entry in summary.carried:
        rule = entry.section == "Standing Instructions"
        yield Item(
            entry.section,
            entry.text,
            entry.turns,
            tier=ALWAYS if rule else FIRST if entry.section in URGENT else THEN,
            worth=salience("earlier text"),
            action=entry.action,
            detail=entry.detail,
            topic=entry.topic,
        )

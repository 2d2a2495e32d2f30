"""Errors that are open, how others were resolved, and ways that led nowhere."""

from __future__ import annotations

from collections.abc import Iterator

from kedge.model import ErrorResolved, ErrorSeen
from kedge.model.summary import Summary
from kedge.summary.items import FIRST, OPEN, THEN, Item
from kedge.summary.salience import salience

RECENT = 0.7
"""Share of the session behind which an error that is open may still stand in the way."""


def errors(summary: Summary) -> Iterator[Item]:
    for events in summary.errors.values():
        seen = [event for event in events if isinstance(event, ErrorSeen)]
        if not seen:
            continue
        latest = seen[-1]
        resolved = events[-1] if isinstance(events[-1], ErrorResolved) else None
        turns = tuple(event.turn for event in seen)
        recent = latest.turn / (summary.through + 2)
        where = f" at {', '.join(latest.places)}" if latest.places else ""
        about = f" in `{latest.about}`" if latest.about and not latest.places else ""
        if resolved is None:
            text = f"OPEN: {latest.line}{where}{about}"
            tier = OPEN if recent >= RECENT else FIRST
            yield Item(
                "Error Context", text, turns, tier, worth=salience("open error", recent=recent)
            )
        else:
            text = f"Resolved: {latest.line}{where}: {resolved.how}"
            worth = salience("resolved error", recent=recent)
            yield Item("Error Context", text, (*turns, resolved.turn), THEN, worth=worth)
    for way in summary.dead_ends:
        text = f"Dead end: {way.what}" + (f": {way.why}" if way.why else "")
        yield Item("Error Context", text, (way.turn,), THEN, worth=salience("dead end"))

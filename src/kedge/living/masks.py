"""Outputs that a compaction replaced in kept turns: only where they are still what they were."""

from __future__ import annotations

from msgspec.structs import replace

from kedge.living.growing import written
from kedge.living.journal import Journal
from kedge.living.values import Recorded
from kedge.model import Compaction, Turn

CHANGED = 0
"""In the place of an entry's number: the turn was another one when the compaction was ready."""


def masked_entries(journal: Journal, made: Compaction, head: int) -> tuple[tuple[int, int], ...]:
    """The turns with replaced outputs and the entries these were read from. `head` is the last
    entry that there was then."""
    found = []
    for index in sorted({one.turn for one in made.plan.masked}):
        place = journal.place(index)
        found.append((index, place.number if place and place.number <= head else CHANGED))
    return tuple(found)


def as_it_stands(journal: Journal, record: Recorded) -> Recorded:
    """The record without what it put in the place of outputs that are others now: the user rewound
    a kept turn, and what came then may have the same number and the same call id."""
    if not record.masked:
        return record
    numbers = dict(record.masked)
    stand = {place.index: place for place in journal.places(min(numbers), max(numbers))}
    same: dict[int, set[str]] = {}
    for index, number in numbers.items():
        place = stand.get(index)
        if place is None or number == CHANGED:
            same[index] = set()
        elif place.number != number:
            same[index] = _same(written(journal, index, number), journal.turn(place))
    if not same:
        return record
    plan = record.compaction.plan
    masked = tuple(one for one in plan.masked if one.call_id in same.get(one.turn, (one.call_id,)))
    compaction = replace(record.compaction, plan=replace(plan, masked=masked))
    return replace(record, compaction=compaction)


def _same(before: Turn, now: Turn) -> set[str]:
    """Calls that gave back the same in both."""
    was = {one.call_id: (one.output, one.error, one.media) for one in before.tool_results}
    return {
        one.call_id
        for one in now.tool_results
        if was.get(one.call_id) == (one.output, one.error, one.media)
    }

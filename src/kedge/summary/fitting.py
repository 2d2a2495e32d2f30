"""Spending a token budget where it buys most."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from math import inf
from typing import NamedTuple

from kedge.model.summary import SectionName
from kedge.summary.items import ALWAYS, FIRST, WORDS, Item
from kedge.summary.markdown import render

Count = Callable[[str], int]
"""Tokens of a text."""

DETAIL_WORTH = {"Files Modified": 20.0, "Files Read (Not Modified)": 0.5, "Index": 0.1}
"""What the detail of an item is worth, against the items of the last tier: what changed in a file
much, why one was read little. For the index it is a share of the name's own worth."""
FIRST_BOOST = 2.0
"""How much more an item counts that every hand-off needs."""
LENGTH = 0.85
"""How much length counts against worth: at 1 only short names would be taken, at 0 long prose."""
LENGTHS: dict[SectionName, float] = {"Session Intent": 0.2, "Error Context": 0.7}
"""Where it counts less: what the user asked in a sentence says more than what they said in a word,
and no error is short."""


class Step(NamedTuple):
    """One thing more in a rendering: an item, or the detail of one that is there."""

    position: int
    detail: bool
    tier: int
    density: float


Wanted = Mapping[tuple[int, bool], int]
"""Positions of items that are asked for, and whether with their detail, to how urgently: 0 for what
comes before all else that is wanted."""
NOTHING_WANTED: Wanted = {}


class Fitted(NamedTuple):
    items: tuple[Item, ...]
    left_out: dict[SectionName, int]

    @property
    def text(self) -> str:
        return render(self.items, self.left_out)


def fit(
    items: Sequence[Item],
    room: int,
    count: Count,
    wanted: Wanted = NOTHING_WANTED,
    *,
    besides: int = 0,
) -> Fitted:
    """As much as a room holds, in the order of worth; what no budget cuts is there in any case.

    Items that are `wanted` come before all others; or, where there are so many tokens `besides`,
    they are added to what fits without them. What stands in a smaller room stands in a larger one:
    both are beginnings of one order.
    """
    steps = ordered(items, count)
    if not wanted:
        return _first(items, steps[: _fitting(items, steps, room, count)])
    if not besides:
        steps.sort(key=lambda step: _urgency(step, wanted))
        return _first(items, steps[: _fitting(items, steps, room, count)])
    least = _fitting(items, steps, room, count)
    added = [step for step in steps[least:] if _urgency(step, wanted) < inf]
    steps = [*steps[:least], *sorted(added, key=lambda step: _urgency(step, wanted))]
    return _first(items, steps[: _fitting(items, steps, room + besides, count, least)])


def _fitting(
    items: Sequence[Item], steps: Sequence[Step], room: int, count: Count, least: int = 0
) -> int:
    """How many of the steps fit; at least so many, and those that no budget cuts."""
    least = max(least, sum(step.tier == ALWAYS and not step.detail for step in steps))
    if count(_rendered(items, steps)) <= room:
        return len(steps)
    sizes = range(least, len(steps) + 1)
    fitting = bisect_right(sizes, room, key=lambda size: count(_rendered(items, steps[:size])))
    return least + max(0, fitting - 1)


def ordered(items: Sequence[Item], count: Count) -> list[Step]:
    """All steps, the first ones first. It does not depend on a budget."""
    steps: list[Step] = []
    for position, item in enumerate(items):
        boost = FIRST_BOOST if item.tier == FIRST else 1.0
        length = LENGTHS.get(item.section, LENGTH)
        density = boost * item.worth / max(1, count(item.text)) ** length
        tier = WORDS if item.tier == WORDS else min(item.tier, FIRST)
        steps.append(Step(position, False, tier, density))
        if item.detail:
            worth = DETAIL_WORTH.get(item.section, 1.0)
            if item.section == "Index":
                worth *= item.worth
            density = min(density, worth / max(1, count(item.detail)) ** LENGTH)
            steps.append(Step(position, True, FIRST, density))
    return sorted(steps, key=lambda step: (step.tier, -step.density, step.position, step.detail))


def _urgency(step: Step, wanted: Wanted) -> float:
    """Smaller for what comes first; an item whose detail is wanted is wanted itself."""
    if step.tier == ALWAYS and not step.detail:
        return -1
    whole = wanted.get((step.position, True), inf)
    return whole if step.detail else min(whole, wanted.get((step.position, False), inf))


def _rendered(items: Sequence[Item], steps: Sequence[Step]) -> str:
    return _first(items, steps).text


def _first(items: Sequence[Item], steps: Sequence[Step]) -> Fitted:
    there = {step.position for step in steps if not step.detail}
    detailed = {step.position for step in steps if step.detail}
    chosen = tuple(
        item if position in detailed else item._replace(detail="")
        for position, item in enumerate(items)
        if position in there
    )
    left = (item for n, item in enumerate(items) if n not in there and item.tier != WORDS)
    gone = Counter(item.section for item in left)
    return Fitted(chosen, dict(gone))

"""The loss report: what is known of the folded turns and does not stand in the text."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from kedge.matching import plain
from kedge.model import Entry, Losses, Lost, Plan, SectionName
from kedge.steps.draft import Told
from kedge.summary import as_entry, entries_of, items_of
from kedge.summary.items import WORDS, Item

_MARKS = re.compile(r"\[t[\dt, -]{1,200}\]")
NAMED = 12
"""Entries that are told by name: a screen of them."""


def losses_of(plan: Plan, told: Told) -> Losses | None:
    """None for a style that keeps no state: it cannot say what it left out."""
    if told.state is None:
        return None
    shown = {(one.section, _head(one.section, one.text)): one for one in _shown(told)}
    items = [item for item in items_of(told.state, told.standing) if item.tier != WORDS]
    gone = [item for item in items if (item.section, _head(item.section, item.text)) not in shown]
    gone.sort(key=lambda item: (item.tier, -item.worth))
    folded = sum(span.last - span.first + 1 for span in plan.folded)
    return Losses(
        turns=folded,
        tokens=sum(span.tokens for span in plan.folded),
        earlier=max(0, told.state.through + 1 - folded),
        left_out=dict(Counter(item.section for item in gone)),
        undetailed=sum(
            _is_bare(item, shown.get((item.section, plain(item.text)))) for item in items
        ),
        named=tuple(
            Lost(
                section=item.section,
                text=f"{item.topic}: {item.text}" if item.topic else item.text,
                turn=max(item.turns, default=-1),
            )
            for item in gone[:NAMED]
        ),
    )


def _shown(told: Told) -> Iterable[Entry]:
    """What stands in the text: as it was put there, or else as it reads."""
    return map(as_entry, told.items) if told.items else entries_of(told.text)


def _is_bare(item: Item, there: Entry | None) -> bool:
    """Whether a file stands in the table with nothing but the turns it was changed in."""
    if item.section != "Files Modified" or there is None or not item.detail:
        return False
    return not _MARKS.sub("", there.detail).strip()


def _head(section: SectionName, text: str) -> str:
    """What an entry is about, without the reason that stands behind a file that was read."""
    return plain(text.partition(": ")[0] if section == "Files Read (Not Modified)" else text)

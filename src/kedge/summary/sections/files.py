"""Files: the net effect of all changes to each, and what was only read."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from kedge.foreign import unmarked
from kedge.model import FileChanged, FileRead
from kedge.model.fact import standing
from kedge.model.summary import Summary
from kedge.sentences import cut
from kedge.summary.items import OPEN, THEN, Item, cited
from kedge.summary.salience import salience

_USED = re.compile(
    r"(?:with|without|imports|no longer imports|in `[^`]*`: with(?:out)?)\b|“|`.{0,200}` → "
)
"""A change that says what is used now, or quotes a line: less telling than what came and went."""
CHANGES_SHOWN = 4
"""Changes of one file told apart; the others are one of the turns."""
DETAIL_SHOWN = 320
"""Characters of what changed in one file."""
WHY_SHOWN = 120
"""Characters of why a file was read."""


def files(summary: Summary) -> Iterator[Item]:
    """One row per file that is different now; created then deleted is nothing."""
    for path, events in summary.files_now().items():
        action = net(events)
        if not action or all(event.scratch for event in events):
            continue
        turns = tuple(event.turn for event in events)
        yield Item(
            "Files Modified",
            path,
            turns,
            tier=OPEN,
            worth=salience("file changed", recent=_recent(turns, summary), again=len(turns) - 1),
            action=action,
            detail=_detail(events),
        )


def net(events: Sequence[FileChanged]) -> str:
    """What became of a file in all; nothing where it came and went, or all was taken back."""
    events = standing(events)
    if not events:
        return ""
    created = events[0].action == "created"
    last = events[-1].action
    if last == "deleted":
        return "" if created else "deleted"
    if created:
        return "created"
    return "renamed" if any(event.action == "renamed" for event in events) else "modified"


def reads(summary: Summary) -> Iterator[Item]:
    """Files that were read and are as they were."""
    changed = {path for path, events in summary.files.items() if net(events)}
    for path, sights in summary.reads.items():
        if path in changed:
            continue
        turns = tuple(sight.turn for sight in sights)
        yield Item(
            "Files Read (Not Modified)",
            path,
            turns,
            tier=THEN,
            worth=salience("file read", recent=_recent(turns, summary), again=len(turns) - 1),
            detail=_why(sights),
        )


def changes(events: Sequence[FileChanged]) -> dict[str, list[int]]:
    """What changed, each change once, with its turns, in the order of the last of them."""
    told: dict[str, list[int]] = {}
    for event in events:
        words = unmarked(event.what or event.said)
        if event.source == "outside":
            words = f"by the user, outside the session: {words}" if words else "by the user"
        elif event.source == "agent":
            words = f"by a sub-agent: {words}" if words else "by a sub-agent"
        if event.action == "renamed":
            before = unmarked(event.renamed_from)
            words = f"renamed from {before}" + (f"; {words}" if words else "")
        if words:
            told[words] = [*told.pop(words, []), event.turn]
    return told


def _detail(events: Sequence[FileChanged]) -> str:
    """The newest change, and of those before it what came and went by name before what is only
    used; in their order, as many as there is room for."""
    told = list(changes(events).items())
    order = sorted(
        range(len(told)), key=lambda n: (n != len(told) - 1, bool(_USED.match(told[n][0])), -n)
    )
    chosen: list[int] = []
    for place in order[:CHANGES_SHOWN]:
        if len(_listed(told, [*chosen, place])) > DETAIL_SHOWN and chosen:
            break
        chosen.append(place)
    return cut(_listed(told, chosen), DETAIL_SHOWN)


def _listed(told: Sequence[tuple[str, list[int]]], chosen: Sequence[int]) -> str:
    return "; ".join(f"{told[n][0]} {cited(told[n][1])}" for n in sorted(chosen))


def _recent(turns: Sequence[int], summary: Summary) -> float:
    return max(turns) / (summary.through + 2)


def _why(sights: Sequence[FileRead]) -> str:
    lines = dict.fromkeys(sight.lines for sight in sights if sight.lines)
    why = next((sight.why for sight in reversed(sights) if sight.why), "")
    parts = (f"lines {', '.join([*lines][-3:])}" if lines else "", cut(why, WHY_SHOWN))
    return "; ".join(part for part in parts if part)

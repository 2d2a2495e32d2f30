"""Files: the net effect of all changes to each, and what was only read."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kedge.model import FileChanged, FileRead
from kedge.model.summary import Summary
from kedge.sentences import cut
from kedge.summary.items import FIRST, THEN, Item, cited
from kedge.summary.salience import salience

CHANGES_SHOWN = 4
"""Changes of one file told apart; those before them are one of the turns."""
DETAIL_SHOWN = 320
"""Characters of what changed in one file."""
WHY_SHOWN = 120
"""Characters of why a file was read."""


def files(summary: Summary) -> Iterator[Item]:
    """One row per file that is different now; created then deleted is nothing."""
    for path, events in by_name_now(summary).items():
        action = net(events)
        if not action or all(event.scratch for event in events):
            continue
        turns = tuple(event.turn for event in events)
        yield Item(
            "Files Modified",
            path,
            turns,
            tier=FIRST,
            worth=salience("file changed", recent=_recent(turns, summary), again=len(turns) - 1),
            action=action,
            detail=_detail(events),
        )


def net(events: Sequence[FileChanged]) -> str:
    """What became of a file in all; nothing where it came and went."""
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


def by_name_now(summary: Summary) -> dict[str, tuple[FileChanged, ...]]:
    """Events by the name a file has now."""
    found = dict(summary.files)
    for path, events in summary.files.items():
        for event in events:
            if event.renamed_from and event.renamed_from in found:
                before = found.pop(event.renamed_from)
                found[path] = (*before, *(one for one in found[path] if one not in before))
    return {path: tuple(sorted(events, key=lambda one: one.turn)) for path, events in found.items()}


def changes(events: Sequence[FileChanged]) -> dict[str, list[int]]:
    """What changed, each change once, with its turns."""
    told: dict[str, list[int]] = {}
    for event in events:
        words = event.what or event.said
        if event.source == "outside":
            words = f"by the user, outside the session: {words}" if words else "by the user"
        if event.action == "renamed":
            words = f"renamed from {event.renamed_from}" + (f"; {words}" if words else "")
        if words:
            told.setdefault(words, []).append(event.turn)
    return told


def _detail(events: Sequence[FileChanged]) -> str:
    """The newest changes told apart."""
    parts = [f"{words} {cited(turns)}" for words, turns in changes(events).items()]
    return cut("; ".join(parts[-CHANGES_SHOWN:]), DETAIL_SHOWN)


def _recent(turns: Sequence[int], summary: Summary) -> float:
    return max(turns) / (summary.through + 2)


def _why(sights: Sequence[FileRead]) -> str:
    lines = dict.fromkeys(sight.lines for sight in sights if sight.lines)
    why = next((sight.why for sight in reversed(sights) if sight.why), "")
    parts = (f"lines {', '.join([*lines][-3:])}" if lines else "", cut(why, WHY_SHOWN))
    return "; ".join(part for part in parts if part)

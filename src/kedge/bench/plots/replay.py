"""Plots of `kedge bench replay`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from kedge.bench.plots.dots import SHARES, Dot, panels, tens
from kedge.bench.plots.picture import Picture
from kedge.bench.replay.boundaries import Where
from kedge.bench.replay.measuring import UNLIMITED, Group, Replay
from kedge.bench.replay.report import PLACES, ROOMS

NAMES = "names"
MEASURES = {
    "names": "needed names",
    "pairs": "file and name together",
    "commands": "commands run again",
    "request": "last request",
    "files": "changed files",
    "files_f1": "file and action, F1",
}
"""Of the picture of one budget, and what they are called there."""
TASK = "task_tokens_staying"
"""What is fetched again stays, like everything else: paid for once, a text that keeps nothing would
come out cheapest."""
INTERVALS = "Dots are means over cuts, lines 95 % intervals over sessions."


def replay_pictures(found: Replay) -> list[Picture]:
    """All that the values allow."""
    pictures = [_names(found), *_measures(found), _task(found)]
    return [picture for picture in pictures if picture is not None]


def _names(found: Replay) -> Picture | None:
    """Needed names kept, a panel for every sort of cut and budget."""
    dots = [
        dot
        for group in found.groups
        if group.budget != UNLIMITED
        for dot in _dots(_place(group), group, NAMES)
    ]
    if not dots:
        return None
    title = "Needed names that stand in what the agent goes on from"
    made = panels(dots, SHARES, title=title, subtitle=[INTERVALS])
    return Picture("replay-names", f"{title}, by method and budget.", made)


def _measures(found: Replay) -> Iterator[Picture]:
    """One picture for every sort of cut, at its first budget."""
    for where, group in _first(found.groups).items():
        dots = [dot for measure, label in MEASURES.items() for dot in _dots(label, group, measure)]
        if dots:
            title = f"What is kept at {_place(group)}"
            made = panels(dots, SHARES, title=title, subtitle=[INTERVALS])
            yield Picture(f"replay-{where}", f"{title}, by method and measure.", made)


def _task(found: Replay) -> Picture | None:
    """What a task costs, methods that keep to no budget beside those that do."""
    chosen = _first(found.groups)
    dots = [
        dot
        for where, group in chosen.items()
        for one in found.groups
        if one.where == where and one.budget in (UNLIMITED, group.budget)
        for dot in _dots(_place(group), one, TASK)
        if dot.low > 0  # a logarithm has no place for nothing
    ]
    if not dots:
        return None
    title = "Tokens per task"
    told = "What is carried at every step, what was lost and is fetched again included."
    made = panels(dots, tens(dots, "tokens per task"), title=title, subtitle=[told, INTERVALS])
    return Picture("replay-tokens", f"{title} by method. {told}", made)


def _first(groups: Iterable[Group]) -> Mapping[Where, Group]:
    """For every sort of cut the group that is shown where only one can be: of real cuts the one at
    the length of the recorded summary, of fair ones the smallest budget."""
    chosen: dict[Where, Group] = {}
    for group in sorted(groups, key=lambda one: one.budget):
        if group.budget != UNLIMITED:
            chosen.setdefault(group.where, group)
    return chosen


def _dots(panel: str, group: Group, measure: str) -> Iterator[Dot]:
    for one in group.methods:
        if mean := one.means.get(measure):
            yield Dot(panel, one.method, mean.mean, mean.low, mean.high)


def _place(group: Group) -> str:
    room = ROOMS.get(group.budget, f"{group.budget:,} tokens")
    return f"{PLACES[group.where]} cuts, {room}"

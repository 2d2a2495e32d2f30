"""Dots with intervals, a panel for each thing measured: the plots of `kedgeline bench replay`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from bench.pictures import Picture, Specification
from bench.replay.measuring import UNLIMITED, Group, Replay
from bench.replay.names import Where
from bench.replay.report import PLACES, ROOMS

# Panels of dots with intervals: one row per method, one panel per thing measured.

COLOURS = {
    "no compaction": "#222222",
    "recorded summary": "#D55E00",
    "names only": "#767676",
}
"""Of methods, the same in all plots. They are told apart by the name of their row, so that colours
need not be seen to read a plot."""
FAMILIES = (("kedgeline", "#0072B2"), ("masking", "#00805D"))
"""By how the name of a method begins."""
TRUNCATION = "#AA4499"
"""Of all others: ways to leave turns out."""
LEADING = "kedgeline"
"""Its rows are set in bold."""
PANEL_WIDTH, ROW_HEIGHT = 190, 19
"""Pixels: three panels and the names of the methods are as wide as a page."""
COLUMNS = 3
SPACING = 36
"""Pixels between panels: numbers at the ends of two axes stand apart."""
DOT = 55
"""Area in pixels: larger than the line of an interval, smaller than a row."""


class Dot(NamedTuple):
    panel: str
    method: str
    mean: float
    low: float
    high: float


class Scale(NamedTuple):
    title: str
    form: str
    """How numbers are written, in the language of d3."""
    marks: tuple[float, ...]
    """Numbers that are written, the ends of the scale among them."""


SHARES = Scale("share kept", ".1~f", (0.0, 0.2, 0.4, 0.6, 0.8, 1.0))


def panels(
    dots: Sequence[Dot], scale: Scale, *, title: str, subtitle: Sequence[str]
) -> Specification:
    """Panels and methods in the order in which the dots name them first; a line of panels never
    has an empty place."""
    order = list(dict.fromkeys(dot.panel for dot in dots))
    lines = [order[first : first + COLUMNS] for first in range(0, len(order), COLUMNS)]
    return {
        "title": {"text": title, "subtitle": list(subtitle)},
        "vconcat": [_line([dot for dot in dots if dot.panel in line], scale) for line in lines],
    }


def _line(dots: Sequence[Dot], scale: Scale) -> Specification:
    order = list(dict.fromkeys(dot.panel for dot in dots))
    methods = list(dict.fromkeys(dot.method for dot in dots))
    return {
        "data": {"values": [dot._asdict() for dot in dots]},
        "facet": {"field": "panel", "type": "ordinal", "sort": order, "title": None},
        "columns": len(order),
        "spacing": SPACING,
        "spec": {
            "width": PANEL_WIDTH,
            "height": {"step": ROW_HEIGHT},
            "encoding": {"y": _rows(methods), "color": _colours(methods)},
            "layer": [
                {
                    "mark": {"type": "rule", "strokeWidth": 2},
                    "encoding": {"x": _across(scale, "low"), "x2": {"field": "high"}},
                },
                {
                    "mark": {"type": "point", "filled": True, "size": DOT, "opacity": 1},
                    "encoding": {"x": _across(scale, "mean")},
                },
            ],
        },
    }


def colour(method: str) -> str:
    """The same for one method in every plot, whatever stands beside it."""
    family = (paint for begins, paint in FAMILIES if method.startswith(begins))
    return COLOURS.get(method) or next(family, TRUNCATION)


def _rows(methods: Sequence[str]) -> Specification:
    bold = {"test": f"indexof(datum.value, '{LEADING}') === 0", "value": "bold"}
    return {
        "field": "method",
        "type": "nominal",
        "sort": methods,
        "title": None,
        "axis": {
            "grid": True,
            "ticks": False,
            "domain": False,
            "labelPadding": 8,
            "labelFontWeight": {"condition": bold, "value": "normal"},
        },
    }


def _colours(methods: Sequence[str]) -> Specification:
    scale = {"domain": methods, "range": [colour(one) for one in methods]}
    return {"field": "method", "type": "nominal", "legend": None, "scale": scale}


def _across(scale: Scale, field: str) -> Specification:
    return {
        "field": field,
        "type": "quantitative",
        "title": scale.title,
        "scale": {"domain": [scale.marks[0], scale.marks[-1]]},
        "axis": {"format": scale.form, "values": list(scale.marks), "labelOverlap": True},
    }


NAMES = "names"
MEASURES = {
    "names": "needed names",
    "commands": "commands run again",
    "request": "last request",
    "files": "changed files",
    "files_f1": "file and action, F1",
}
"""Of the picture of one budget, and what they are called there."""
INTERVALS = "Dots are means over cuts, lines 95 % intervals over sessions."


def replay_pictures(found: Replay) -> list[Picture]:
    """All that the values allow."""
    names = _names(found)
    return [*([names] if names else []), *_measures(found)]


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

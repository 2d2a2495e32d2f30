"""Panels of dots with intervals: one row per method, one panel per thing measured."""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil, floor, log10
from typing import NamedTuple

from kedge.bench.plots.picture import Specification

COLOURS = {
    "no compaction": "#222222",
    "recorded summary": "#D55E00",
    "names only": "#767676",
}
"""Of methods, the same in all plots. They are told apart by the name of their row, so that colours
need not be seen to read a plot."""
FAMILIES = (("kedge", "#0072B2"), ("masking", "#00805D"))
"""By how the name of a method begins."""
TRUNCATION = "#AA4499"
"""Of all others: ways to leave turns out."""
LEADING = "kedge"
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
    logarithmic: bool = False


SHARES = Scale("share kept", ".1~f", (0.0, 0.2, 0.4, 0.6, 0.8, 1.0))


def tens(dots: Sequence[Dot], title: str) -> Scale:
    """A logarithmic scale that holds all of the dots, marked at powers of ten."""
    low = floor(log10(min(dot.low for dot in dots)))
    high = max(low + 1, ceil(log10(max(dot.high for dot in dots))))
    marks = tuple(10.0**power for power in range(low, high + 1))
    return Scale(title, "~s", marks, logarithmic=True)


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
        "scale": {
            "type": "log" if scale.logarithmic else "linear",
            "domain": [scale.marks[0], scale.marks[-1]],
        },
        "axis": {"format": scale.form, "values": list(scale.marks), "labelOverlap": True},
    }

"""Quality on the six dimensions, beside the targets and the best that was published."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from kedge.bench.plots.dots import DOT, colour
from kedge.bench.plots.picture import INK, Picture, Specification

LEAST, MOST = 0.0, 5.0
"""Ends of the scale."""
WIDTH, ROW_HEIGHT = 460, 34
KEDGE, TARGET, PUBLISHED = "kedge", "target", "best published"
COLOURS = {KEDGE: colour("kedge"), TARGET: INK, PUBLISHED: colour("recorded summary")}
SHAPES = {KEDGE: "circle", TARGET: "M-.2,-2H.2V2H-.2Z", PUBLISHED: "diamond"}
"""A target is a bar across the row."""
CAPTION = (
    "kedge: by probes with known answers, after the summary was repaired with the same probes; the",
    "line is the 95 % interval over sessions.",
    "Best published: evaluation by Factory, December 2025, on other sessions and by a model as",
    "judge. The method is a different one: the two are no comparison of like with like.",
)
TITLE = "Quality on six dimensions, from 0 to 5"


class DimensionRow(NamedTuple):
    dimension: str
    mean: float
    low: float
    high: float
    target: float
    published: float


def dimensions_plot(rows: Sequence[DimensionRow]) -> Picture:
    """One row per dimension, in the order given."""
    marks = [
        {"dimension": row.dimension.replace("_", " "), "what": what, "score": score}
        for row in rows
        for what, score in ((TARGET, row.target), (PUBLISHED, row.published), (KEDGE, row.mean))
    ]
    spans = [
        {"dimension": row.dimension.replace("_", " "), "low": row.low, "high": row.high}
        for row in rows
    ]
    made: Specification = {
        "title": {"text": TITLE, "subtitle": list(CAPTION)},
        "width": WIDTH,
        "height": {"step": ROW_HEIGHT},
        "encoding": {"y": _down([row.dimension.replace("_", " ") for row in rows])},
        "layer": [
            {
                "data": {"values": spans},
                "mark": {"type": "rule", "strokeWidth": 2, "color": COLOURS[KEDGE]},
                "encoding": {"x": _across("low"), "x2": {"field": "high"}},
            },
            {
                "data": {"values": marks},
                "mark": {"type": "point", "filled": True, "size": 2 * DOT, "opacity": 1},
                "encoding": {"x": _across("score"), **_kinds()},
            },
        ],
    }
    told = "; ".join(
        f"{row.dimension.replace('_', ' ')} {row.mean:.2f} (target {row.target:.1f})"
        for row in rows
    )
    return Picture("probes-dimensions", f"{TITLE}: {told}. {' '.join(CAPTION)}", made)


def _down(names: Sequence[str]) -> Specification:
    axis = {"grid": True, "ticks": False, "domain": False, "labelPadding": 8}
    return {"field": "dimension", "type": "nominal", "sort": names, "title": None, "axis": axis}


def _across(field: str) -> Specification:
    scale = {"domain": [LEAST, MOST]}
    return {"field": field, "type": "quantitative", "title": "score", "scale": scale}


def _kinds() -> Specification:
    """Colour and shape of a mark, in one legend."""
    legend = {"orient": "top", "title": None, "symbolSize": 2 * DOT, "columnPadding": 28}
    return {
        channel: {
            "field": "what",
            "type": "nominal",
            "scale": {"domain": list(of), "range": list(of.values())},
            "legend": legend,
        }
        for channel, of in (("color", COLOURS), ("shape", SHAPES))
    }

"""Tokens by agent as a picture."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kedge.bench.plots.picture import Picture, Specification, drawn
from kedge.economy.report import money, several

if TYPE_CHECKING:
    from kedge.economy.report import Report

MOST = 20
"""Agents that are drawn, those with most tokens first; a picture of more cannot be read."""
KINDS = {
    "cache read": ("cache_read", "#0072B2"),
    "cache write": ("cache_write", "#E69F00"),
    "input": ("input", "#767676"),
    "output": ("output", "#AA4499"),
}
"""Kinds of tokens with their colours, which can be told apart without seeing all of them."""
WIDTH, ROW = 420, 22
"""Pixels."""


def drawn_cost(report: Report) -> str:
    """The picture as SVG."""
    values = [
        {"agent": row.name, "kind": kind, "tokens": getattr(row.spent.tokens, field)}
        for row in sorted(report.agents, key=lambda row: -row.spent.tokens.context)[:MOST]
        for kind, (field, _) in KINDS.items()
    ]
    total = report.total
    used = total.spent.tokens
    said = (
        f"{several(total.spent.messages, 'message')}, {used.context + used.output:,} tokens, "
        f"{money(total.cost)}"
    )
    left = len(report.agents) - MOST
    more = [f"left out: {several(left, 'further agent')}"] if left > 0 else []
    return drawn(
        Picture("cost", f"Tokens by agent: {said}.", _specification(values, [said, *more]))
    )


def _specification(values: list[dict[str, object]], subtitle: list[str]) -> Specification:
    agents = list(dict.fromkeys(value["agent"] for value in values))
    colours = {"domain": list(KINDS), "range": [colour for _, colour in KINDS.values()]}
    return {
        "title": {"text": "Tokens by agent", "subtitle": subtitle},
        "data": {"values": values},
        "mark": "bar",
        "width": WIDTH,
        "height": {"step": ROW},
        "encoding": {
            "y": {"field": "agent", "type": "nominal", "sort": agents, "title": None},
            "x": {
                "field": "tokens",
                "type": "quantitative",
                "title": "tokens",
                "axis": {"format": "~s"},
            },
            "color": {"field": "kind", "type": "nominal", "title": None, "scale": colours},
            "order": {"field": "kind", "type": "nominal"},
        },
    }

"""Pictures and tables of a plan."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kedge.cli.output import harmless

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from kedge.model import Budget, Plan

WIDTH = 48
"""Columns of the longest bar: with its label and numbers the picture stays within 80."""
MASKED_SHOWN = 6
"""Masked outputs listed; `--json` has them all."""
LOOK = {
    "folded": ("░", "red"),
    "kept": ("█", "green"),
    "summary": ("▒", "cyan"),
    "said again": ("▓", "magenta"),
}
"""How each kind of content is drawn."""


def window_picture(plan: Plan, budget: Budget) -> list[Text]:
    """The context before and after, and the window, at one scale."""
    from rich.text import Text

    again = sum(one.tokens for one in plan.repeated)
    kept = sum(span.tokens for span in plan.kept)
    folded = plan.tokens_before - kept
    after = plan.tokens_kept + plan.summary_room
    scale = WIDTH / max(plan.tokens_before, after, budget.usable, 1)
    lines = [
        _bar("before", [("folded", folded), ("kept", kept)], plan.tokens_before, scale),
        _bar(
            "after",
            [
                ("summary", plan.summary_room),
                ("said again", again),
                ("kept", plan.tokens_kept - again),
            ],
            after,
            scale,
        ),
        _ruler(budget, scale),
    ]
    legend = Text(f"{'':8}")
    for name, (sign, style) in LOOK.items():
        legend.append(f"{sign} {name}   ", style=style)
    return [*lines, legend]


def spans_table(plan: Plan) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for name, justify in (("", "left"), ("turns", "left"), ("tokens", "right"), ("why", "left")):
        table.add_column(name, justify="right" if justify == "right" else "left")
    for name, spans in (("folded", plan.folded), ("kept", plan.kept)):
        for span in spans:
            where = f"t{span.first}-{span.last}" if span.last > span.first else f"t{span.first}"
            reason = plan.reason if name == "folded" else span.reason
            label = Text(name, style=LOOK[name][1])
            table.add_row(label, where, f"{span.tokens:,}", Text(harmless(reason)))
    for one in plan.repeated:
        label = Text("said again", style=LOOK["said again"][1])
        table.add_row(label, f"t{one.turn}", f"{one.tokens:,}", one.what)
    return table


def masked_table(plan: Plan) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold")
    for name in ("masked", "before", "after", "why"):
        table.add_column(name, justify="right" if name in ("before", "after") else "left")
    largest = sorted(plan.masked, key=lambda one: one.tokens_after - one.tokens_before)
    for one in largest[:MASKED_SHOWN]:
        why = Text(harmless(f"{one.how}: {one.reason}"))
        table.add_row(f"t{one.turn}", f"{one.tokens_before:,}", f"{one.tokens_after:,}", why)
    if (rest := len(largest) - MASKED_SHOWN) > 0:
        table.add_row("…", "", "", f"{rest} more")
    return table


def _bar(label: str, parts: list[tuple[str, int]], total: int, scale: float) -> Text:
    """One bar; every part that is not empty is at least one column wide."""
    from rich.text import Text

    line = Text(f"{label:<8}")
    for name, tokens in parts:
        sign, style = LOOK[name]
        if tokens > 0:
            line.append(sign * max(1, round(tokens * scale)), style=style)
    return line.append(f" {total:,}")


def _ruler(budget: Budget, scale: float) -> Text:
    """The window under the bars: where the target is and where it ends."""
    from rich.text import Text

    target, end = (round(tokens * scale) for tokens in (budget.target, budget.usable))
    drawn = "─" * max(0, target - 1) + "┼" + "─" * max(0, end - target - 1) + "┤"
    line = Text(f"{'window':<8}").append(drawn, style="dim")
    return line.append(f" {budget.usable:,}, target {budget.target:,}", style="dim")

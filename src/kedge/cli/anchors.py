"""`kedge anchors`: the turns of a session that matter."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from kedge.cli.output import FormatName, Json, console, harmless, write_json
from kedge.cli.session import File, Session, given

if TYPE_CHECKING:
    from rich.table import Table

    from kedge.model import Anchor


def anchors(
    file: File,
    json: Json = False,
    format: FormatName = None,
    session: Session = None,
    threshold: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="Least confidence of an anchor; 0.9 unless given."),
    ] = None,
    profile: Annotated[
        str, typer.Option(help="How sure detectors are: standard, or literal.")
    ] = "standard",
) -> None:
    """List the anchors of a session: turns where something was fixed, finished, found or approved.

    Where nothing natural is found, a synthetic checkpoint stands at the end."""
    from kedge.anchors import THRESHOLD
    from kedge.flow import flow_of

    transcript = given(file, format=format, session=session)
    least = THRESHOLD if threshold is None else threshold
    flow = flow_of(transcript.turns, threshold=least, profile=profile)
    if json:
        for anchor in flow.anchor_points:
            write_json(as_json(anchor))
        return
    out = console()
    out.print(_table(flow.anchor_points))
    out.print(_closing(len(flow.turns), flow.anchor_points), markup=False)


def as_json(anchor: Anchor) -> dict[str, Any]:
    """The keys of `kedge anchors --json`."""
    import msgspec

    return {**msgspec.to_builtins(anchor), "weight": anchor.weight}


def _table(found: tuple[Anchor, ...]) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold", expand=True)
    for name, width in (("turn", 6), ("type", 17), ("weight", 6), ("confidence", 10)):
        right = name in ("weight", "confidence")
        table.add_column(name, justify="right" if right else "left", width=width)
    table.add_column("description", no_wrap=True, overflow="ellipsis", ratio=1)
    for anchor in found:
        about = harmless(" ".join(anchor.description.split()))
        table.add_row(
            Text(f"t{anchor.turn_index}", style="bold cyan"),
            Text(anchor.type.replace("_", " "), style="dim" if anchor.synthetic else ""),
            f"{anchor.weight:.2f}",
            f"{anchor.confidence:.2f}",
            Text(about, style="dim" if anchor.synthetic else ""),
        )
    return table


def _closing(turns: int, found: tuple[Anchor, ...]) -> str:
    natural = sum(not anchor.synthetic for anchor in found)
    if not turns:
        return "no turns"
    if not natural:
        return f"{turns:,} turns, no natural anchor: a synthetic checkpoint at the end"
    return f"{turns:,} turns, {natural:,} anchors ({100 * natural / turns:.1f} per 100 turns)"

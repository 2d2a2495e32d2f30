"""`kedge history`: what was done to a session."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from kedge.cli.hints import shortened
from kedge.cli.kept import SessionName, StoreOption, opened_store, session_named
from kedge.cli.output import Json, console, write_json
from kedge.cli.sessions import time_of

if TYPE_CHECKING:
    from kedge.living.journal import Event

SHOWN = 100
"""Characters of a reason."""


def history(session: SessionName, json: Json = False, store: StoreOption = None) -> None:
    """Show the compactions of a session, tries that changed nothing, and where it comes from."""
    events = session_named(session, opened_store(store)).history()
    if json:
        for event in events:
            write_json(as_json(event))
        return
    out = console()
    if not events:
        out.print("nothing was compacted yet", markup=False)
        return
    from rich.table import Table

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for name in ("when", "what", "tokens", "score", ""):
        table.add_column(name, justify="right" if name == "score" else "left")
    for event in events:
        table.add_row(*_row(event), style="dim" if event.undone else "")
    out.print(table)


def as_json(event: Event) -> dict[str, Any]:
    from kedge.living.values import Forked, Recorded

    values: dict[str, Any] = {"at": time_of(event.at).isoformat(), "entry": event.number}
    what = event.what
    if isinstance(what, Recorded):
        made = what.compaction
        values |= {
            "what": "compaction",
            "count": made.count,
            "undone": event.undone,
            "cut": made.plan.cut,
            "tokens_before": made.tokens_before,
            "tokens_after": made.tokens_after,
            "probe_score": made.verdict.score if made.verdict else None,
            "chain": what.chain,
            "reason": made.plan.reason,
        }
    elif isinstance(what, Forked):
        values |= {"what": "fork", "of": what.session, "turns": what.turns}
    else:
        values |= {"what": "attempt", "reason": what.why}
    return values


def _row(event: Event) -> tuple[str, str, str, str, str]:
    from kedge.living.values import Forked, Recorded

    when = time_of(event.at).strftime("%Y-%m-%d %H:%M")
    what = event.what
    if isinstance(what, Recorded):
        made = what.compaction
        score = made.verdict.score if made.verdict else None
        undone = "undone; " if event.undone else ""
        return (
            when,
            f"compaction {made.count}",
            f"{made.tokens_before:,} → {made.tokens_after:,}",
            "–" if score is None else f"{score:.2f}",
            shortened(f"{undone}cut before t{made.plan.cut}: {made.plan.reason}", SHOWN),
        )
    if isinstance(what, Forked):
        return when, "fork", "", "", shortened(f"of {what.session}, {what.turns:,} turns", SHOWN)
    return when, "nothing done", "", "", shortened(what.why, SHOWN)

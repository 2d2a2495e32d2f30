"""`kedge undo`: a compaction left out of the view again."""

from __future__ import annotations

import typer

from kedge.cli.kept import SessionName, StoreOption, opened_store, session_named
from kedge.cli.output import Json, write_json


def undo(session: SessionName, json: Json = False, store: StoreOption = None) -> None:
    """Take the newest compaction of a session back: the view is again what it was before it."""
    kept = session_named(session, opened_store(store))
    undone = kept.undo()
    left = kept.should_compact()
    if json:
        write_json(
            {
                "session": session,
                "undone": undone.count,
                "folded": sum(span.last - span.first + 1 for span in undone.plan.folded),
                "tokens_before": undone.tokens_before,
                "tokens_after": undone.tokens_after,
            }
        )
        return
    typer.echo(
        f"{session}: compaction {undone.count} is left out; {undone.tokens_after:,} tokens are "
        f"{undone.tokens_before:,} again; {left.reason}",
        err=True,
    )

"""`kedge add`: what comes next in a session, or its file as it is now."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from kedge.cli.kept import SessionName, StoreOption, opened_store, session_named
from kedge.cli.output import FormatName, Json, shown, write_json
from kedge.cli.session import Session as WhichSession

if TYPE_CHECKING:
    from kedge.living.appending import Appended
    from kedge.session import Session


def add(
    session: SessionName,
    file: Annotated[
        str,
        typer.Argument(help="An agent's session file, or messages of a model API; - for stdin."),
    ],
    json: Json = False,
    format: FormatName = None,
    number: WhichSession = None,
    key: Annotated[
        str, typer.Option(help="Messages sent again under the same key are taken once.")
    ] = "",
    store: StoreOption = None,
) -> None:
    """Keep a session: every original, before anything is compacted.

    An agent's own file may be added again as it grows: only what is new is written, and what the
    user rewound is taken back. Messages of a model API are put behind what is there; those that are
    there already are left out."""
    kept = session_named(session, opened_store(store), new=True)
    done = _added(kept, file, format=format, session=number, key=key)
    if json:
        write_json({"session": session, "new": done.new, "known": done.known, "turns": done.turns})
        return
    typer.echo(
        f"{session}: {done.new:,} new, {done.known:,} known; {done.turns:,} turns in all", err=True
    )


def _added(
    kept: Session, file: str, *, format: str | None, session: int | None, key: str
) -> Appended:
    from kedge.living.listed import listed
    from kedge.opening import open_source

    source = b"".join(open_source(file).lines) if file == "-" else file
    found = listed(source, format, session=session)
    if found.messages is not None:
        return kept.append(found.messages, format=format, key=key)
    return kept.follow(source, format=found.format, session=session, watch=shown)

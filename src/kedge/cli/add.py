"""`kedge add`: what comes next in a session, or its file as it is now."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, NamedTuple

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
    force: Annotated[
        bool,
        typer.Option(
            "--force",
            help="Make the session what the file is, also where it is another's or an old copy.",
        ),
    ] = False,
    store: StoreOption = None,
) -> None:
    """Keep a session: every original, before anything is compacted.

    An agent's own file may be added again as it grows: only what is new is written, and what the
    user rewound is taken back. Messages of a model API are put behind what is there; those that are
    there already are left out."""
    kept = session_named(session, opened_store(store), new=True)
    added = _added(kept, file, format=format, session=number, key=key, force=force)
    if json:
        write_json({"session": session, **added.done._asdict()})
        return
    typer.echo(f"{session}: {_told(added)}", err=True)


class _Added(NamedTuple):
    done: Appended
    agents: int = 0
    """Turns of sub-agents in the file; they are among the new and the known ones."""


def _told(added: _Added) -> str:
    done = added.done
    agents = f" and {added.agents:,} of sub-agents" if added.agents else ""
    said = [
        f"{done.new:,} new, {done.known:,} known",
        f"{_number(done.turns, 'turn')}{agents} in all",
    ]
    if done.taken_back:
        said.append(f"{_number(done.taken_back, 'turn')} taken back")
    if done.undone:
        said.append(f"{_number(done.undone, 'compaction')} left out, which had folded such turns")
    return "; ".join(said)


def _number(count: int, noun: str) -> str:
    return f"{count:,} {noun}" if count == 1 else f"{count:,} {noun}s"


def _added(
    kept: Session, file: str, *, format: str | None, session: int | None, key: str, force: bool
) -> _Added:
    from kedge.living.listed import listed
    from kedge.opening import open_source

    source = b"".join(open_source(file).lines) if file == "-" else file
    found = listed(source, format, session=session)
    if found.messages is not None:
        return _Added(kept.append(found.messages, format=format, key=key))
    done = kept.follow(source, format=found.format, session=session, watch=shown, force=force)
    return _Added(done, agents=done.new + done.known - done.turns)

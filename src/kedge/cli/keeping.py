"""What commands write beside their output: a session file, the state of a state.json."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from kedge.cli.output import harmless
from kedge.cli.session import Opened
from kedge.cli.verdict import rounded

if TYPE_CHECKING:
    from kedge.model import Compaction, Summary

Root = Annotated[str, typer.Option(help="Folder that holds the products.")]
Product = Annotated[
    str | None, typer.Option(help="The product the task belongs to, for the session file.")
]
Task = Annotated[
    str | None, typer.Option(help="The task's id, for the session file; else `session`.")
]
WriteSessionFile = Annotated[
    bool,
    typer.Option(
        "--write-session-file",
        help="Also write or update the session file of --product and --task.",
    ),
]
StateFile = Annotated[
    str | None,
    typer.Option("--state", metavar="FILE", help="Also set compression_state in a state.json."),
]


class SessionPlace(NamedTuple):
    """Where a session file goes; its names are checked."""

    root: str
    product: str
    task: str
    template: str


def session_place(root: str, product: str | None, task: str | None) -> SessionPlace:
    """A wrong name is said before any work is done."""
    from kedge.session_files import path_below
    from kedge.settings import load_settings

    if product is None or task is None:
        raise typer.BadParameter("--write-session-file needs --product and --task")
    template = load_settings(Path(root).resolve()).session_file
    path_below(product, task, template=template)
    return SessionPlace(root, product, task, template)


def keep(
    summary: Summary, found: Opened, place: SessionPlace | None, state_file: str | None, room: int
) -> dict[str, str]:
    """Write what was asked for; the paths by the keys they have in JSON."""
    from datetime import UTC, datetime

    from kedge.session_files import write_session_file, write_state

    kept: dict[str, str] = {}
    if place is not None:
        path = write_session_file(
            place.root,
            place.product,
            place.task,
            summary,
            tokens=room,
            count=found.counter.count,
            session=found.transcript.session.latest("id"),
            template=place.template,
        )
        kept["session_file"] = str(path)
    if state_file is not None:
        score = probe_score(summary, room, found)
        write_state(state_file, summary, at=datetime.now(UTC), probe_score=score)
        kept["state_file"] = state_file
    for name in kept.values():
        typer.echo(f"wrote {harmless(name)}", err=True)
    return kept


def keep_state(made: Compaction, state_file: str) -> None:
    """The state of a compaction, with what the probes found."""
    from kedge.session_files import write_state

    if made.state is None:
        why = "nothing was folded" if not made.plan.folded else "the style outcomes keeps none"
        typer.echo(f"warning: no state for {harmless(state_file)}: {why}", err=True)
        return
    score = rounded(made.verdict.score) if made.verdict else None
    write_state(state_file, made.state, at=made.at, probe_score=score)
    typer.echo(f"wrote {harmless(state_file)}", err=True)


def probe_score(summary: Summary, room: int, found: Opened) -> float | None:
    """Share of the probes that a hand-off of so many tokens answers; none where nothing can be
    asked."""
    from kedge.summarizing import hand_on

    return rounded(hand_on(summary, room, found.counter.count).verdict.score)

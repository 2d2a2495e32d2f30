"""`kedge summarize`: a whole session as a hand-off."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

import typer

from kedge.cli.handoff import Root
from kedge.cli.output import FormatName, Json, Vocabulary, harmless, write_json
from kedge.cli.session import File, Opened, Session, opened, tokens_given

if TYPE_CHECKING:
    from kedge.model import Summary, Transcript
    from kedge.tokens import Counter

WHOLE = 2_048
"""Tokens of a hand-off, where none are given: the largest named level."""

Style = Literal["markdown", "session-file", "outcomes", "json"]


def summarize(
    file: File,
    json: Json = False,
    tokens: Annotated[
        int | None,
        typer.Option(parser=tokens_given, metavar="TOKENS", help="Longest summary; 2048 if none."),
    ] = None,
    level: Annotated[
        int | None,
        typer.Option(help="A named level: 128 (one line), 512 (five lines) or 2048."),
    ] = None,
    style: Annotated[
        str, typer.Option(help="markdown, session-file, outcomes or json (all that is known).")
    ] = "markdown",
    task: Annotated[
        str | None, typer.Option(help="The task's id, for the session file; else `session`.")
    ] = None,
    write_session_file: Annotated[
        bool,
        typer.Option(
            "--write-session-file",
            help="Also write or update the session file of --product and --task.",
        ),
    ] = False,
    product: Annotated[
        str | None, typer.Option(help="The product the task belongs to, for the session file.")
    ] = None,
    root: Root = ".",
    state_file: Annotated[
        str | None,
        typer.Option("--state", metavar="FILE", help="Also set compression_state in a state.json."),
    ] = None,
    format: FormatName = None,
    session: Session = None,
    vocabulary: Vocabulary = None,
) -> None:
    """Summarize a whole session as a hand-off: Markdown on stdout."""
    from kedge.errors import UnknownName
    from kedge.summarizing import summarize as summarized
    from kedge.summary import LEVELS

    if level is not None and level not in LEVELS:
        raise UnknownName("level", str(level), known=tuple(map(str, LEVELS)))
    styles = ("markdown", "session-file", "outcomes", "json")
    if style not in styles:
        raise UnknownName("style", style, known=styles)
    place = _place(root, product, task) if write_session_file else None
    found = opened(file, format=format, session=session, vocabulary=vocabulary)
    state = summarized(found.transcript)
    room = tokens or WHOLE
    kept = {"session_file": place.write(state, found, room)} if place else {}
    if state_file is not None:
        kept["state_file"] = _state_written(state_file, state)
    for name in kept.values():
        typer.echo(f"wrote {harmless(name)}", err=True)
    if style == "json":
        write_json(state)
        return
    text = _told(found.transcript, state, found.counter, style, level, room, task or "session")
    if json:
        tokens_of_text = found.counter.count(text)
        write_json({"markdown": text, "tokens": tokens_of_text, "style": style, **kept})
    else:
        typer.echo(harmless(text))


class Place(NamedTuple):
    """Where a session file goes; its names are checked."""

    root: str
    product: str
    task: str
    template: str

    def write(self, state: Summary, found: Opened, room: int) -> str:
        from kedge.session_files import write_session_file

        path = write_session_file(
            self.root,
            self.product,
            self.task,
            state,
            tokens=room,
            count=found.counter.count,
            session=found.transcript.session.latest("id"),
            template=self.template,
        )
        return str(path)


def _place(root: str, product: str | None, task: str | None) -> Place:
    from kedge.session_files import path_below
    from kedge.settings import load_settings

    if product is None or task is None:
        raise typer.BadParameter("--write-session-file needs --product and --task")
    template = load_settings(Path(root).resolve()).session_file
    path_below(product, task, template=template)  # a wrong name is said before the work
    return Place(root, product, task, template)


def _state_written(file: str, state: Summary) -> str:
    from datetime import UTC, datetime

    from kedge.session_files import write_state

    write_state(file, state, at=datetime.now(UTC))
    return file


def _told(
    transcript: Transcript,
    state: Summary,
    counter: Counter,
    style: str,
    level: int | None,
    room: int,
    task: str,
) -> str:
    from kedge.steps import outcomes_of_session
    from kedge.summary import handoff, session_file, summary_128, summary_512

    count = counter.count
    if style == "outcomes":
        return outcomes_of_session(transcript, level or room, counter)
    if style == "session-file":
        return session_file(state, level or room, count, task=task)
    if level == 128:
        return summary_128(state, count)
    if level == 512:
        return summary_512(state, count)
    return handoff(state, level or room, count)

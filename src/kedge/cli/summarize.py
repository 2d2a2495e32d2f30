"""`kedge summarize`: a whole session as a hand-off."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from kedge.cli.keeping import (
    Product,
    Root,
    StateFile,
    Task,
    WriteSessionFile,
    keep,
    session_place,
)
from kedge.cli.output import FormatName, Json, Vocabulary, harmless, write_json
from kedge.cli.session import File, Session, opened, tokens_given

if TYPE_CHECKING:
    from kedge.model import Summary, Transcript
    from kedge.tokens import Counter

WHOLE = 2_048
"""Tokens of a hand-off, where none are given: the largest named level."""


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
    phase: Annotated[
        str | None,
        typer.Option(
            help="As a phase hands it on: research, planning, implementation; auto finds out."
        ),
    ] = None,
    task: Task = None,
    product: Product = None,
    write_session_file: WriteSessionFile = False,
    root: Root = ".",
    state_file: StateFile = None,
    format: FormatName = None,
    session: Session = None,
    vocabulary: Vocabulary = None,
) -> None:
    """Summarize a whole session as a hand-off: Markdown on stdout."""
    from kedge.summarizing import summarize as summarized
    from kedge.summary import PHASES, phase_of, phased

    _check(level, style, phase)
    if tokens == 0:
        raise typer.BadParameter(
            f"a hand-off of 0 tokens says nothing; give --tokens at least 1, or leave it out for "
            f"{WHOLE:,}"
        )
    place = session_place(root, product, task) if write_session_file else None
    found = opened(file, format=format, session=session, vocabulary=vocabulary)
    state = summarized(found.transcript)
    room = tokens or WHOLE
    asked = place is not None or state_file is not None
    kept = keep(state, found, place, state_file, room) if asked else {}
    if style == "json":
        write_json(state)
        return
    chosen = next((one for one in PHASES if one == phase), phase_of(state))
    text = (
        phased(state, chosen)
        if phase
        else _told(found.transcript, state, found.counter, style, level, room, task or "session")
    )
    if json:
        tokens_of_text = found.counter.count(text)
        write_json({"markdown": text, "tokens": tokens_of_text, "style": style, **kept})
    else:
        typer.echo(harmless(text))


def _check(level: int | None, style: str, phase: str | None) -> None:
    """Names that nobody knows are an error and no silent default."""
    from kedge.errors import UnknownName
    from kedge.summary import LEVELS, PHASES

    styles = ("markdown", "session-file", "outcomes", "json")
    if level is not None and level not in LEVELS:
        raise UnknownName("level", str(level), known=tuple(map(str, LEVELS)))
    if style not in styles:
        raise UnknownName("style", style, known=styles)
    if phase not in (None, "auto", *PHASES):
        raise UnknownName("phase", str(phase), known=("auto", *PHASES))


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
    from kedge.summarizing import hand_on
    from kedge.summarizing import level as at_level
    from kedge.summary import session_file

    count = counter.count
    if style == "outcomes":
        return outcomes_of_session(transcript, level or room, counter)
    if style == "session-file":
        return session_file(state, level or room, count, task=task)
    return at_level(state, level, count) if level else hand_on(state, room, count).text

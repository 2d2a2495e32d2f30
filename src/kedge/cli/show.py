"""`kedge show`: single turns, whole."""

from __future__ import annotations

import re
from typing import Annotated

import typer

from kedge.cli.output import FormatName, Json, Vocabulary, console, write_json
from kedge.cli.session import File, Session, opened
from kedge.cli.turns import as_json, show_turn

_MARK = re.compile(r"\[?t?(\d{1,9})(?:-t?(\d{1,9}))?\]?")
"""A turn mark as summaries have it: t12, t12-15, with or without brackets."""


def show(
    file: File,
    marks: Annotated[
        list[str], typer.Argument(metavar="TURN...", help="Turns to show: t12, or t12-15.")
    ],
    json: Json = False,
    format: FormatName = None,
    session: Session = None,
    vocabulary: Vocabulary = None,
) -> None:
    """Show turns whole: all that was said, every call and its output."""
    spans = [turns_marked(mark) for mark in marks]
    turns = opened(file, format=format, session=session, vocabulary=vocabulary).transcript.turns
    for span in spans:
        if span.stop > len(turns):
            last = f"the last is t{len(turns) - 1}" if turns else "it has none"
            raise typer.BadParameter(f"{file!r} has no turn t{span.stop - 1}; {last}")
    for number in dict.fromkeys(number for span in spans for number in span):
        if json:
            write_json(as_json(turns[number]))
        else:
            show_turn(turns[number], console(), full=True)


def turns_marked(mark: str) -> range:
    found = _MARK.fullmatch(mark.strip())
    if found is None:
        raise typer.BadParameter(f"{mark!r} is no turn; write t12, or t12-15")
    first = int(found[1])
    last = int(found[2] or first)
    if last < first:
        raise typer.BadParameter(f"{mark!r} ends before it begins; write t{last}-{first}")
    return range(first, last + 1)

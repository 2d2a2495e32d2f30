"""`kedge show`: single turns, whole."""

from __future__ import annotations

import re
import sys
from typing import TYPE_CHECKING, Annotated

import typer

from kedge.cli.kept import StoreOption, is_file, opened_store, session_named
from kedge.cli.output import FormatName, Json, Vocabulary, console, harmless, write_json
from kedge.cli.session import File, Session, opened
from kedge.cli.turns import Links, as_json, show_turn

if TYPE_CHECKING:
    from kedge.store import Store

_MARK = re.compile(r"\[?t?(\d{1,9})(?:-t?(\d{1,9}))?\]?")
"""A turn mark as summaries have it: t12, t12-15, with or without brackets."""


def show(
    file: File,
    marks: Annotated[
        list[str],
        typer.Argument(
            metavar="TURN...",
            help="Turns to show: t12, or t12-15; of a kept session also t12.0, a call's output.",
        ),
    ],
    json: Json = False,
    format: FormatName = None,
    session: Session = None,
    vocabulary: Vocabulary = None,
    store: StoreOption = None,
) -> None:
    """Show turns whole: all that was said, every call and its output."""
    if not is_file(file):
        _show_kept(file, marks, opened_store(store), json=json)
        return
    spans = [turns_marked(mark) for mark in marks]
    found = opened(file, format=format, session=session, vocabulary=vocabulary, secrets=True)
    turns, links = found.transcript.turns, Links.of(found.transcript)
    for span in spans:
        if span.stop > len(turns):
            last = f"the last is t{len(turns) - 1}" if turns else "it has none"
            raise typer.BadParameter(f"{file!r} has no turn t{span.stop - 1}; {last}")
    for number in dict.fromkeys(number for span in spans for number in span):
        if json:
            write_json(as_json(turns[number], links=links))
        else:
            show_turn(turns[number], console(), full=True, links=links)


def _show_kept(name: str, marks: list[str], store: Store, *, json: bool) -> None:
    """Originals from the archive: turns, also those of sub-agents and taken back ones, and what
    single calls gave back."""
    kept = session_named(name, store)
    links = Links.of(kept.about())
    for mark in marks:
        spans = turns_marked(mark) if _MARK.fullmatch(mark.strip()) else None
        for one in (f"t{number}" for number in spans) if spans else (mark,):
            found = kept.original(one)
            if json:
                write_json({**as_json(found.turn, links=links), "output": found.text or None})
            elif found.call is not None or found.result is not None:
                _write_output(found.text)
            else:
                show_turn(found.turn, console(), full=True, links=links)


def _write_output(text: str) -> None:
    """A person sees no control characters at work; whatever else reads gets the text as it is."""
    if sys.stdout.isatty():
        typer.echo(harmless(text))
        return
    sys.stdout.flush()  # turns shown before it
    sys.stdout.buffer.write(text.encode("utf-8", "replace"))
    sys.stdout.buffer.flush()


def turns_marked(mark: str) -> range:
    found = _MARK.fullmatch(mark.strip())
    if found is None:
        raise typer.BadParameter(f"{mark!r} is no turn; write t12, or t12-15")
    first = int(found[1])
    last = int(found[2] or first)
    if last < first:
        raise typer.BadParameter(f"{mark!r} ends before it begins; write t{last}-{first}")
    return range(first, last + 1)

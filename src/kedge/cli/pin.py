"""`kedge pin` and `kedge unpin`: what stays word for word in every view."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from kedge.cli.hints import shortened
from kedge.cli.kept import SessionName, StoreOption, opened_store, session_named
from kedge.cli.output import Json, console, write_json

if TYPE_CHECKING:
    from kedge.living.values import Pin

SHOWN = 100
"""Characters of a pin in a list."""
DIGITS = 9
"""Of the number of a turn: no session has more turns."""


def pin(
    session: SessionName,
    what: Annotated[
        str | None,
        typer.Argument(help="A turn (t12, 12), or words; without it the pins are listed."),
    ] = None,
    json: Json = False,
    store: StoreOption = None,
) -> None:
    """Keep a turn or words in every view of a session to come, or list what is kept so."""
    kept = session_named(session, opened_store(store))
    found = [kept.pin(_meant(what))] if what is not None else kept.pins()
    if json:
        for one in found:
            write_json(as_json(one))
        return
    out = console()
    if not found:
        out.print(f"nothing is pinned; pin with: kedge pin {session} t12", markup=False)
    for one in found:
        out.print(f"#{one.number}: {_told(one)}", markup=False, soft_wrap=True)


def unpin(
    session: SessionName,
    what: Annotated[
        str, typer.Argument(help="The turn (t12, 12), the words, or the pin's number ('#7').")
    ],
    json: Json = False,
    store: StoreOption = None,
) -> None:
    """Take a pin back."""
    kept = session_named(session, opened_store(store))
    gone = kept.unpin(_meant(what))
    if json:
        write_json(as_json(gone))
        return
    typer.echo(f"no longer pinned: {_told(gone)}", err=True)


def as_json(pin: Pin) -> dict[str, Any]:
    return {
        "pin": pin.number,
        "turn": pin.turn if pin.turn >= 0 else None,
        "text": pin.text or None,
    }


def _meant(what: str) -> str | int:
    """A bare number is a turn, as it is for `kedge show`."""
    return int(what) if what.isascii() and what.isdecimal() and len(what) <= DIGITS else what


def _told(pin: Pin) -> str:
    return f"t{pin.turn}" if pin.turn >= 0 else shortened(pin.text, SHOWN)

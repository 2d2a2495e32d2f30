"""Sessions that are kept, for a command: the store that is meant, and a session in it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from kedge.redaction import Redactor
    from kedge.session import Session
    from kedge.store import Store

StoreOption = Annotated[
    str | None,
    typer.Option(
        "--store",
        metavar="PLACE",
        help="Where sessions are kept: a folder, or postgresql://…; else what settings say.",
    ),
]
SessionName = Annotated[str, typer.Argument(metavar="SESSION", help="A session that is kept.")]
NEAR = 3
"""Names that are offered where one is not known."""


def opened_store(place: str | None) -> Store:
    from kedge.settings import load_settings, store_place
    from kedge.store.opening import open_store

    settings = load_settings()
    return open_store(
        place or store_place(settings), owner=settings.owner, durability=settings.durability
    )


def session_named(
    name: str, store: Store, *, new: bool = False, window: int | None = None
) -> Session:
    """A session of the store. One that is not there is an error, unless it may be `new`."""
    from difflib import get_close_matches

    from kedge.errors import NoSuchSession
    from kedge.names import checked
    from kedge.session import Session
    from kedge.settings import load_settings
    from kedge.tokens import counter_named

    settings = load_settings()
    if not new and not store.head(checked("session", name)).number:
        names = [info.name for info in store.sessions()]
        raise NoSuchSession(name, known=tuple(get_close_matches(name, names, NEAR)))
    return Session(
        name,
        store,
        window=settings.window if window is None else window,
        counter=counter_named(settings.vocabulary),
        redactor=redactor(),
        keep_secrets=settings.keep_secrets,
    )


def redactor() -> Redactor:
    """One that knows the secrets of this environment."""
    from kedge.redaction import Redactor, secrets_in
    from kedge.settings import load_settings, surroundings

    return Redactor(secrets_in(surroundings(), load_settings().secrets))


def is_file(argument: str) -> bool:
    """Whether an argument that names a file or a session is a file: whatever is there as one, and
    whatever could not be the name of a session."""
    from kedge.errors import BadName
    from kedge.names import checked

    if argument == "-" or Path(argument).exists():
        return True
    try:
        checked("session", argument)
    except BadName:
        return True
    return False

"""Turns put into stores, as a session would do it."""

from __future__ import annotations

from collections.abc import Callable

from kedgeline.model import Turn
from kedgeline.session.archive import packed, passages_of
from kedgeline.store import Entry, Kind, Store

DAY = 86_400_000_000
"""Microseconds."""


def as_it_is(text: str) -> str:
    return text


def keep(
    store: Store,
    session: str,
    *turns: Turn,
    at: int = 0,
    clean: Callable[[str], str] = as_it_is,
    kind: Kind = "turn",
) -> None:
    """Each turn a day after the one before."""
    with store.writing(session) as writing:
        for turn in turns:
            made = packed(turn)
            entry = Entry(
                kind=kind,
                data=made.data,
                at=at + turn.index * DAY,
                thread=turn.agent,
                index=turn.index,
                id=made.id,
                blobs=tuple(made.blobs),
            )
            writing.add(entry, blobs=made.blobs, passages=tuple(passages_of(turn, clean)))

"""Entries of a session, whatever becomes of some of them."""

from __future__ import annotations

from collections.abc import Generator, Iterator

from kedge.errors import StoreFailed
from kedge.store import Entry, Store

UNREADABLE = (StoreFailed, ValueError, TypeError, AttributeError)
"""What a damaged row leads to."""


def entries_left(store: Store, session: str, *, light: bool = False) -> Iterator[Entry]:
    """All entries that can be read, in order. Where reading them one after the other fails, they
    are asked for one by one until the damaged one is passed."""
    last = store.head(session).number
    at = 0
    while at < last:
        try:
            for entry in store.entries(session, after=at, light=light):
                at = entry.number
                yield entry
            return
        except UNREADABLE:
            at = yield from _up_to_the_damage(store, session, at, last)


def _up_to_the_damage(
    store: Store, session: str, at: int, last: int
) -> Generator[Entry, None, int]:
    while at < last:
        at += 1
        found = one_entry(store, session, at)
        if found is None:
            break
        yield found
    return at


def one_entry(store: Store, session: str, number: int) -> Entry | None:
    """None where it is gone or damaged: the store itself reports it."""
    try:
        return store.entry(session, number)
    except UNREADABLE:
        return None

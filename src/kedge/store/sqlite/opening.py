"""Opening it by its place."""

from __future__ import annotations

from kedge.store.sqlite.connection import Connections
from kedge.store.sqlite.store import SqliteStore
from kedge.store.values import Durability


def open_sqlite(place: str, *, owner: str = "", durability: Durability = "durable") -> SqliteStore:
    """The store in a folder, which is made where it is missing, private to its user."""
    return SqliteStore(Connections(place, durability), owner=owner)

"""A store's own connection, to look at the database or to damage it."""

from __future__ import annotations

from typing import Any

from kedgeline.store.table_store import TableStore


def connection_of(store: TableStore) -> Any:
    """The one that the next call will use."""
    with store.database.taken() as connection:
        return connection

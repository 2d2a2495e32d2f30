"""A store in a folder, kept by SQLite."""

from kedge.store.sqlite.opening import open_sqlite
from kedge.store.sqlite.store import SqliteStore

__all__ = ["SqliteStore", "open_sqlite"]

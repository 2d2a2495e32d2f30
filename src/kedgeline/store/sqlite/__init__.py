"""A store kept by SQLite, in a folder or in memory."""

from kedgeline.store.sqlite.store import SqliteStore, open_memory, open_sqlite

__all__ = ["SqliteStore", "open_memory", "open_sqlite"]

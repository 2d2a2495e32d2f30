"""The store for teams: a PostgreSQL server. Needs the extra `postgres`."""

from kedge.store.postgres.opening import open_postgres

__all__ = ["open_postgres"]

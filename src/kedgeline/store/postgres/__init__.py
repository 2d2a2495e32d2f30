"""The store for teams: a PostgreSQL server. Needs the extra `postgres`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kedgeline.errors import MissingExtra
from kedgeline.store.values import WAIT_SECONDS, Durability

if TYPE_CHECKING:
    from kedgeline.store.postgres.store import PostgresStore

__all__ = ["open_postgres"]


def open_postgres(
    place: str,
    *,
    owner: str = "",
    durability: Durability = "durable",
    wait: float = WAIT_SECONDS,
) -> PostgresStore:
    """The store at an address such as `postgresql://user@host:5432/name`, with its tables made or
    brought up to date."""
    try:
        import psycopg  # noqa: F401
    except ImportError as error:
        raise MissingExtra("the PostgreSQL store", "postgres") from error
    from kedgeline.store.postgres.store import PostgresStore

    return PostgresStore(place, owner=owner, durability=durability, wait=wait)

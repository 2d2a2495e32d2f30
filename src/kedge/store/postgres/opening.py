"""Opening it by its place."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kedge.errors import MissingExtra
from kedge.store.values import Durability

if TYPE_CHECKING:
    from kedge.store.postgres.store import PostgresStore


def open_postgres(
    place: str, *, owner: str = "", durability: Durability = "durable"
) -> PostgresStore:
    """The store at an address such as `postgresql://user@host:5432/name`, with its tables made or
    brought up to date."""
    try:
        import psycopg  # noqa: F401
    except ImportError as error:
        raise MissingExtra("the PostgreSQL store", "postgres") from error
    from kedge.store.postgres.store import PostgresStore

    return PostgresStore(place, owner=owner, durability=durability)

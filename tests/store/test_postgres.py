"""The PostgreSQL store passes the checks that any store must pass."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from kedgeline.store import Store
from kedgeline.store.postgres import open_postgres
from tests.postgres_server import Server
from tests.store.conformance import CHECKS, Fresh


@pytest.fixture
def opening(postgres_server: Server) -> Iterator[Callable[[str, str], Store]]:
    """Opens the store at a place, which is a database of that name."""
    names: dict[str, str] = {}

    def open_(place: str, owner: str) -> Store:
        if place not in names:
            names[place] = postgres_server.taken()
        return open_postgres(postgres_server.address(names[place]), owner=owner)

    yield open_
    for name in names.values():
        postgres_server.given_back(name)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_it_does_what_any_store_must(
    check: Callable[[Fresh], None], opening: Callable[[str, str], Store]
) -> None:
    with Fresh(opening, "place") as fresh:
        check(fresh)

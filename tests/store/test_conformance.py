"""The checks that any store must pass: ours do."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from kedgeline.store import Store, open_store
from kedgeline.store.sqlite import open_memory, open_sqlite
from tests.postgres_server import Server
from tests.store.conformance import CHECKS, Fresh, Opening


def _memory(place: str, owner: str) -> Store:
    return open_memory(f"memory:{place}", owner=owner)


@pytest.fixture(params=["sqlite", "memory", "postgres"])
def opening(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Opening]:
    """Opens the store at a place for an owner."""
    if request.param == "memory":
        yield lambda place, owner: _memory(f"{tmp_path}/{place}", owner)
        return
    if request.param == "sqlite":
        yield lambda place, owner: open_sqlite(
            str(tmp_path / place), owner=owner, durability="fast"
        )
        return
    server: Server = request.getfixturevalue("postgres_server")
    names: dict[str, str] = {}

    def open_(place: str, owner: str) -> Store:
        if place not in names:
            names[place] = server.taken()
        return open_store(server.address(names[place]), owner=owner)

    yield open_
    for name in names.values():
        server.given_back(name)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_it_does_what_any_store_must(check: Callable[[Fresh], None], opening: Opening) -> None:
    with Fresh(opening, "place") as fresh:
        check(fresh)


def test_memory_has_the_name_that_sqlite_gives_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever knew SQLite got a folder named `:memory:`."""
    monkeypatch.chdir(tmp_path)
    with open_store(":memory:").writing("s"):
        assert list(tmp_path.iterdir()) == []

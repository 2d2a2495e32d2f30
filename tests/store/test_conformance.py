"""The checks that any store must pass: ours do."""

from __future__ import annotations

from pathlib import Path

import pytest

from kedgeline.store import Store
from kedgeline.store.protocol import open_store
from kedgeline.store.sqlite import open_memory, open_sqlite
from tests.store.conformance import check_store


def test_the_store_in_memory_passes() -> None:
    def opening(place: str, owner: str) -> Store:
        return open_memory(f"memory:{place}", owner=owner)

    assert check_store(opening) == []


def test_the_store_in_a_folder_passes(tmp_path: Path) -> None:
    def opening(place: str, owner: str) -> Store:
        return open_sqlite(str(tmp_path / place), owner=owner, durability="fast")

    assert check_store(opening) == []


def test_memory_has_the_name_that_sqlite_gives_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever knew SQLite got a folder named `:memory:`."""
    monkeypatch.chdir(tmp_path)
    with open_store(":memory:").writing("s"):
        assert list(tmp_path.iterdir()) == []

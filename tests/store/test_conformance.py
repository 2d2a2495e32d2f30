"""The checks that any store must pass: ours do."""

from __future__ import annotations

from pathlib import Path

from kedgeline.store import Store
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

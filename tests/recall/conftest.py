"""Stores to recall from."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from kedgeline.store import Store
from kedgeline.store.protocol import open_store


@pytest.fixture(params=["memory", "sqlite"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Store]:
    place = "memory:" if request.param == "memory" else str(tmp_path / "store")
    with closing(open_store(place, durability="fast")) as opened:
        yield opened

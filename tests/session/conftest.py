"""The three stores, for what must hold on all of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.living.sessions import Opening, folder, memory, server


@pytest.fixture(params=["memory", "sqlite", "postgres"])
def opening(request: pytest.FixtureRequest, tmp_path: Path) -> Opening:
    """A store that is empty."""
    if request.param == "memory":
        return memory()
    if request.param == "sqlite":
        return folder(tmp_path / "state")
    return server(request.getfixturevalue("postgres"))

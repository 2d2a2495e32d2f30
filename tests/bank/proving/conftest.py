"""A bank in a git repository that has no commits yet."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bank.proving.repository import run


@pytest.fixture
def bank(tmp_path: Path) -> Path:
    folder = tmp_path / "project" / "memory-bank"
    folder.mkdir(parents=True)
    run(folder.parent, "init", "-q", "-b", "main")
    return folder

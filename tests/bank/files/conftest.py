"""A bank before a compaction."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.bank.files.stepping import BEFORE, Stepping, laid_out


@pytest.fixture
def bank(tmp_path: Path) -> Path:
    laid_out(tmp_path / "bank", BEFORE)
    return tmp_path / "bank"


@pytest.fixture
def stepping(monkeypatch: pytest.MonkeyPatch) -> Stepping:
    return Stepping(monkeypatch)

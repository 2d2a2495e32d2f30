"""Clients that stay connected are let go when all is done."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.integrations.mcp.serving import disconnect


@pytest.fixture(scope="session", autouse=True)
def connected() -> Iterator[None]:
    yield
    disconnect()

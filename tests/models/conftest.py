"""A server that speaks as the providers do, for tests with their real clients."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.models.server import Says, Server, serving


@pytest.fixture(scope="session")
def running_server() -> Iterator[Server]:
    with serving() as found:
        yield found


@pytest.fixture
def server(running_server: Server) -> Server:
    """It says hello until a test gives it a script."""
    running_server.script(Says("hello"))
    return running_server

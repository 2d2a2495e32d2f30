"""Over HTTP: the token, the names of hosts, and addresses, without a port."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kedgeline.errors import UserError
from kedgeline.mcp.server import Address, address_of, guarded

TOKEN = "a-token-of-the-test-0123456789"


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        (f"Bearer {TOKEN}", 200),
        (f"bearer  {TOKEN} ", 200),
        *((wrong, 401) for wrong in ("", TOKEN, "Bearer", "Bearer ", f"Basic {TOKEN}")),
        *((f"Bearer {wrong}", 401) for wrong in (TOKEN[:-1], TOKEN + "x", TOKEN.upper(), "\xe9")),
    ],
)
def test_the_token_must_be_the_right_one(header: str, expected: int) -> None:
    sent: list[dict[str, Any]] = []

    async def inside(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async def receive() -> Any:
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    headers = [(b"authorization", header.encode("latin-1"))]
    scope = {"type": "http", "method": "POST", "path": "/mcp", "headers": headers}
    asyncio.run(guarded(inside, TOKEN)(scope, receive, send))
    assert sent[0]["status"] == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("127.0.0.1:8765", Address("127.0.0.1", 8765)),
        ("localhost:0", Address("localhost", 0)),
        ("[::1]:80", Address("::1", 80)),
    ],
)
def test_an_address_is_a_host_and_a_port(text: str, expected: Address) -> None:
    assert address_of(text) == expected


@pytest.mark.parametrize(
    "text", ["8765", ":8765", "host:", "::1:80", "[::1]", "[box]:80", "a:70000"]
)
def test_what_is_no_address_is_told(text: str) -> None:
    with pytest.raises(UserError, match="is no address; write HOST:PORT"):
        address_of(text)


@pytest.mark.parametrize("host", ["0.0.0.0", "[::]", "192.168.1.2", "box.local"])
def test_an_address_that_others_reach_needs_a_name(host: str) -> None:
    with pytest.raises(UserError, match="--allow-host"):
        address_of(f"{host}:80")
    assert address_of(f"{host}:80", ("box.local",)).port == 80

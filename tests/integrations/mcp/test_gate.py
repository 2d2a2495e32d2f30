"""Over HTTP: the token, the names of hosts, and addresses, without a port."""

from __future__ import annotations

import pytest

from kedgeline.errors import UserError
from kedgeline.hosts.mcp.server import Address, address_of


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
    with pytest.raises(UserError, match="is not an address; write HOST:PORT"):
        address_of(text)

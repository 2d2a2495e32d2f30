"""Hosts, origins and the token: who may speak to the server, without a port."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from kedgeline.errors import UserError
from kedgeline.mcp.transports import (
    Address,
    Allowed,
    address_of,
    allowed_hosts,
    allowed_origins,
    check_public,
    guarded,
    is_loopback,
)

TOKEN = "a-token-of-the-test-0123456789"
RIGHT = ("authorization", f"Bearer {TOKEN}")
HERE = ("host", "127.0.0.1:8765")
ALLOWED = Allowed(TOKEN, frozenset({"box.local"}), frozenset({"https://box.local:8443"}))


def answer(*headers: tuple[str, str], query: str = "", kind: str = "http", **scope: Any) -> Any:
    """How the answer to a request begins; with 200 where it reaches what is guarded."""
    sent: list[dict[str, Any]] = []

    async def inside(scope: Any, receive: Any, send: Any) -> None:
        await send({"type": "http.response.start", "status": 200, "headers": []})

    async def receive() -> Any:
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    raw = [(name.encode(), value.encode("latin-1")) for name, value in headers]
    given = {"type": kind, "method": "POST", "path": "/mcp", "query_string": query.encode()}
    asyncio.run(guarded(inside, ALLOWED)({**given, "headers": raw, **scope}, receive, send))
    return sent[0]


def status(*headers: tuple[str, str], **request: Any) -> int:
    return int(answer(*headers, **request)["status"])


def shared_with(*headers: tuple[str, str], **request: Any) -> str:
    """The origin whose pages a browser lets read the answer."""
    found = dict(answer(*headers, **request)["headers"])
    return str(found.get(b"access-control-allow-origin", b"").decode())


@pytest.mark.parametrize(
    ("host", "expected"),
    [
        ("127.0.0.1", 200),
        ("127.0.0.1:8765", 200),
        ("localhost:1", 200),
        ("LOCALHOST:8765", 200),
        ("localhost.:8765", 200),
        ("[::1]:8765", 200),
        ("[::1]", 200),
        ("box.local", 200),
        ("Box.Local:443", 200),
        ("evil.example", 421),
        ("evil.example:8765", 421),
        ("127.0.0.1.evil.example", 421),
        ("localhost.evil.example:8765", 421),
        ("localhost:8765@evil.example", 421),
        ("localhost:evil", 421),
        ("localhost:99999", 421),
        ("127.0.0.2", 421),
        ("0.0.0.0:8765", 421),
        ("[::1", 421),
        ("[::1]evil", 421),
        ("", 421),
        ("box.local.", 200),
        ("notbox.local", 421),
    ],
)
def test_the_host_must_be_one_of_ours(host: str, expected: int) -> None:
    assert status(("host", host), RIGHT) == expected


@pytest.mark.parametrize(
    ("origin", "expected"),
    [
        ("http://localhost:3000", 200),
        ("http://127.0.0.1:8765", 200),
        ("https://[::1]:8765", 200),
        ("https://box.local:8443", 200),
        ("HTTPS://BOX.LOCAL:8443", 200),
        ("https://box.local", 403),
        ("http://box.local:8443", 403),
        ("https://evil.example", 403),
        ("http://localhost.evil.example", 403),
        ("http://localhost@evil.example", 403),
        ("http://evil.example@localhost", 403),
        ("http://localhost:evil", 403),
        ("null", 403),
        ("", 403),
        ("file://", 403),
        ("chrome-extension://localhost", 403),
    ],
)
def test_a_page_must_be_of_an_origin_of_ours(origin: str, expected: int) -> None:
    assert status(HERE, RIGHT, ("origin", origin)) == expected


@pytest.mark.parametrize(
    ("header", "expected"),
    [
        (f"Bearer {TOKEN}", 200),
        (f"bearer  {TOKEN} ", 200),
        ("", 401),
        (TOKEN, 401),
        ("Bearer", 401),
        ("Bearer ", 401),
        (f"Basic {TOKEN}", 401),
        (f"Bearer {TOKEN[:-1]}", 401),
        (f"Bearer {TOKEN}x", 401),
        (f"Bearer {TOKEN.upper()}", 401),
        ("Bearer \xe9\xe9\xe9", 401),
    ],
)
def test_the_token_must_be_the_right_one(header: str, expected: int) -> None:
    assert status(HERE, ("authorization", header)) == expected


@pytest.mark.parametrize(
    "query", [f"token={TOKEN}", f"access_token={TOKEN}", "x=1&Token=", "key=1"]
)
def test_a_token_in_the_address_is_refused(query: str) -> None:
    assert status(HERE, query=query) == 400
    assert status(HERE, RIGHT, query=query) == 400
    assert status(HERE, RIGHT, query="cursor=2") == 200


def test_the_sender_is_looked_at_before_the_token() -> None:
    assert status(("host", "evil.example")) == 421
    assert status(HERE, ("origin", "https://evil.example")) == 403
    assert status(HERE, HERE, RIGHT) == 421
    assert status(RIGHT) == 421
    assert status(HERE, RIGHT, ("x-forwarded-host", "evil.example")) == 200
    assert status(("host", "evil.example"), ("x-forwarded-host", "localhost"), RIGHT) == 421


PAGES = ("https://box.local:8443", "http://localhost:3000", "http://127.0.0.1:6274", "http://[::1]")


@pytest.mark.parametrize("page", PAGES)
def test_a_page_of_a_known_origin_may_ask_first_and_read_the_answers(page: str) -> None:
    """All headers that clients of the protocol send are let through, those of 2026 too."""
    origin = ("origin", page)
    sent = "authorization, content-type, mcp-method, mcp-name, mcp-protocol-version, mcp-session-id"
    asking = ("access-control-request-method", "POST"), ("access-control-request-headers", sent)
    assert status(HERE, origin, *asking, method="OPTIONS") == 200
    assert shared_with(HERE, origin, *asking, method="OPTIONS") == page
    assert shared_with(HERE, origin, RIGHT) == page
    assert status(HERE, origin) == 401
    assert shared_with(HERE, origin) == page


def test_a_page_of_another_origin_neither_asks_nor_reads() -> None:
    asking, evil = ("access-control-request-method", "POST"), ("origin", "https://evil.example")
    assert status(HERE, evil, asking, method="OPTIONS") == 403
    assert shared_with(HERE, evil, asking, method="OPTIONS") == ""
    assert shared_with(HERE, evil, RIGHT) == ""
    other = ("access-control-request-headers", "x-other")
    assert status(HERE, ("origin", PAGES[0]), asking, other, method="OPTIONS") == 400


def test_hosts_and_origins_that_are_none_are_told() -> None:
    assert allowed_hosts(["Box.Local:8443", "fe80::1", "[::2]:80"]) == {
        "box.local",
        "fe80::1",
        "::2",
    }
    assert allowed_origins(["https://Box.local"]) == {"https://box.local"}
    for host in ("*", "*.local", "http://box", "a b", "", "box:port"):
        with pytest.raises(UserError, match="is no host"):
            allowed_hosts([host])
    for origin in ("*", "box.local", "https://box/path", "https://*.box", "ftp://box", "null"):
        with pytest.raises(UserError, match="is no origin"):
            allowed_origins([origin])


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


@pytest.mark.parametrize("host", ["0.0.0.0", "::", "192.168.1.2", "box.local", "127.0.0.1.nip.io"])
def test_an_address_that_others_reach_needs_a_name(host: str) -> None:
    assert not is_loopback(host)
    with pytest.raises(UserError, match="--allow-host"):
        check_public(Address(host, 80), frozenset())
    check_public(Address(host, 80), frozenset({"box.local"}))
    check_public(Address("127.0.0.1", 80), frozenset())

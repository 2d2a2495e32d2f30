"""Who may speak to the server over HTTP: known hosts, known origins, and whoever has the token.

A page in a browser can send requests to any address of this machine, and after a trick with names
(DNS rebinding) read what comes back. Such requests have the page's own name in `Host` or `Origin`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from hmac import compare_digest
from ipaddress import ip_address
from urllib.parse import parse_qsl, urlsplit

from starlette.middleware.cors import CORSMiddleware
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from kedge.errors import UserError

LOOPBACK = frozenset({"localhost", "127.0.0.1", "::1"})
"""Names of this machine that no other can take."""
IN_ADDRESS = frozenset({"token", "access_token", "key", "api_key", "apikey", "auth", "bearer"})
"""Names under which a token is put into an address, where logs and histories keep it."""
METHODS = ("GET", "POST", "DELETE")
ASKED = (
    *("authorization", "content-type", "last-event-id"),
    *("mcp-method", "mcp-name", "mcp-protocol-version", "mcp-session-id"),
)
"""Headers that a page of a known origin may send: all that clients of the protocol do."""


@dataclass(frozen=True)
class Allowed:
    token: str = field(repr=False)
    hosts: frozenset[str] = frozenset()
    """Names beside those of this machine."""
    origins: frozenset[str] = frozenset()


Check = Callable[[Scope], None]
"""Raises `Refused`."""


class Refused(Exception):
    def __init__(self, status: int, why: str) -> None:
        self.status, self.why = status, why
        super().__init__(why)


def guarded(app: ASGIApp, allowed: Allowed) -> ASGIApp:
    """The app for those who may speak to it. Everything else is refused before it gets there."""
    behind = _Checked(app, lambda scope: check_token(scope, allowed))
    return _Checked(_Shared(behind, allowed), lambda scope: check_sender(scope, allowed))


class _Shared(CORSMiddleware):
    """Tells browsers that pages of the origins that are answered may read the answers. What keeps
    others out is the token: a browser sends it for no page that does not have it."""

    def __init__(self, app: ASGIApp, allowed: Allowed) -> None:
        super().__init__(
            app,
            allow_methods=METHODS,
            allow_headers=ASKED,
            expose_headers=("mcp-session-id", "www-authenticate"),
        )
        self._allowed = allowed

    def is_allowed_origin(self, origin: str) -> bool:
        return _known_origin(origin, self._allowed)


class _Checked:
    def __init__(self, app: ASGIApp, check: Check) -> None:
        self._app, self._check = app, check

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        try:
            self._check(scope)
        except Refused as refused:
            headers = {"www-authenticate": "Bearer"} if refused.status == 401 else None
            answer = JSONResponse({"error": refused.why}, refused.status, headers)
            await answer(scope, receive, send)
            return
        await self._app(scope, receive, send)


def check_sender(scope: Scope, allowed: Allowed) -> None:
    """The names that a request is sent to and comes from."""
    if scope["type"] != "http":
        raise Refused(400, "this server speaks HTTP alone")
    hosts, origins = _headers(scope, b"host"), _headers(scope, b"origin")
    if len(hosts) != 1 or host_of(hosts[0]) not in LOOPBACK | allowed.hosts:
        raise Refused(421, "this host is not allowed; `kedge mcp --allow-host NAME` allows one")
    if any(not _known_origin(origin, allowed) for origin in origins):
        raise Refused(
            403, "this origin is not allowed; `kedge mcp --allow-origin ORIGIN` allows one"
        )


def check_token(scope: Scope, allowed: Allowed) -> None:
    query = parse_qsl(scope.get("query_string", b"").decode("latin-1"), keep_blank_values=True)
    if any(name.lower() in IN_ADDRESS for name, _ in query):
        raise Refused(400, "a token in an address is kept in logs; send it as a header")
    given = _headers(scope, b"authorization")
    kind, _, token = given[0].strip().partition(" ") if len(given) == 1 else ("", "", "")
    right = compare_digest(token.strip().encode(), allowed.token.encode())
    if kind.lower() != "bearer" or not right:
        raise Refused(401, "send the token of this server as `Authorization: Bearer TOKEN`")


def host_of(header: str) -> str:
    """The name in a Host header, without its port; empty where there is none."""
    text = header.strip().lower()
    if text.startswith("["):
        name, bracket, port = text[1:].partition("]")
        return name if bracket and (not port or _is_port(port)) else ""
    name, colon, port = text.partition(":")
    return name.removesuffix(".") if not colon or _is_port(f":{port}") else ""


def is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def allowed_hosts(given: Iterable[str]) -> frozenset[str]:
    """The names that a user allows; what cannot be one is refused."""
    names = []
    for one in given:
        name = host_of(f"[{one}]" if one.count(":") > 1 and not one.startswith("[") else one)
        if not name or any(sign in name for sign in "*/@, "):
            raise UserError(f"{one[:80]!r} is no host; name each one, as in --allow-host box.local")
        names.append(name)
    return frozenset(names)


def allowed_origins(given: Iterable[str]) -> frozenset[str]:
    for one in given:
        parts = _split(one)
        if parts is None or one.count("/") != 2 or "*" in one:
            raise UserError(
                f"{one[:80]!r} is no origin; write it as in --allow-origin https://box.local:8443"
            )
    return frozenset(one.lower() for one in given)


def _known_origin(origin: str, allowed: Allowed) -> bool:
    parts = _split(origin)
    return parts is not None and (origin.lower() in allowed.origins or parts in LOOPBACK)


def _split(origin: str) -> str | None:
    """The name in an origin; None where it is none, as `null` is."""
    try:
        parts = urlsplit(origin.strip().lower())
        _ = parts.port
    except ValueError:
        return None
    return parts.hostname if parts.scheme in ("http", "https") and not parts.username else None


def _is_port(text: str) -> bool:
    return text[1:].isdecimal() and text.isascii() and text[0] == ":" and int(text[1:]) < 65_536


def _headers(scope: Scope, name: bytes) -> list[str]:
    return [value.decode("latin-1") for key, value in scope["headers"] if key.lower() == name]

"""Serving: over stdin and stdout, or over HTTP to whoever has the token."""

from __future__ import annotations

import logging
import os
import signal
import socket
import stat
import sys
from collections.abc import Iterable
from dataclasses import dataclass, field
from hmac import compare_digest
from ipaddress import ip_address
from pathlib import Path
from secrets import token_urlsafe
from typing import TYPE_CHECKING, NamedTuple
from urllib.parse import parse_qsl, urlsplit

import anyio

from kedgeline.errors import UserError
from kedgeline.files import folder_below, unwritable
from kedgeline.mcp.server import Server
from kedgeline.mcp.sessions import Kept
from kedgeline.settings import Settings, store_place, surroundings

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send

PATH = "/mcp"
INTERRUPTED = 128 + signal.SIGINT
"""What shells expect of a program that an interrupt ended."""
ENDING_SECONDS = 2
"""How long answers under way are waited for when the server is stopped."""
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


def log_to_stderr() -> None:
    """Before the server is made: it would set up logging of its own."""
    logging.basicConfig(
        stream=sys.stderr, level=logging.WARNING, format="kedgeline mcp: %(levelname)s %(message)s"
    )


def serve_stdio(kept: Kept) -> None:
    """Until the client is gone, or an interrupt."""
    if sys.stdin is None:
        raise UserError("there is no stdin to serve; let a client start it, or give --http")
    server = Server(kept)

    async def run() -> None:
        try:
            await server.run_stdio_async()
        finally:
            server.close()

    # The SDK reads stdin in a thread that no interrupt ends. The store takes back what is half
    # written when the program goes.
    signal.signal(signal.SIGINT, lambda *_: os._exit(INTERRUPTED))
    anyio.run(run)


# HTTP


class Address(NamedTuple):
    host: str
    port: int

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}{PATH}"


@dataclass(frozen=True)
class Allowed:
    token: str = field(repr=False)
    hosts: frozenset[str] = frozenset()
    """Names beside those of this machine."""
    origins: frozenset[str] = frozenset()

    def origin(self, origin: str) -> bool:
        """Whether pages of an origin are answered: `null` is none."""
        scheme, sign, host = origin.lower().partition("://")
        if scheme not in ("http", "https") or not sign:
            return False
        return origin.lower() in self.origins or _host_of(host) in LOOPBACK


class Refused(Exception):
    def __init__(self, status: int, why: str) -> None:
        self.status, self.why = status, why
        super().__init__(why)


def guarded(app: ASGIApp, allowed: Allowed) -> ASGIApp:
    """The app for those who may speak to it: for every path, and before the app sees anything.
    Browsers are told that pages of known origins may read the answers; what keeps others out is the
    token, which a browser sends for no page that does not have it."""
    from starlette.middleware.cors import CORSMiddleware
    from starlette.responses import JSONResponse

    async def checked(scope: Scope, receive: Receive, send: Send) -> None:
        await _answered(app, check_token, scope, receive, send)

    async def _answered(
        inner: ASGIApp, check: object, scope: Scope, receive: Receive, send: Send
    ) -> None:
        try:
            if scope["type"] != "lifespan":
                check(scope, allowed)  # type: ignore[operator]
        except Refused as refused:
            headers = {"www-authenticate": "Bearer"} if refused.status == 401 else None
            answer = JSONResponse({"error": refused.why}, refused.status, headers)
            await answer(scope, receive, send)
            return
        await inner(scope, receive, send)

    shared = CORSMiddleware(
        checked,
        allow_methods=METHODS,
        allow_headers=ASKED,
        expose_headers=("mcp-session-id", "www-authenticate"),
    )
    shared.is_allowed_origin = allowed.origin  # type: ignore[method-assign]

    async def outermost(scope: Scope, receive: Receive, send: Send) -> None:
        await _answered(shared, check_sender, scope, receive, send)

    return outermost


def check_sender(scope: Scope, allowed: Allowed) -> None:
    """The names that a request is sent to and comes from."""
    if scope["type"] != "http":
        raise Refused(400, "this server speaks HTTP alone")
    hosts, origins = _headers(scope, b"host"), _headers(scope, b"origin")
    if len(hosts) != 1 or _host_of(hosts[0]) not in LOOPBACK | allowed.hosts:
        raise Refused(421, "this host is not allowed; `kedgeline mcp --allow-host NAME` allows one")
    if not all(map(allowed.origin, origins)):
        raise Refused(
            403, "this origin is not allowed; `kedgeline mcp --allow-origin ORIGIN` allows one"
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


def _headers(scope: Scope, name: bytes) -> list[str]:
    return [value.decode("latin-1") for key, value in scope["headers"] if key.lower() == name]


def _host_of(text: str) -> str:
    """The name in `name:port`; empty where it is nothing else."""
    try:
        parts = urlsplit(f"//{text.strip()}")
        _ = parts.port
    except ValueError:
        return ""
    behind = text.strip().rpartition("]")[2] if "]" in text else ":"
    if parts.netloc != text.strip() or "@" in text or behind[:1] not in ("", ":"):
        return ""
    return (parts.hostname or "").removesuffix(".")


def allowed_hosts(given: Iterable[str]) -> frozenset[str]:
    """The names that a user allows; what cannot be one is refused."""
    names = []
    for one in given:
        name = _host_of(f"[{one}]" if one.count(":") > 1 and not one.startswith("[") else one)
        if not name or any(sign in name for sign in "*, "):
            raise UserError(f"{one[:80]!r} is no host; name each one, as in --allow-host box.local")
        names.append(name)
    return frozenset(names)


def allowed_origins(given: Iterable[str]) -> frozenset[str]:
    for one in given:
        scheme, _, host = one.lower().partition("://")
        if scheme not in ("http", "https") or not _host_of(host) or "*" in one:
            raise UserError(
                f"{one[:80]!r} is no origin; write it as in --allow-origin https://box.local:8443"
            )
    return frozenset(one.lower() for one in given)


def address_of(text: str) -> Address:
    """HOST:PORT, with an address of IPv6 in brackets."""
    host, colon, port = text.strip().rpartition(":")
    bare = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    plain = colon and bare and (bare == host) == (":" not in bare)
    if not plain or not (port.isascii() and port.isdecimal()) or int(port) > 65_535:
        raise UserError(f"{text[:80]!r} is no address; write HOST:PORT, as in 127.0.0.1:8765")
    return Address(bare, int(port))


def is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def check_public(address: Address, hosts: frozenset[str]) -> None:
    """An address that others reach is served only where the user says under which name."""
    if not is_loopback(address.host) and not hosts:
        raise UserError(
            f"{address.host!r} can be reached from other machines; say under which name with "
            f"--allow-host, or listen on 127.0.0.1"
        )


def listening(address: Address) -> tuple[socket.socket, Address]:
    """An open port, and where it is: port 0 takes any that is free."""
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    try:
        opened = socket.create_server((address.host, address.port), family=family)
    except (OSError, UnicodeError, OverflowError) as error:
        why = (getattr(error, "strerror", None) or str(error)).lower()
        raise UserError(f"cannot listen on {address.url}: {why}; choose another port") from error
    return opened, Address(address.host, opened.getsockname()[1])


def serve_http(kept: Kept, opened: socket.socket, allowed: Allowed) -> None:
    import uvicorn
    from mcp.server.transport_security import TransportSecuritySettings

    server = Server(kept)
    # Our own check of hosts and origins comes before theirs, and for every path.
    app = server.streamable_http_app(
        streamable_http_path=PATH,
        transport_security=TransportSecuritySettings(enable_dns_rebinding_protection=False),
    )
    config = uvicorn.Config(
        guarded(app, allowed),
        log_config=None,
        log_level="warning",
        access_log=False,  # addresses may hold what was not meant for a log
        proxy_headers=False,
        server_header=False,
        ws="none",
        timeout_graceful_shutdown=ENDING_SECONDS,
    )

    async def run() -> None:
        try:
            await uvicorn.Server(config).serve(sockets=[opened])
        finally:
            server.close()

    anyio.run(run)


# The token of the server: given in a file or the environment, or made once and kept.

VARIABLE = "KEDGELINE_MCP_TOKEN"
NAME = "mcp-token"
"""File of a token that was made here, in the user's folder for state."""
BYTES = 32
"""Of chance in it: it cannot be guessed."""
LEAST = 16
"""Characters of a token that somebody gives: a shorter one can be."""
LARGEST = 4_096
"""Bytes of a token's file; a larger one holds something else."""
LONGER = "put such a one there; `openssl rand -hex 32` makes one"
ANEW = "remove the file, and one is made"
"""What to do about a token that is none: one that was given, and one that was made here."""


@dataclass(frozen=True)
class Token:
    value: str = field(repr=False)
    place: str
    """Where it stands: a file, or the variable."""


def token_from(file: Path | None) -> Token:
    """The token of a file, or else of the environment, or else the one that is kept for this user,
    which is made where there is none."""
    if file is not None:
        return Token(_checked(_read(file), str(file), LONGER), str(file))
    if given := surroundings().get(VARIABLE):
        return Token(_checked(given, VARIABLE, LONGER), VARIABLE)
    folder = Path(store_place(Settings()))
    place = str(folder / NAME)
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(folder, error) from error
    with folder_below(folder, largest=LARGEST) as state:
        assert state is not None  # it has no name below the root that could be missing
        held = state.read(NAME)
        if held is None:
            value = token_urlsafe(BYTES)
            with state.replacing(NAME) as made:
                made.write(f"{value}\n".encode())
            return Token(value, place)
    _check_mode(held.mode, place)
    return Token(_checked(held.data.decode("utf-8", "replace"), place, ANEW), place)


def _read(file: Path) -> str:
    """The user's own file, which may be a link; a pipe is opened without waiting for a writer."""
    try:
        with open(os.open(file, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK), "rb") as opened:
            mode = os.fstat(opened.fileno()).st_mode
            if not stat.S_ISREG(mode):
                raise UserError(f"{str(file)!r} is no plain file; check --token-file")
            _check_mode(mode, str(file))
            data = opened.read(LARGEST + 1)
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        if isinstance(error, IsADirectoryError):
            why = "is no plain file"
        raise UserError(f"cannot read the token in {str(file)!r}: {why}; check --token-file") from (
            error
        )
    if len(data) > LARGEST:
        raise UserError(f"{str(file)!r} is too large for a token; check --token-file")
    return data.decode("utf-8", "replace")


def _check_mode(mode: int, place: str) -> None:
    if stat.S_IMODE(mode) & 0o077:
        raise UserError(f"others can read the token in {place!r}; run chmod 600 on it")


def _checked(text: str, place: str, next_step: str) -> str:
    token = text.strip()
    if len(token) < LEAST or not token.isascii() or not token.isprintable() or " " in token:
        raise UserError(
            f"the token in {place!r} is none: it has {LEAST} characters or more, and no blanks; "
            f"{next_step}"
        )
    return token

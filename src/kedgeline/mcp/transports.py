"""Serving: over stdin and stdout, or over HTTP."""

from __future__ import annotations

import logging
import os
import signal
import socket
import stat
import sys
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from hmac import compare_digest
from ipaddress import ip_address
from pathlib import Path
from secrets import token_urlsafe
from typing import NamedTuple
from urllib.parse import parse_qsl, urlsplit

import anyio
import uvicorn
from mcp.server.transport_security import TransportSecuritySettings
from starlette.middleware.cors import CORSMiddleware
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from kedgeline.errors import UserError
from kedgeline.files import folder_below, unwritable
from kedgeline.mcp.server import Server
from kedgeline.mcp.sessions import Kept
from kedgeline.settings import Settings, store_place, surroundings

# Who may speak to the server over HTTP: known hosts, known origins, and whoever has the token.

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
        raise Refused(421, "this host is not allowed; `kedgeline mcp --allow-host NAME` allows one")
    if any(not _known_origin(origin, allowed) for origin in origins):
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


PATH = "/mcp"
INTERRUPTED = 128 + signal.SIGINT
"""What shells expect of a program that an interrupt ended."""
ENDING_SECONDS = 2
"""How long answers under way are waited for when the server is stopped."""


class Address(NamedTuple):
    host: str
    port: int

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}{PATH}"


def address_of(text: str) -> Address:
    """HOST:PORT, with an address of IPv6 in brackets."""
    host, colon, port = text.strip().rpartition(":")
    bare = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    plain = colon and bare and (bare == host) == (":" not in bare)
    if not plain or not (port.isascii() and port.isdecimal()) or int(port) > 65_535:
        raise UserError(f"{text[:80]!r} is no address; write HOST:PORT, as in 127.0.0.1:8765")
    return Address(bare, int(port))


def check_public(address: Address, hosts: frozenset[str]) -> None:
    """An address that others reach is served only where the user says under which name."""
    if not is_loopback(address.host) and not hosts:
        raise UserError(
            f"{address.host!r} can be reached from other machines; say under which name with "
            f"--allow-host, or listen on 127.0.0.1"
        )


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
            server.jobs.close()

    # The SDK reads stdin in a thread that no interrupt ends. The store takes back what is half
    # written when the program goes.
    signal.signal(signal.SIGINT, lambda *_: os._exit(INTERRUPTED))
    anyio.run(run)


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
            server.jobs.close()

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
    return _kept()


def _read(file: Path) -> str:
    try:
        # A pipe is opened without waiting for whoever writes into it.
        descriptor = os.open(file, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
        try:
            found = os.fstat(descriptor)
            if not stat.S_ISREG(found.st_mode):
                raise UserError(f"{str(file)!r} is no plain file; check --token-file")
            _check_mode(found.st_mode, str(file))
            data = os.read(descriptor, LARGEST + 1)
        finally:
            os.close(descriptor)
    except OSError as error:
        why = (error.strerror or str(error)).lower()
        raise UserError(f"cannot read the token in {str(file)!r}: {why}; check --token-file") from (
            error
        )
    if len(data) > LARGEST:
        raise UserError(f"{str(file)!r} is too large for a token; check --token-file")
    return data.decode("utf-8", "replace")


def _kept() -> Token:
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
            with state.replacing(NAME) as file:
                file.write(f"{value}\n".encode())
            return Token(value, place)
    _check_mode(held.mode, place)
    return Token(_checked(held.data.decode("utf-8", "replace"), place, ANEW), place)


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

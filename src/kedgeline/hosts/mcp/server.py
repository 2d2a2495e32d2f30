"""The server over HTTP, which is the SDK's own."""

from __future__ import annotations

import socket
import stat
from hmac import compare_digest
from importlib.metadata import version
from ipaddress import ip_address
from pathlib import Path
from secrets import token_urlsafe
from typing import TYPE_CHECKING, Any, NamedTuple

import anyio
from mcp.server import Server
from mcp_types import CallToolRequestParams, CallToolResult, ListToolsResult

from kedgeline.errors import UserError
from kedgeline.files import folder_below, unwritable
from kedgeline.hosts.mcp.calls import INSTRUCTIONS, answering, tools
from kedgeline.hosts.mcp.sessions import Kept
from kedgeline.settings import Settings, store_place, surroundings

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Receive, Scope, Send


def server_of(kept: Kept) -> Server[Any]:
    answered = answering(kept)

    async def list_tools(context: object, params: object) -> ListToolsResult:
        return ListToolsResult.model_validate({"tools": tools()})

    async def call_tool(context: object, params: CallToolRequestParams) -> CallToolResult:
        result = await anyio.to_thread.run_sync(answered, params.name, params.arguments or {})
        return CallToolResult.model_validate(result)

    return Server(
        "kedgeline",
        version=version("kedgeline"),
        instructions=INSTRUCTIONS,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


PATH = "/mcp"
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")


class Address(NamedTuple):
    host: str
    port: int

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"http://{host}:{self.port}{PATH}"


def address_of(text: str, hosts: tuple[str, ...] = ()) -> Address:
    """HOST:PORT, with an address of IPv6 in brackets. One that others reach is served only where
    the user says under which name."""
    host, colon, port = text.strip().rpartition(":")
    bare = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    plain = colon and bare and (bare == host) == (":" not in bare)
    if not plain or not (port.isascii() and port.isdecimal()) or int(port) > 65_535:
        raise UserError(f"{text[:80]!r} is not an address; write HOST:PORT, as in 127.0.0.1:8765")
    if not hosts and not is_loopback(bare):
        raise UserError(
            f"{bare!r} can be reached from other machines; say under which name with --allow-host, "
            f"or listen on 127.0.0.1"
        )
    return Address(bare, int(port))


def is_loopback(host: str) -> bool:
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def listening(address: Address) -> tuple[socket.socket, Address]:
    """An open port, and where it is: port 0 takes any that is free."""
    family = socket.AF_INET6 if ":" in address.host else socket.AF_INET
    try:
        opened = socket.create_server((address.host, address.port), family=family)
    except (OSError, UnicodeError, OverflowError) as error:
        why = (getattr(error, "strerror", None) or str(error)).lower()
        raise UserError(f"cannot listen on {address.url}: {why}; choose another port") from error
    return opened, Address(address.host, opened.getsockname()[1])


def serve_http(kept: Kept, opened: socket.socket, token: str, hosts: tuple[str, ...]) -> None:
    import uvicorn
    from mcp.server.transport_security import TransportSecuritySettings

    known = [*LOOPBACK, *hosts]
    security = TransportSecuritySettings(
        allowed_hosts=[one for host in known for one in (host, f"{host}:*")],
        allowed_origins=[
            one for host in LOOPBACK for one in (f"http://{host}", f"http://{host}:*")
        ],
    )
    app = server_of(kept).streamable_http_app(
        streamable_http_path=PATH, transport_security=security
    )
    config = uvicorn.Config(
        guarded(app, token),
        log_config=None,
        log_level="warning",
        access_log=False,
        proxy_headers=False,
        server_header=False,
        ws="none",
        timeout_graceful_shutdown=2,
    )
    anyio.run(lambda: uvicorn.Server(config).serve(sockets=[opened]))


def guarded(app: ASGIApp, token: str) -> ASGIApp:
    """The app for those who have the token, on every path."""
    from starlette.datastructures import Headers
    from starlette.responses import JSONResponse

    async def checked(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "lifespan":
            kind, _, given = Headers(scope=scope).get("authorization", "").partition(" ")
            right = compare_digest(given.strip().encode(), token.encode())
            if kind.lower() != "bearer" or not right:
                why = "send the token of this server as `Authorization: Bearer TOKEN`"
                answer = JSONResponse({"error": why}, 401, {"www-authenticate": "Bearer"})
                return await answer(scope, receive, send)
        return await app(scope, receive, send)

    return checked


# The token: given in a file or the environment, or made once and kept.

VARIABLE, TOKEN_FILE = "KEDGELINE_MCP_TOKEN", "mcp-token"
BYTES, LEAST, LARGEST = 32, 16, 4_096
"""Bytes of chance in a token that is made, characters of one that is given, and bytes of a file
that holds one."""


class Token(NamedTuple):
    value: str
    place: str
    """Where it stands: a file, or the variable."""


def token_from(file: Path | None) -> Token:
    """The token of a file, or else of the environment, or else the one that is kept for this user,
    which is made where there is none."""
    if file is None and (given := surroundings().get(VARIABLE)):
        return _checked(given, VARIABLE)
    path = file or Path(store_place(Settings())) / TOKEN_FILE
    try:
        if file is None:
            path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise unwritable(path.parent, error) from error
    with folder_below(path.parent, largest=LARGEST) as folder:
        assert folder is not None  # it has no name below the root that could be missing
        held = folder.read(path.name)
        if held is None:
            if file is not None:
                raise UserError(f"there is no file {str(file)!r}; check --token-file")
            value = token_urlsafe(BYTES)
            with folder.replacing(path.name) as made:
                made.write(f"{value}\n".encode())
            return Token(value, str(path))
    if stat.S_IMODE(held.mode) & 0o077:
        raise UserError(f"others can read the token in {str(path)!r}; run chmod 600 on it")
    return _checked(held.data.decode("utf-8", "replace"), str(path))


def _checked(text: str, place: str) -> Token:
    token = text.strip()
    if len(token) < LEAST or not token.isascii() or not token.isprintable() or " " in token:
        raise UserError(
            f"the token in {place!r} is invalid: it needs {LEAST} characters or more, without "
            f"blanks; `openssl rand -hex 32` makes one"
        )
    return Token(token, place)

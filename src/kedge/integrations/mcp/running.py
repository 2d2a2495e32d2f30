"""Serving: over stdin and stdout, or over HTTP."""

from __future__ import annotations

import logging
import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import NamedTuple

import anyio
import uvicorn
from mcp.server.transport_security import TransportSecuritySettings

from kedge.errors import UserError
from kedge.integrations.mcp.gate import Allowed, guarded, is_loopback
from kedge.integrations.mcp.kept import Kept
from kedge.integrations.mcp.lines import Lines
from kedge.integrations.mcp.server import Server

PATH = "/mcp"
STDIN = 0
"""Descriptor of what a client writes to."""
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
        stream=sys.stderr, level=logging.WARNING, format="kedge mcp: %(levelname)s %(message)s"
    )


def serve_stdio(kept: Kept) -> None:
    """Until the client is gone, or an interrupt, which is raised again."""
    server = Server(kept)

    async def run(stdin: int) -> None:
        try:
            await server.run_lines(Lines(stdin))
        finally:
            server.jobs.close()

    with _own_stdin() as stdin:
        anyio.run(run, stdin)


@contextmanager
def _own_stdin() -> Iterator[int]:
    """What the client writes to, under a descriptor of our own: programs that are started meanwhile
    must not read it. It stays open, as a thread may still read from it."""
    try:
        own = os.dup(STDIN)
    except OSError as error:
        raise UserError("there is no stdin to serve; let a client start it, or give --http") from (
            error
        )
    empty = os.open(os.devnull, os.O_RDONLY)
    os.dup2(empty, STDIN)
    os.close(empty)
    try:
        yield own
    finally:
        os.dup2(own, STDIN)


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

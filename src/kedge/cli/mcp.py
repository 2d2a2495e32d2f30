"""`kedge mcp`: sessions that are kept, for agents that speak the Model Context Protocol."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from contextlib import closing
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kedge.cli.kept import StoreOption
from kedge.cli.output import harmless, write_json

if TYPE_CHECKING:
    from kedge.integrations.mcp.gate import Allowed
    from kedge.integrations.mcp.kept import Kept
    from kedge.integrations.mcp.running import Address

Http = Annotated[
    str | None,
    typer.Option(
        "--http",
        metavar="HOST:PORT",
        help="Serve over HTTP instead of stdin and stdout, e.g. 127.0.0.1:8765; port 0 takes any.",
    ),
]
TokenFile = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="The token that clients must send; else KEDGE_MCP_TOKEN, else one is made and kept.",
    ),
]
Hosts = Annotated[
    list[str] | None,
    typer.Option(
        "--allow-host",
        metavar="NAME",
        help="Also answer requests to this name; may be repeated. Needed to listen where other "
        "machines reach it.",
    ),
]
Origins = Annotated[
    list[str] | None,
    typer.Option(
        "--allow-origin",
        metavar="ORIGIN",
        help="Also answer pages of this origin, e.g. https://box.local; may be repeated.",
    ),
]
SessionOption = Annotated[
    str,
    typer.Option(
        "--session",
        metavar="SESSION",
        help="The session that is meant where a call names none; else the newest of this folder, "
        "or of one above.",
    ),
]
Told = Annotated[
    bool,
    typer.Option(
        "--json", help="Say in one JSON object how it serves, then serve; on stderr without --http."
    ),
]


def mcp(
    http: Http = None,
    token_file: TokenFile = None,
    allow_host: Hosts = None,
    allow_origin: Origins = None,
    store: StoreOption = None,
    session: SessionOption = "",
    json: Told = False,
) -> None:
    """Serve sessions to agents over the Model Context Protocol, until the client is gone.

    Without --http it is started by the client and speaks on stdin and stdout; what there is to
    know goes to stderr."""
    from kedge.integrations.mcp.extra import check_extra

    if http is None and (token_file or allow_host or allow_origin):
        raise typer.BadParameter("--token-file, --allow-host and --allow-origin need --http")
    check_extra()
    from kedge.integrations.mcp.kept import opened
    from kedge.integrations.mcp.running import log_to_stderr, serve_stdio

    log_to_stderr()
    kept = opened(store, session=session)
    with closing(kept.store):
        if http is not None:
            _serve_http(kept, http, token_file, allow_host or (), allow_origin or (), json=json)
            return
        if json:
            typer.echo(dumps(as_json(kept)), err=True)
        serve_stdio(kept)


def _serve_http(
    kept: Kept,
    http: str,
    token_file: Path | None,
    hosts: Iterable[str],
    origins: Iterable[str],
    *,
    json: bool,
) -> None:
    """Say where, and serve. What is wrong is told before the port is open."""
    from kedge.integrations.mcp.gate import Allowed, allowed_hosts, allowed_origins, is_loopback
    from kedge.integrations.mcp.running import address_of, check_public, listening, serve_http
    from kedge.integrations.mcp.token_file import token_from

    wanted, names = address_of(http), allowed_hosts(hosts)
    check_public(wanted, names)
    token = token_from(token_file)
    allowed = Allowed(token.value, names, allowed_origins(origins))
    opened, address = listening(wanted)
    with opened:
        if json:
            write_json(as_json(kept, address, allowed, token.place))
            sys.stdout.flush()
        else:
            typer.echo(f"serving {address.url}; the token is in {harmless(token.place)}", err=True)
        if not is_loopback(address.host):
            typer.echo(
                "warning: over plain HTTP others can read along; put TLS before it", err=True
            )
        serve_http(kept, opened, allowed)


def as_json(
    kept: Kept, address: Address | None = None, allowed: Allowed | None = None, token: str = ""
) -> dict[str, Any]:
    """The keys of `kedge mcp --json`. The token itself is in none of them."""
    from kedge.integrations.mcp.gate import LOOPBACK

    return {
        "transport": "stdio" if address is None else "http",
        "url": address.url if address else None,
        "token_in": token or None,
        "allowed_hosts": sorted(LOOPBACK | allowed.hosts) if allowed else [],
        "allowed_origins": sorted(allowed.origins) if allowed else [],
        "store": kept.clean(kept.place),
        "session": kept.default or None,
        "folder": str(kept.folder),
    }

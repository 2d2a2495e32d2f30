"""`kedgeline serve`: an endpoint for agents in any language."""

from __future__ import annotations

import json
from typing import Annotated

import typer

from kedgeline.cli import options
from kedgeline.planning import POLICY


def serve(
    port: Annotated[
        int, typer.Option(min=0, max=65_535, help="The port on loopback; 0 takes a free one.")
    ] = 8_377,
    window: options.Window = None,
    at: Annotated[
        float, typer.Option(min=0.05, max=1, help="Share of the usable window to compact from.")
    ] = POLICY.begin,
    target: Annotated[
        float, typer.Option(min=0.05, max=1, help="Share of it that is left at the most.")
    ] = POLICY.target,
    store: Annotated[
        str | None, typer.Option(help="Keep originals in this store; without it nothing is kept.")
    ] = None,
    as_json: Annotated[
        bool, typer.Option("--json", help="Say where it listens as JSON, on one line.")
    ] = False,
) -> None:
    """Answer `POST /compact` on loopback: a list of messages in, the list to send out. For agents
    in any language; plugins/ai-sdk has the few lines for Vercel's AI SDK."""
    from kedgeline.adapters.endpoint import Endpoint

    endpoint = Endpoint(port, window=window, at=at, target=target, store=store)
    place = f"http://127.0.0.1:{endpoint.server_port}"
    typer.echo(json.dumps({"url": place}) if as_json else f"listening on {place}")
    try:
        endpoint.serve_forever()
    except KeyboardInterrupt:
        raise typer.Exit(130) from None
    finally:
        endpoint.server_close()

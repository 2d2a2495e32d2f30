"""`kedgeline serve`: an endpoint for agents in any language."""

from __future__ import annotations

from json import dumps
from typing import Annotated

import typer

from kedgeline.cli import options
from kedgeline.cli.options import flag, option
from kedgeline.planning import POLICY


def serve(
    port: Annotated[
        int, option("The port on loopback; 0 takes a free one.", min=0, max=65_535)
    ] = 8_377,
    window: options.Window = None,
    at: Annotated[
        float, option("Share of the usable window to compact from.", min=0.05, max=1)
    ] = POLICY.begin,
    target: Annotated[
        float, option("Share of it that is left at the most.", min=0.05, max=1)
    ] = POLICY.target,
    store: Annotated[
        str | None,
        option("Keep originals in this store; without it nothing is kept.", metavar="PLACE"),
    ] = None,
    json: Annotated[bool, flag("Say where it listens as JSON, on one line.", "--json")] = False,
) -> None:
    """Compact lists of messages for agents in any language, over HTTP on loopback.

    `POST /compact` takes a list and answers with the list to send; plugins/ai-sdk has the few
    lines for Vercel's AI SDK."""
    from kedgeline.adapters.endpoint import Endpoint

    endpoint = Endpoint(port, window=window, at=at, target=target, store=store)
    place = f"http://127.0.0.1:{endpoint.server_port}"
    typer.echo(dumps({"url": place}) if json else f"listening on {place}")
    try:
        endpoint.serve_forever()
    except KeyboardInterrupt:
        raise typer.Exit(130) from None
    finally:
        endpoint.server_close()

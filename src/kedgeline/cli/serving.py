"""Servers and pages: `kedgeline mcp`, `serve`, `web` and `html`."""

from __future__ import annotations

import sys
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path

import typer

from kedgeline.cli.opening import (
    configured_store,
    is_file,
    make_redactor,
    open_kept,
    refuse_for_kept,
    window_of_settings,
    written_to,
)
from kedgeline.cli.options import SessionSource
from kedgeline.cli.output import bytes_told, progress, say, say_done, show, write_json
from kedgeline.errors import MissingExtra
from kedgeline.pipeline.read import plain_file
from kedgeline.planning import POLICY
from kedgeline.settings import load_settings


def mcp(store: str | None = None, session: str = "", json: bool = False) -> None:
    """Serve sessions to agents over the Model Context Protocol, until the client disconnects.

    The client starts it and talks to it on stdin and stdout; messages go to stderr.

    Args:
        session SESSION: Session for calls that name none; else the newest of this folder, or of
            one above.
        json: Print one JSON object that describes the server on stderr, then serve.
    """
    import logging
    from json import dumps

    from kedgeline.hosts.mcp.sessions import opened
    from kedgeline.hosts.mcp.stdio import serve_stdio

    logging.basicConfig(
        stream=sys.stderr, level=logging.WARNING, format="kedgeline mcp: %(levelname)s %(message)s"
    )
    with closing(opened(store, session=session)) as kept:
        if json:
            about = {"store": kept.clean(kept.place), "session": kept.default or None}
            typer.echo(dumps({**about, "folder": str(kept.folder)}), err=True)
        serve_stdio(kept)


def serve(
    port: int = 8_377,
    window: int | None = None,
    at: float = POLICY.begin,
    target: float = POLICY.target,
    store: str | None = None,
    json: bool = False,
) -> None:
    """Compact lists of messages for agents in any language, over HTTP on loopback.

    `POST /compact` takes a list and answers with the list to send; plugins/ai-sdk has the few
    lines for Vercel's AI SDK.

    Args:
        port N>=0<=65535: The port on loopback; 0 takes a free one.
        at N>=0.05<=1: Compact from this share of the usable window on.
        target N>=0.05<=1: Largest share of it that remains.
        store PLACE: Keep originals in this store; without it nothing is kept.
        json: Print one JSON object with the address, then serve.
    """
    from kedgeline.adapters.endpoint import Endpoint

    window = window or window_of_settings()
    with Endpoint(port, window=window, at=at, target=target, store=store) as endpoint:
        place = f"http://127.0.0.1:{endpoint.server_port}"
        if json:
            write_json({"url": place})
        else:
            show(f"listening on {place}")
        sys.stdout.flush()
        try:
            endpoint.serve_forever()
        except KeyboardInterrupt:
            raise typer.Exit(130) from None


def web(
    session: str | None = None,
    port: int = 0,
    browser: bool = False,
    window: int | None = None,
    store: str | None = None,
    json: bool = False,
) -> None:
    """Look at sessions in a browser: kept ones and those of agents on this machine.

    It serves this machine only, requires the token in the address, and runs until it is stopped.

    Args:
        session <SESSION>: Session to open first: a kept one, or a file.
        port N>=0<=65535: Port of this machine; 0 takes any.
        browser --open: Open the address in a browser.
        json: Print one JSON object with the address, then serve.
    """
    if not (find_spec("starlette") and find_spec("uvicorn")):
        raise MissingExtra("kedgeline web", "web")
    from kedgeline.web.server import HOST, new_token, web_socket
    from kedgeline.web.server import serve_viewer as serve_pages
    from kedgeline.web.session import Sessions

    with closing(configured_store(store)) as kept:
        sessions = Sessions(kept, window=window or 0, redactor=make_redactor())
        shown = ""
        if session is not None and is_file(session):
            plain_file(session).close()  # what cannot be read is told at once
            shown = sessions.add(Path(session))
        elif session is not None:
            shown = f"kept:{open_kept(session, kept).name}"
        token = new_token()
        with web_socket(port) as opened:
            place = f"http://{HOST}:{opened.getsockname()[1]}/?token={token}"
            place += f"#/s/{shown}" if shown else ""
            say_done({"url": place}, f"serving {place}", json=json)
            sys.stdout.flush()
            if browser:
                typer.launch(place)
            serve_pages(sessions, token, opened)


def html(
    source: SessionSource, out: str | None = None, window: int | None = None, json: bool = False
) -> None:
    """Write a session as one file for a browser: its timeline, turns, files and compactions.

    It opens from disk, loads nothing from the network, and secrets are removed.

    Args:
        out FILE: Where to write; - for stdout; else the session's name.
    """
    from kedgeline.pipeline.read import open_source
    from kedgeline.web.pages import html_page
    from kedgeline.web.session import ShownSession, open_file

    if out == "-" and json:
        raise typer.BadParameter("--json needs a file: the page itself goes to stdout")
    settings, redactor = load_settings(), make_redactor()
    if is_file(source.file):
        found = open_file(
            b"".join(open_source("-").lines) if source.file == "-" else source.file,
            redactor,
            settings=settings,
            window=window or 0,
            format=source.format,
            session=source.session,
        )
    else:
        refuse_for_kept(source)
        kept = open_kept(source.file, source.store)
        found = ShownSession(
            *(kept.name, kept.transcript(), redactor),
            settings=settings,
            window=window or 0,
            kept=kept,
        )
    with progress("writing the page"):
        page = html_page(found).encode("utf-8", "replace")
    path = out or f"{found.name}.html"
    with written_to(path) as target:
        target.write(page)
    if json:
        write_json({"file": path, "bytes": len(page), "turns": len(found.turns)})
    elif path != "-":
        say(f"wrote {path}: {len(found.turns):,} turns, {bytes_told(len(page))}")

"""Sessions in a browser: `kedgeline web` and `kedgeline html`."""

from __future__ import annotations

import sys
from contextlib import closing
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated

import typer

from kedgeline.cli import options
from kedgeline.cli.opening import is_file, make_redactor, open_kept, open_store, refuse_for_kept
from kedgeline.cli.options import Source, argument, flag, option
from kedgeline.cli.output import bytes_told, harmless, say, write_json
from kedgeline.errors import MissingExtra
from kedgeline.files import folder_below
from kedgeline.pipeline.read import plain_file
from kedgeline.settings import load_settings

MOST_PORT = 65_535


def html(
    source: Source,
    out: Annotated[
        str | None,
        option("Where to write; - for stdout; else the session's name.", "--out", metavar="FILE"),
    ] = None,
    window: options.Window = None,
    json: options.Json = False,
) -> None:
    """Write a session as one file for a browser: its timeline, turns, files and compactions.

    It opens from disk, asks for nothing from anywhere, and has no secrets in it."""
    from kedgeline.pipeline.read import open_source
    from kedgeline.web.found import open_file
    from kedgeline.web.html import html_page
    from kedgeline.web.session import Opened

    settings, redactor = load_settings(), make_redactor()
    if is_file(source.file):
        given = b"".join(open_source("-").lines) if source.file == "-" else source.file
        found = open_file(
            given,
            redactor,
            settings=settings,
            window=window or 0,
            format=source.format,
            session=source.session,
        )
    else:
        refuse_for_kept(source)
        kept = open_kept(source.file, source.store)
        found = Opened(
            *(kept.name, kept.transcript(), redactor),
            settings=settings,
            window=window or 0,
            kept=kept,
        )
    page = html_page(found).encode("utf-8", "replace")
    if out == "-":
        if json:
            raise typer.BadParameter("--json needs a file: the page itself goes to stdout")
        sys.stdout.buffer.write(page)
        return
    path = Path(out or f"{found.name}.html")
    if path.name in ("", ".."):
        raise typer.BadParameter(f"{str(path)!r} names no file")
    with folder_below(path.parent) as folder:
        assert folder is not None  # it is the root itself
        with folder.replacing(path.name) as target:
            target.write(page)
    if json:
        write_json({"file": str(path), "bytes": len(page), "turns": len(found.turns)})
    else:
        say(harmless(f"wrote {path}: {len(found.turns):,} turns, {bytes_told(len(page))}"))


def web(
    session: Annotated[
        str | None, argument("Open this one first: one that is kept, or a file.", metavar="SESSION")
    ] = None,
    port: Annotated[
        int,
        typer.Option(help="Port of this machine; 0 takes any.", min=0, max=MOST_PORT, metavar="N"),
    ] = 0,
    browser: Annotated[bool, flag("Open the address in a browser.", "--open")] = False,
    window: options.Window = None,
    store: options.StorePlace = None,
    json: Annotated[
        bool, flag("Say in one JSON object where it serves, then serve.", "--json")
    ] = False,
) -> None:
    """Look at sessions in a browser: those that are kept and those of agents on this machine.

    It serves this machine alone, to whoever has the token in the address, until it is stopped."""
    if not (find_spec("starlette") and find_spec("uvicorn")):
        raise MissingExtra("kedgeline web", "web")
    from kedgeline.web.found import Sessions
    from kedgeline.web.server import HOST, listening, new_token, serve

    with closing(open_store(store)) as kept:
        sessions = Sessions(kept, window=window or 0, redactor=make_redactor())
        shown = ""
        if session is not None and is_file(session):
            plain_file(session).close()  # what cannot be read is told at once
            shown = sessions.add(Path(session))
        elif session is not None:
            shown = f"kept:{open_kept(session, kept).name}"
        token = new_token()
        with listening(port) as opened:
            place = f"http://{HOST}:{opened.getsockname()[1]}/?token={token}"
            place += f"#/s/{shown}" if shown else ""
            if json:
                write_json({"url": place})
                sys.stdout.flush()
            else:
                say(f"serving {place}")
            if browser:
                typer.launch(place)
            serve(sessions, token, opened)

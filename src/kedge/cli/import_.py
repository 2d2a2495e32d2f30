"""`kedge import`: an exported session, taken in."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Annotated, BinaryIO

import typer

from kedge.cli.kept import StoreOption, opened_store, redactor
from kedge.cli.output import Json, harmless, write_json
from kedge.cli.progress import progress
from kedge.errors import SourceUnreadable


def import_(
    file: Annotated[
        str, typer.Argument(metavar="FILE|-", help="What `kedge export` wrote; - for stdin.")
    ],
    name: Annotated[
        str | None, typer.Option("--as", metavar="NAME", help="Another name for the session.")
    ] = None,
    json: Json = False,
    store: StoreOption = None,
) -> None:
    """Take in a session that `kedge export` wrote, as a whole or not at all.

    Every hash and chain is checked. A session of the same name is never touched: give --as NAME.
    Where settings say `keep_secrets = false`, secrets are left out as by `export --redacted`.
    """
    from kedge.exporting import import_session
    from kedge.settings import load_settings

    known = redactor()
    with _opened(file) as source, closing(opened_store(store)) as kept, progress() as watch:
        report = import_session(
            kept,
            source,
            name=name,
            clean=known.clean,
            cleaning=None if load_settings().keep_secrets else known,
            label=file if file != "-" else "<stdin>",
            watch=lambda done, total: watch(name or file, done, total),
        )
    if json:
        import msgspec

        write_json(msgspec.to_builtins(report))
        return
    origin = "" if report.origin == report.session else f" (it was {harmless(report.origin)})"
    typer.echo(
        f"imported {report.session}{origin}: {report.entries:,} entries, "
        f"{report.texts:,} large texts" + (", secrets left out" if report.redacted else ""),
        err=True,
    )


@contextmanager
def _opened(file: str) -> Iterator[BinaryIO]:
    if file == "-":
        if sys.stdin is None:
            raise SourceUnreadable("<stdin>", "it is closed")
        yield sys.stdin.buffer
        return
    try:
        source = Path(file).open("rb")  # noqa: SIM115 closed below; only opening is caught
    except (OSError, ValueError) as error:
        why = (getattr(error, "strerror", None) or str(error)).lower()
        raise SourceUnreadable(file, why) from error
    with source:
        yield source

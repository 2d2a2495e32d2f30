"""`kedge export`: a session as one file."""

from __future__ import annotations

import sys
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

from kedge.cli.kept import SessionName, StoreOption, opened_store, redactor
from kedge.cli.output import Json, harmless, write_json
from kedge.cli.progress import progress
from kedge.cli.sessions import size

if TYPE_CHECKING:
    from kedge.exporting import ExportReport
    from kedge.store import Store


def export(
    session: SessionName,
    file: Annotated[
        str, typer.Argument(metavar="[FILE|-]", help="Where to write; - for stdout.")
    ] = "-",
    redacted: Annotated[
        bool,
        typer.Option(
            "--redacted", help="Leave secrets out; ids and chains are made anew for that."
        ),
    ] = False,
    json: Json = False,
    store: StoreOption = None,
) -> None:
    """Write a session as one file that `kedge import` takes in again, the same in every way.

    Originals are exported as they are, secrets included, unless --redacted is given. A file is
    private to you, and takes its name only when it is whole.
    """
    if json and file == "-":
        raise typer.BadParameter("--json needs a FILE: the session itself goes to stdout")
    with closing(opened_store(store)) as kept:
        if file == "-":
            report = _exported(kept, session, sys.stdout.buffer, redacted=redacted)
        else:
            report = _into_file(kept, session, Path(file), redacted=redacted)
    if json:
        write_json({"file": file, **_fields(report)})
        return
    where = "" if file == "-" else f" to {harmless(file)}"
    typer.echo(
        f"exported {harmless(session)}{where}: {report.entries:,} entries, "
        f"{report.texts:,} large texts, {size(report.bytes)}"
        + (", secrets left out" if report.redacted else ", originals as they are"),
        err=True,
    )


def _into_file(kept: Store, session: str, path: Path, *, redacted: bool) -> ExportReport:
    from kedge.guarded_files import folder_below

    if path.name in ("", ".."):
        raise typer.BadParameter(f"{str(path)!r} names no file")
    with folder_below(path.parent) as folder:
        assert folder is not None  # it is the root itself
        with folder.replacing(path.name) as target:
            return _exported(kept, session, target, redacted=redacted)


def _exported(kept: Store, session: str, target: BinaryIO, *, redacted: bool) -> ExportReport:
    from kedge.exporting import export_session
    from kedge.recall.originals import check_session

    check_session(kept, session)
    with progress() as watch:
        return export_session(
            kept,
            session,
            target,
            cleaning=redactor() if redacted else None,
            watch=lambda done, total: watch(session, done, total),
        )


def _fields(report: ExportReport) -> dict[str, object]:
    return {
        "session": report.session,
        "entries": report.entries,
        "texts": report.texts,
        "bytes": report.bytes,
        "redacted": report.redacted,
    }

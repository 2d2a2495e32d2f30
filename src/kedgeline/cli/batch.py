"""Many sessions at once: `kedgeline batch`."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated, Any, Literal

import typer

from kedgeline.cli import options
from kedgeline.cli.options import amount, argument, flag, option, tokens_option
from kedgeline.cli.output import console, write_json
from kedgeline.errors import UserError

if TYPE_CHECKING:
    from kedgeline.batch.job import Done, Job, Progress

EVERY = 10.0
"""Seconds between two lines of progress where no person watches."""
SHOWN_INPUTS = 10
MIB = 1 << 20


Inputs = Annotated[
    list[str] | None,
    argument(
        "Files, folders, globs, Parquet and JSON Lines with `messages`, or addresses such as "
        "s3://bucket/folder.",
        metavar="INPUT…",
    ),
]
Out = Annotated[
    str,
    option(
        "Folder or address to write into; postgresql://…#NAME writes tables in a schema NAME.",
        "--out",
        metavar="DIR",
    ),
]
Tasks = Annotated[
    str,
    option(
        "What to do, by commas: stats, anchors, facts, summary, compact, probe, cost, rollout, "
        "export."
    ),
]
EngineName = Annotated[str, option("local, or ray for Ray Data.")]
Workers = Annotated[int, amount("Processes; 0 for one a core.", min=0)]
Address = Annotated[str, option("Of a Ray cluster; without it one is started here.")]
Format = Annotated[Literal["parquet", "jsonl"], option("Of what is written.")]
Where = Annotated[
    list[str] | None,
    option("Only these: format=claude-code; may be repeated.", metavar="KEY=VALUE"),
]
From = Annotated[
    str | None,
    option("Also read the sessions of a store: a folder, or postgresql://…", "--from"),
]
Sessions = Annotated[
    list[str] | None, option("Of the store, those of this pattern; may be repeated.")
]
Window = Annotated[int, tokens_option("Window that `compact` compacts into.", "--window")]
Room = Annotated[int, tokens_option("Room of a summary.", "--tokens")]
To = Annotated[
    str, option(f"Whose messages are written: {options.PROVIDERS}; or atif, for `export`.")
]
Limit = Annotated[int | None, amount("At most so many sources.", min=1)]
Sample = Annotated[float | None, amount("A share of the sources, such as 0.01.")]
Seed = Annotated[int, amount("Of the sample.")]
DryRun = Annotated[bool, flag("Say what would be done, and do nothing.", "--dry-run")]


def batch(
    inputs: Inputs = None,
    out: Out = "",
    do: Tasks = "stats",
    engine: EngineName = "local",
    workers: Workers = 0,
    address: Address = "",
    format: Format = "parquet",
    where: Where = None,
    store: From = None,
    sessions: Sessions = None,
    window: Window = 200_000,
    tokens: Room = 2_048,
    to: To = "anthropic",
    limit: Limit = None,
    sample: Sample = None,
    seed: Seed = 1,
    dry_run: DryRun = False,
    json: options.Json = False,
) -> None:
    """Do the same with thousands of sessions: read, check, compact, score, write as a dataset.

    A batch that was interrupted goes on where it stopped when it is started again. What cannot be
    read becomes a row in `errors`, and stops nothing.
    """
    from kedgeline.batch.job import Job, run
    from kedgeline.batch.tasks import Settings, tasks_named

    if not out:
        raise UserError("a batch needs a folder to write into; give --out DIR")
    if not inputs and not store:
        raise UserError("a batch needs sessions; give files or folders, or --from STORE")
    names = tasks_named([one.strip() for one in do.split(",") if one.strip()])
    job = Job(
        inputs=tuple(inputs or ()),
        out=out,
        settings=Settings(names, window, tokens, provider=to, formats=_formats(where or ())),
        engine=engine,
        workers=workers,
        address=address,
        format=format,
        store=store or "",
        sessions=tuple(sessions or ()),
        limit=limit,
        sample=sample,
        seed=seed,
    )
    if dry_run:
        _show_plan(job, json=json)
        return
    with _progress() as watch:
        done = run(job, watch=watch)
    if json:
        write_json(done._asdict())
    else:
        _show_done(done, out)


def _show_done(done: Done, out: str) -> None:
    rate = done.bytes / MIB / done.seconds if done.seconds else 0.0
    said = f"{done.rows:,} rows of {done.sources - done.skipped:,} sources in {out}"
    skipped = f", {done.skipped:,} done before" if done.skipped else ""
    errors = f", {done.errors:,} errors (in {out}/errors)" if done.errors else ""
    console().print(f"{said}{skipped}{errors}: {done.seconds:.1f} s, {rate:.1f} MB/s")


def _formats(where: tuple[str, ...] | list[str]) -> tuple[str, ...]:
    found = []
    for one in where:
        key, equals, value = one.partition("=")
        if key != "format" or not equals or not value:
            raise UserError(f"{one!r} cannot be asked for; write format=NAME")
        found.append(value)
    return tuple(found)


def _show_plan(job: Job, *, json: bool) -> None:
    from kedgeline.batch.job import batches, planned

    every, left, _ = planned(job)
    size = sum(one.size for one in left)
    about: dict[str, Any] = {"sources": len(every), "to_do": len(left), "bytes": size}
    if json:
        write_json({**about, "batches": len(batches(left)), "first": [s.key for s in left[:10]]})
        return
    out = console()
    out.print(f"{len(every):,} sources, {len(left):,} to do: {size / MIB:,.1f} MB")
    for source in left[:SHOWN_INPUTS]:
        out.print(f"  {source.key}  {source.size:,}", highlight=False, markup=False)
    if len(left) > SHOWN_INPUTS:
        out.print(f"  … and {len(left) - SHOWN_INPUTS:,} more")


@contextmanager
def _progress() -> Iterator[Any]:
    """A line that changes for a person who watches, one a while into a file."""
    if sys.stderr.isatty():
        with console(stderr=True).status("finding sessions") as status:
            yield lambda progress: status.update(_told(progress))
        return
    last = time.monotonic()

    def watch(progress: Progress) -> None:
        nonlocal last
        if time.monotonic() - last >= EVERY:
            last = time.monotonic()
            typer.echo(_told(progress), err=True)

    yield watch


def _told(progress: Progress) -> str:
    rate = progress.sources / progress.seconds if progress.seconds else 0.0
    megabytes = progress.bytes / MIB / progress.seconds if progress.seconds else 0.0
    return (
        f"{progress.sources:,} of {progress.of:,} sources, {progress.rows:,} rows, "
        f"{progress.errors:,} errors: {rate:,.0f} a second, {megabytes:,.1f} MB/s, "
        f"{progress.left:,.0f} s left"
    )

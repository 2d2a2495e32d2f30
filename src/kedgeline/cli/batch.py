"""Many sessions at once: `kedgeline batch`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from kedgeline.cli.output import console, progress, write_json
from kedgeline.errors import UserError

if TYPE_CHECKING:
    from kedgeline.batch.job import Done, Job, Progress

SHOWN_INPUTS = 10
MIB = 1 << 20


class WhichSessions(NamedTuple):
    """Which sessions.

    Args:
        inputs <INPUT…>: Files, folders, globs, Parquet and JSON Lines with `messages`, or addresses
            such as s3://bucket/folder.
        where KEY=VALUE: Only these: format=claude-code; may be repeated.
        store --from TEXT: Also read the sessions of a store: a folder, or postgresql://…
        sessions TEXT: Of the store, those of this pattern; may be repeated.
        limit N>=1: At most so many sources.
        sample N: A share of the sources, such as 0.01.
        seed N: Of the sample.
    """

    inputs: list[str] | None = None
    where: list[str] | None = None
    store: str | None = None
    sessions: list[str] | None = None
    limit: int | None = None
    sample: float | None = None
    seed: int = 1


class RunsOn(NamedTuple):
    """What does the work.

    Args:
        engine TEXT: local, or ray for Ray Data.
        workers N>=0: Processes; 0 for one a core.
        address TEXT: Of a Ray cluster; without it one is started here.
    """

    engine: str = "local"
    workers: int = 0
    address: str = ""


def batch(
    given: WhichSessions,
    by: RunsOn,
    out: str = "",
    do: str = "stats",
    format: Literal["parquet", "jsonl"] = "parquet",
    window: int = 200_000,
    tokens: int = 2_048,
    to: str = "anthropic",
    dry_run: bool = False,
    json: bool = False,
) -> None:
    """Do the same with thousands of sessions: read, check, compact, score, write as a dataset.

    A batch that was interrupted goes on where it stopped when it is started again. What cannot be
    read becomes a row in `errors`, and stops nothing.

    Args:
        out DIR: Folder or address to write into; postgresql://…#NAME writes tables in a schema
            NAME.
        do TEXT: What to do, by commas: stats, anchors, facts, summary, compact, probe, cost,
            rollout, export.
        format TEXT: Of what is written.
        window TOKENS: Window that `compact` compacts into.
        tokens TOKENS: Room of a summary.
        to TEXT: Whose messages are written: anthropic, openai-chat, openai-responses or gemini; or
            atif, for `export`.
        dry_run: Say what would be done, and do nothing.
    """
    from kedgeline.batch.job import Job, run
    from kedgeline.batch.tasks import Settings, tasks_named

    if not out:
        raise UserError("a batch needs a folder to write into; give --out DIR")
    if not given.inputs and not given.store:
        raise UserError("a batch needs sessions; give files or folders, or --from STORE")
    names = tasks_named([one.strip() for one in do.split(",") if one.strip()])
    job = Job(
        inputs=tuple(given.inputs or ()),
        out=out,
        settings=Settings(names, window, tokens, provider=to, formats=_formats(given.where or ())),
        **by._asdict(),
        format=format,
        store=given.store or "",
        sessions=tuple(given.sessions or ()),
        limit=given.limit,
        sample=given.sample,
        seed=given.seed,
    )
    if dry_run:
        _show_plan(job, json=json)
        return
    with progress("finding sessions") as tell:
        done = run(job, watch=lambda now: tell(_told(now)))
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


def _told(progress: Progress) -> str:
    rate = progress.sources / progress.seconds if progress.seconds else 0.0
    megabytes = progress.bytes / MIB / progress.seconds if progress.seconds else 0.0
    return (
        f"{progress.sources:,} of {progress.of:,} sources, {progress.rows:,} rows, "
        f"{progress.errors:,} errors: {rate:,.0f} a second, {megabytes:,.1f} MB/s, "
        f"{progress.left:,.0f} s left"
    )

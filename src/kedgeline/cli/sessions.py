"""Sessions that are kept: `kedgeline add`, `sessions`, `history`, `export`, `import`, `fsck`,
`gc`; and many at once: `kedgeline batch`."""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Literal, NamedTuple

import typer

from kedgeline.cli.opening import configured_store, make_redactor, open_kept, written_to
from kedgeline.cli.output import (
    bytes_told,
    count,
    fields,
    progress,
    rows_table,
    say,
    say_done,
    shorten,
    show,
    show_rows,
    time_at,
    watch_turns,
    write_json,
    write_lines,
)
from kedgeline.errors import SourceUnreadable, StoreDamaged, UserError
from kedgeline.files import checked
from kedgeline.pipeline.read import plain_file
from kedgeline.settings import load_settings

if TYPE_CHECKING:
    from kedgeline.batch.job import BatchJob, Done, Progress
    from kedgeline.session.checking import Removal, Removed
    from kedgeline.session.journal import Event
    from kedgeline.store import Problem

REASON_WIDTH = 100
"""Characters of a reason in the history."""
DAMAGED = 1
"""Exit code where something is damaged, and is not repaired."""
EVENTS = {"attempt": "nothing done", "compaction": "compaction {count}"}
NO_RULES = (
    "no rule is given, so no session is deleted; rules are --older-than 90d, --larger-than 100MB, "
    "--match 'ci-*' and --keep-last 20, and a session must match all that are given"
)
OPENCODE = "opencode"
"""Folder beside that of the hooks in which the plugin for OpenCode keeps copies of sessions and
what was put back."""
_COPY = re.compile(r"(.+)\.(?:json|put-back)(?:\.\d+-\d+)?")
"""The plugin's files of a session; numbers are behind those that were not written to the end."""


def add(
    session: str,
    file: str,
    json: bool = False,
    format: str | None = None,
    number: int | None = None,
    key: str = "",
    force: bool = False,
    store: str | None = None,
) -> None:
    """Keep a session: every original, before anything is compacted.

    An agent's own file may be added again as it grows: only new turns are written, and turns that
    the user rewound are removed from the view. Messages of a model API are appended; those that
    are there already are skipped.

    Args:
        file <FILE>: An agent's session file, or messages of a model API; - for stdin.
        number --session N>=0: Which session, where the file holds several.
        key KEY: Messages that are sent again under the same key are added once.
        force: Make the session equal to the file, even if the file is another session's or an old
            copy.
    """
    from kedgeline.pipeline.read import open_source
    from kedgeline.session.alignment import listed

    kept = open_kept(session, store, new=True)
    source = b"".join(open_source(file).lines) if file == "-" else file
    found = listed(source, format, session=number)
    agents = 0
    if found.messages is not None:
        done = kept.append(found.messages, format=format, key=key)
    else:
        form = found.format
        done = kept.follow(source, format=form, session=number, watch=watch_turns, force=force)
        agents = done.new + done.known - done.turns  # sub-agents' turns are among the new and known
    of_agents = f" and {agents:,} of sub-agents" if agents else ""
    told = f"{done.new:,} new, {done.known:,} known; {count(done.turns, 'turn')}{of_agents} in all"
    if done.taken_back:
        told += f"; {count(done.taken_back, 'turn')} taken back"
    if done.undone:
        told += f"; {count(done.undone, 'compaction')} of such turns undone"
    say_done({"session": session, **done._asdict()}, f"{session}: {told}", json=json)


def sessions(json: bool = False, store: str | None = None) -> None:
    """List the kept sessions, the most recent first."""
    kept = configured_store(store)
    rows = []
    for info in kept.sessions():
        context = open_kept(info.name, kept).context_tokens()
        rows.append(
            {
                **fields(info, "name turns tokens"),
                "context_tokens": context.total,
                "context_kind": context.kind,
                **fields(info, "compactions entries bytes"),
                "first": time_at(info.first),
                "last": time_at(info.last),
            }
        )
    columns: dict[str, Any] = {
        "session": "name",
        ">turns": "turns",
        ">context": "context_tokens",
        "": "context_kind",
        ">compactions": "compactions",
        ">size": lambda row: bytes_told(row["bytes"]),
        "last written": "last",
    }
    show_rows(
        rows, columns, json=json, empty="no sessions yet; keep one with: kedgeline add NAME FILE"
    )


def history(session: str, json: bool = False, store: str | None = None) -> None:
    """Show the compactions of a session, failed attempts too, and its origin."""
    rows = list(map(_event_as_json, open_kept(session, store).history()))
    columns: dict[str, Any] = {
        "when": "at",
        "what": lambda row: EVENTS.get(row["what"], row["what"]).format(**row),
        "tokens": _tokens,
        ">score": lambda row: row.get("probe_score", ""),
        "": _why,
    }
    show_rows(rows, columns, json=json, empty="nothing was compacted yet")


def _event_as_json(event: Event) -> dict[str, Any]:
    from kedgeline.session.journal import Forked, Recorded

    values: dict[str, Any] = {"at": time_at(event.at), "entry": event.number}
    what = event.what
    if isinstance(what, Forked):
        return values | {"what": "fork", "of": what.session, "turns": what.turns}
    if not isinstance(what, Recorded):
        return values | {"what": "attempt", "reason": what.why}
    made = what.compaction
    return values | {
        "what": "compaction",
        "count": made.count,
        "undone": event.undone,
        "cut": made.plan.cut,
        **fields(made, "tokens_before tokens_after"),
        "probe_score": made.verdict.score if made.verdict else None,
        "chain": what.chain,
        "reason": made.plan.reason,
    }


def _tokens(row: dict[str, Any]) -> str:
    if row["what"] != "compaction":
        return ""
    return f"{row['tokens_before']:,} → {row['tokens_after']:,}"


def _why(row: dict[str, Any]) -> str:
    if row["what"] == "fork":
        return shorten(f"of {row['of']}, {row['turns']:,} turns", REASON_WIDTH)
    cut = f"cut before t{row['cut']}: " if "cut" in row else ""
    undone = "undone; " if row.get("undone") else ""
    return shorten(f"{undone}{cut}{row['reason']}", REASON_WIDTH)


# As one file, and back.


def export(
    session: str,
    file: str = "-",
    redacted: bool = False,
    json: bool = False,
    store: str | None = None,
) -> None:
    """Write a session to one file, from which `kedgeline import` restores it exactly.

    Originals are exported as they are, secrets included, unless --redacted is given. The file is
    readable only by you, and gets its name once it is complete.

    Args:
        file <[FILE|-]>: Where to write; - for stdout.
        redacted: Leave secrets out; this changes ids and hash chains.
    """
    from kedgeline.session.archive import check_session
    from kedgeline.session.exports import export_session

    if json and file == "-":
        raise typer.BadParameter("--json needs a FILE: the session itself goes to stdout")
    with closing(configured_store(store)) as kept, written_to(file) as target:
        check_session(kept, session)
        cleaning = make_redactor() if redacted else None
        with progress(f"exporting {session}") as tell:
            report = export_session(
                kept,
                session,
                target,
                cleaning=cleaning,
                watch=lambda done, total: tell(session, done, total),
            )
    where = "" if file == "-" else f" to {file}"
    secrets = "secrets left out" if report.redacted else "originals as they are"
    said = (
        f"exported {session}{where}: {report.entries:,} entries, "
        f"{report.texts:,} large texts, {bytes_told(report.bytes)}, {secrets}"
    )
    values = {"file": file, **fields(report, "session entries texts bytes redacted")}
    say_done(values, said, json=json)


def import_command(
    file: str, name: str | None = None, json: bool = False, store: str | None = None
) -> None:
    """Import a session that `kedgeline export` wrote, completely or not at all.

    Every hash and chain is checked. A session of the same name is never touched: give --as NAME.
    Where settings say `keep_secrets = false`, secrets are left out as by `export --redacted`.

    Args:
        file <FILE|->: What `kedgeline export` wrote; - for stdin.
        name --as NAME: Another name for the session.
    """
    from kedgeline.session.exports import import_session

    known = make_redactor()
    with (
        open_export(file) as source,
        closing(configured_store(store)) as kept,
        progress(f"importing {file}") as watch,
    ):
        report = import_session(
            kept,
            source,
            name=name,
            clean=known.clean,
            cleaning=None if load_settings().keep_secrets else known,
            label=file if file != "-" else "<stdin>",
            watch=lambda done, total: watch(name or file, done, total),
        )
    origin = "" if report.origin == report.session else f" (it was {report.origin})"
    secrets = ", secrets left out" if report.redacted else ""
    counts = f"{report.entries:,} entries, {report.texts:,} large texts"
    say_done(report, f"imported {report.session}{origin}: {counts}{secrets}", json=json)


@contextmanager
def open_export(file: str) -> Iterator[BinaryIO]:
    if file == "-":
        if sys.stdin is None:
            raise SourceUnreadable("<stdin>", "it is closed")
        yield sys.stdin.buffer
        return
    with plain_file(file) as source:
        yield source


# Checked, and tidied up.


def fsck(
    session: list[str] | None = None,
    repair: bool = False,
    json: bool = False,
    store: str | None = None,
) -> None:
    """Check everything that is kept: hashes, chains, references, and the indexes.

    Shows which turns are damaged and what of them is lost. --repair rebuilds the indexes; it never
    changes or removes an original. Exits with 1 if damage remains.

    Args:
        session SESSION: Only this session; may be repeated.
        repair: Rebuild what can be rebuilt from the originals.
    """
    from kedgeline.session import checking
    from kedgeline.session.archive import check_session

    names = tuple(session or ())
    fixed: list[Problem] = []
    with closing(configured_store(store)) as kept:
        for name in names:
            check_session(kept, name)
        if repair:
            clean = make_redactor().clean
            with progress("repairing") as watch:
                fixed = list(checking.repair(kept, sessions=names, clean=clean, watch=watch))
        with progress("checking") as watch:
            left = list(checking.check(kept, sessions=names, watch=watch))
        number = len(names)
        with suppress(StoreDamaged):  # said already
            number = number or len(kept.sessions())
    rows = [
        {**fields(one, "where what repairable"), "repaired": repaired}
        for problems, repaired in ((fixed, True), (left, False))
        for one in problems
    ]
    if json:
        write_lines(rows)
    else:
        can = sum(problem.repairable for problem in left)
        result = f"{len(left):,} damaged" if left else "nothing is damaged"
        result += f", of which `kedgeline fsck --repair` can repair {can:,}" if can else ""
        columns: dict[str, Any] = {
            "": lambda row: "repaired" if row["repaired"] else "damaged",
            "where": "where",
            "what": "what",
        }
        show(
            rows_table(rows, columns) if rows else None,
            f"{count(number, 'session')} checked; {result}",
        )
    if left:
        raise typer.Exit(DAMAGED)


def gc(
    older_than: float | None = None,
    larger_than: int | None = None,
    match: list[str] | None = None,
    keep_last: int | None = None,
    apply: bool = False,
    json: bool = False,
    store: str | None = None,
) -> None:
    """Delete kept sessions that match all of the rules; without --apply, show which.

    Texts that no other session needs are deleted with them. Forks of a deleted session stay
    complete.

    Args:
        older_than AGE: Not written to for this long: 36h, 90d, 12w, 1y.
        larger_than SIZE: Larger than this: 500kB, 100MB.
        match PATTERN: Name matches this pattern, e.g. 'ci-*'; may be repeated.
        keep_last N>=0: Of those that match, keep this many of the most recent ones.
        apply: Delete them; without it nothing is changed.
    """
    import time

    from kedgeline.session.checking import Rules, plan_gc, remove_planned

    patterns = tuple(match or ())
    rules = Rules(
        older_than=older_than, larger_than=larger_than, match=patterns, keep_last=keep_last
    )
    with closing(configured_store(store)) as kept:
        removal = plan_gc(kept, rules, time.time_ns() // 1_000)
        removed = remove_planned(kept, removal) if apply else None
    if removed is not None:
        _forget_hooks(removed.sessions)
    found = _removal_as_json(removal, removed)
    if json:
        write_json(found)
        return
    columns: dict[str, Any] = {
        "session": "name",
        ">turns": "turns",
        ">size": lambda row: bytes_told(row["bytes"]),
        "last written": "last",
        "why": "why",
    }
    if not rules.given:
        say(NO_RULES)
    show(
        rows_table(found["going"], columns) if removal.going else None,
        *_removal_told(removal, removed),
    )


def _removal_as_json(removal: Removal, removed: Removed | None) -> dict[str, Any]:
    return {
        "going": [
            fields(one, "name turns") | {"last": time_at(one.last)} | fields(one, "bytes why")
            for one in removal.going
        ],
        **fields(removal, "kept", loose_texts="loose", frees_bytes="frees"),
        "applied": removed is not None,
        "removed": removed.sessions if removed else [],
        "spared": removed.spared if removed else [],
    }


def _removal_told(removal: Removal, removed: Removed | None) -> Iterator[str]:
    kept = f"{count(removal.kept, 'session')} kept"
    number = len(removal.going) if removed is None else len(removed.sessions)
    what = f"{count(number, 'session')} and {count(removal.loose, 'loose text')}"
    freed = bytes_told(removal.frees)
    if not removal.going and not removal.loose:
        yield f"nothing to delete; {kept}"
    elif removed is None:
        yield f"{what} would be deleted, which frees up to {freed}; --apply deletes them"
    else:
        yield f"deleted {what}, freed up to {freed}; {kept}"
    for name in removed.spared if removed else ():
        yield f"{name} is kept: it was written to meanwhile"


def _forget_hooks(sessions: Iterable[str]) -> None:
    """What hooks of a coding agent noted of sessions goes with them, and what its plugin did."""
    from shutil import rmtree

    from kedgeline.hosts import places

    home = Path(places.home())
    names = [checked("session", name) for name in sessions]
    for name in names:
        rmtree(home / name, ignore_errors=True)
    for path in (home.parent / OPENCODE).glob("*"):
        found = _COPY.fullmatch(path.name)
        if found is not None and found[1] in names:
            with suppress(OSError):
                path.unlink()


# Many sessions at once: `kedgeline batch`.

SHOWN_INPUTS = 10
MIB = 1 << 20


class WhichSessions(NamedTuple):
    """Which sessions.

    Args:
        inputs <INPUT…>: Files, folders, globs, Parquet and JSON Lines with `messages`, or addresses
            such as s3://bucket/folder.
        where KEY=VALUE: Only these: format=claude-code; may be repeated.
        store --from TEXT: Also read the sessions of a store: a folder, or postgresql://…
        sessions TEXT: Only sessions of the store that match this pattern; may be repeated.
        limit N>=1: Most sources to process.
        sample N: A share of the sources, such as 0.01.
        seed N: Seed of the sample.
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
        workers N>=0: Processes; 0 means one per core.
        address TEXT: Address of a Ray cluster; without it one is started locally.
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
    """Process thousands of sessions: read, check, compact or score them, write a dataset.

    An interrupted batch continues where it stopped when you run the same command again. A session
    that cannot be read becomes a row in `errors`; the others are still processed.

    Args:
        out DIR: Folder or address to write into; postgresql://…#NAME writes tables in a schema
            NAME.
        do TEXT: Tasks, separated by commas: stats, anchors, facts, summary, compact, probe, cost,
            rollout, export.
        format TEXT: Format of the output.
        window TOKENS: Window that `compact` compacts into.
        tokens TOKENS: Most tokens of a summary.
        to TEXT: Whose messages are written: anthropic, openai-chat, openai-responses or gemini; or
            atif, for `export`.
        dry_run: Show what would be done, and do nothing.
    """
    from kedgeline.batch.job import BatchJob, run
    from kedgeline.batch.tasks import TaskSettings, tasks_named

    if not out:
        raise UserError("a batch needs a folder to write into; give --out DIR")
    if not given.inputs and not given.store:
        raise UserError("a batch needs sessions; give files or folders, or --from STORE")
    names = tasks_named([one.strip() for one in do.split(",") if one.strip()])
    job = BatchJob(
        inputs=tuple(given.inputs or ()),
        out=out,
        settings=TaskSettings(
            names, window, tokens, provider=to, formats=_formats(given.where or ())
        ),
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
    skipped = f", {done.skipped:,} done before" if done.skipped else ""
    errors = f", {done.errors:,} errors (in {out}/errors)" if done.errors else ""
    show(
        f"{done.rows:,} rows of {done.sources - done.skipped:,} sources in {out}{skipped}{errors}: "
        f"{done.seconds:.1f} s, {rate:.1f} MB/s"
    )


def _formats(where: Iterable[str]) -> tuple[str, ...]:
    found = [one.partition("=") for one in where]
    for key, equals, value in found:
        if key != "format" or not value:
            raise UserError(f"{key + equals + value!r} is not a filter; write format=NAME")
    return tuple(value for _, _, value in found)


def _show_plan(job: BatchJob, *, json: bool) -> None:
    from kedgeline.batch.job import batches, planned

    every, left, _ = planned(job)
    size, first = sum(one.size for one in left), left[:SHOWN_INPUTS]
    if json:
        about: dict[str, Any] = {"sources": len(every), "to_do": len(left), "bytes": size}
        write_json({**about, "batches": len(batches(left)), "first": [one.key for one in first]})
        return
    rest = len(left) - len(first)
    show(
        f"{len(every):,} sources, {len(left):,} to do: {size / MIB:,.1f} MB",
        *(f"  {source.key}  {source.size:,}" for source in first),
        f"  … and {rest:,} more" if rest else None,
    )


def _told(progress: Progress) -> str:
    rate = progress.sources / progress.seconds if progress.seconds else 0.0
    megabytes = progress.bytes / MIB / progress.seconds if progress.seconds else 0.0
    return (
        f"{progress.sources:,} of {progress.of:,} sources, {progress.rows:,} rows, "
        f"{progress.errors:,} errors: {rate:,.0f} a second, {megabytes:,.1f} MB/s, "
        f"{progress.left:,.0f} s left"
    )

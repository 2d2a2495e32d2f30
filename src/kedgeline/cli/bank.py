"""The memory bank: the commands of `kedgeline bank`."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from kedgeline.cli.opening import make_redactor, open_session, read_transcript
from kedgeline.cli.options import SessionSource
from kedgeline.cli.output import (
    fields,
    harmless,
    rows_table,
    say,
    say_done,
    show,
    show_rows,
    styled,
    write_json,
    write_lines,
)
from kedgeline.settings import load_settings

if TYPE_CHECKING:
    from kedgeline.bank import Added, Bank, BankCompaction, Status
    from kedgeline.bank.finding import FoundChunks, Step
    from kedgeline.economy.loading import Loaded

BUDGET = 20_000
"""Tokens: what a bank may have before it is compacted (seed 003)."""
STEPS: dict[str, Step] = {"128": 1, "512": 2, "chunk": 3, "source": 4}
"""What is read at each step (seed 003)."""
HITS = 8
"""Shown, where no other number is given: what one looks through."""
SKIPPED_SHOWN = 8
"""Files that were skipped and are named; `--json` has them all."""
GRAVITY = {"violation": "red", "warning": "yellow", "note": "dim"}


def open_bank(path: Path | None) -> Bank:
    from kedgeline.bank import Bank, Limits

    settings = load_settings()
    limits = Limits(
        entries=settings.bank_entries,
        least_entries=settings.bank_least_entries,
        index_after=settings.bank_index_after,
        milestone_days=settings.bank_milestone_days,
        milestones=settings.bank_milestones,
        tokens=settings.bank_tokens,
        session_share=settings.bank_session_share,
    )
    folder, owner = path or _nearest(settings.bank), settings.bank_owner
    return Bank(folder, limits=limits, owner=owner, redactor=make_redactor())


def _nearest(folder: str) -> Path:
    """The bank's folder here or above, as people work in folders below it; here otherwise."""
    given = Path(folder).expanduser()
    here = Path.cwd()
    every = (parent / given for parent in (here, *here.parents))
    return next((found for found in every if found.is_dir()), here / given)


def _who_asks(agent: str | None) -> str:
    """As given, as settings say, or the name of the person."""
    from getpass import getuser

    return agent or load_settings().agent or getuser()


# What is written down.


def init(folder: Path | None = None, json: bool = False) -> None:
    """Create a memory bank: five files, each with a title. Existing files stay as they are.

    Args:
        folder <FOLDER>: Where to create it; else as the settings say.
    """
    bank = open_bank(folder)
    made = bank.begin()
    said = f"{bank.path}: made {', '.join(made) or 'nothing: all files are there'}"
    say_done({"bank": str(bank.path), "made": made}, said, json=json)


def add(
    file: str,
    text: str | None = None,
    agent: str | None = None,
    title: str = "",
    identity: str = "",
    status: str = "",
    source: list[str] | None = None,
    summary: str = "",
    field: list[str] | None = None,
    bank: Path | None = None,
    json: bool = False,
) -> None:
    """Write an entry into a file of the bank, in the layout that the file has.

    Any number of agents may add entries at the same time.

    Args:
        file <FILE>: activeContext, decisionLog, progress, or another.
        text <TEXT>: What to write; '-' reads it from stdin.
        title TEXT: Heading of the entry; required for a decision.
        identity --id ID: Such as DEC-007, or a task's id; else the file's next number.
        status TEXT: Active, completed, in progress …
        source PATH: A file or chunk it comes from; may be repeated.
        summary TEXT: Summary of at most 128 tokens; made from the text if not given.
        field NAME=VALUE: A further field: Rationale='…'; repeatable.
    """
    from kedgeline.bank import NewEntry

    new = NewEntry(
        agent=_who_asks(agent),
        at=datetime.now(UTC),
        text=sys.stdin.read() if text == "-" else text or "",
        title=title,
        id=identity,
        status=status,
        sources=tuple(source or ()),
        summary=summary,
        fields=dict(map(_field_given, field or ())),
    )
    added = open_bank(bank).add(file, new)
    say_done(fields(added, "file id line"), _added_told(added), json=json)


def _field_given(text: str) -> tuple[str, str]:
    name, sign, value = text.partition("=")
    if not sign or not name.strip():
        raise typer.BadParameter(f"{text!r} is not a field; write Rationale='why it was chosen'")
    return name.strip(), value.strip()


def _added_told(added: Added) -> str:
    name = f" as {added.id}" if added.id else ""
    return f"added to {added.file}{name}, line {added.line}"


def file_command(
    source: SessionSource,
    agent: str | None = None,
    name: str = "",
    bank: Path | None = None,
    json: bool = False,
) -> None:
    """Write the decisions, state and milestones of a session into the bank.

    Entries that exist already are not written again, so a session may be filed repeatedly.

    Args:
        name NAME: What entries call the session; else its own name.
    """
    from kedgeline.pipeline.handoff import summarize

    found = open_session(source)
    summary = summarize(found.transcript, redactor=make_redactor())
    called = name or Path(source.file).stem
    added = open_bank(bank).file(summary, session=called, agent=_who_asks(agent))
    if json:
        write_lines({"file": one.file, "id": one.id or None, "line": one.line} for one in added)
        return
    for one in added:
        say(_added_told(one))
    if not added:
        say("nothing new: the bank has all of it")


# The bank as a whole.


def status(
    session_tokens: int = 0, session_budget: int = 0, bank: Path | None = None, json: bool = False
) -> None:
    """Show the files of the bank, its size, and whether a compaction is due and why."""
    from kedgeline.bank import BankSignals

    signals = BankSignals(session_tokens=session_tokens, session_budget=session_budget)
    found = open_bank(bank).status(signals)
    files = [fields(one, "name shape entries references tokens") for one in found.files]
    if not json:
        columns: dict[str, Any] = {
            "file": "name",
            "shape": lambda row: row["shape"].replace("_", " "),
            ">entries": lambda row: row["entries"] or "",
            ">archived lines": lambda row: row["references"] or "",
            ">tokens": lambda row: row["tokens"] or "",
        }
        show(rows_table(files, columns), "", *_status_told(found))
        for name in found.links:
            say(f"{name} is a link and not read; put the file there")
        return
    write_json(
        {
            "files": files,
            "working_tokens": found.tokens,
            "due": found.due,
            "triggers": [fields(one, "cause holds reason") for one in found.triggers],
            "owner": found.owner or None,
            "last_compaction": found.last.at.isoformat() if found.last else None,
            "links": found.links,
        }
    )


def _status_told(status: Status) -> Iterator[str]:
    due = "due" if status.due else "not due"
    last = f"; the last was {_local(status.last.at)}" if status.last else ""
    yield f"working files: {status.tokens:,} estimated tokens; compaction is {due}{last}"
    for trigger in status.triggers:
        yield f"  {'●' if trigger.holds else '○'} {trigger.reason}"
    if status.owner:
        yield f"only {status.owner} may compact"


def _local(at: datetime) -> str:
    return f"{at.astimezone():%Y-%m-%d %H:%M}"


def compact_command(
    agent: str | None = None,
    dry_run: bool = False,
    if_due: bool = False,
    session_tokens: int = 0,
    session_budget: int = 0,
    bank: Path | None = None,
    json: bool = False,
) -> None:
    """Move old entries to the archives, verbatim, and update the index.

    The decision log is never touched. Archives are written first and compared by hash.

    Args:
        dry_run: Show what would move, and change nothing.
        if_due: Only if a limit of entries, tokens or the budget is exceeded.
    """
    from kedgeline.bank import BankCompaction, BankSignals

    signals = BankSignals(
        manual=not if_due, session_tokens=session_tokens, session_budget=session_budget
    )
    opened = open_bank(bank)
    if dry_run:
        done = BankCompaction(plan=opened.plan(signals))
    else:
        done = opened.compact(_who_asks(agent), signals)
    plan = done.plan
    files = [
        {
            **fields(one, "name archive", moved="entries"),
            **fields(one, "stay why tokens_before tokens_after"),
        }
        for one in plan.files
    ]
    if not json:
        _show_compacted(done, files, applied=not dry_run)
        return
    write_json(
        {
            "applied": not dry_run,
            "transaction": done.number or None,
            "triggers": [fields(one, "cause holds reason") for one in plan.triggers],
            "working_tokens_before": plan.tokens_before,
            "working_tokens_after": plan.tokens_after,
            "files": files,
            "written": [*(change.name for change in plan.changes), *done.derived],
            "notes": plan.notes,
            "nothing": plan.nothing or None,
        }
    )


def _show_compacted(done: BankCompaction, files: list[dict[str, Any]], *, applied: bool) -> None:
    plan = done.plan
    columns: dict[str, Any] = {
        "file": "name",
        ">moved" if applied else ">would move": "moved",
        ">stay": "stay",
        ">tokens": lambda row: f"{row['tokens_before']:,} → {row['tokens_after']:,}",
        "why": "why",
    }
    show_rows(files, columns, empty=plan.nothing)
    moved = {one.name for one in plan.files} | {one.archive for one in plan.files}
    others = (change.name for change in plan.changes if change.name not in moved)
    verb = "brought" if applied else "would be brought"
    show(*(f"{name} {verb} up to date" for name in (*others, *done.derived)))
    for note in plan.notes:
        say(f"note: {note}")
    if applied and plan.files:
        say("`kedgeline bank undo` takes it back")


def undo(agent: str | None = None, bank: Path | None = None, json: bool = False) -> None:
    """Undo the newest compaction of the bank; entries written since stay."""
    done = open_bank(bank).undo(_who_asks(agent))
    said = f"undone: the compaction of {_local(done.at)} ({', '.join(done.files)})"
    say_done({"undone": done.number, "files": done.files}, said, json=json)


def history(bank: Path | None = None, json: bool = False) -> None:
    """Show the compactions of the bank."""
    rows = [
        {
            "transaction": one.number,
            "at": one.at,
            **fields(one, "files undone"),
        }
        for one in open_bank(bank).history()
    ]
    columns: dict[str, Any] = {
        "#": "transaction",
        "when": lambda row: _local(row["at"]),
        "what": lambda row: f"compaction{', undone' if row['undone'] else ''}",
        "files": "files",
    }
    show_rows(rows, columns, json=json, empty="nothing was done to this bank as a whole yet")


def verify_command(bank: Path | None = None, json: bool = False) -> None:
    """Check that the decision log is append-only, the archives whole, the index up to date.

    The exit code is 1 where something was lost or changed that must not be.
    """
    found = open_bank(bank).verify()
    if json:
        listed = [
            {
                "file": one.file,
                "line": one.line or None,
                **fields(one, "gravity what"),
                "advice": one.advice or None,
            }
            for one in found.found
        ]
        write_json({"sound": found.sound, "found": listed, "checked": found.checked})
    else:
        show(
            *(styled(harmless(str(one)), GRAVITY[one.gravity]) for one in found.found),
            *(f"checked: {line}" for line in found.checked),
            styled("sound" if found.sound else "NOT SOUND", "bold"),
        )
    if not found.sound:
        raise typer.Exit(1)


# The catalog, and what is loaded.


def index_command(
    paths: list[Path] | None = None,
    chunk_tokens: int | None = None,
    bank: Path | None = None,
    json: bool = False,
) -> None:
    """Split documents into chunks with summaries, and write the catalog that leads to them.

    Only what changed is written again.

    Args:
        paths <PATH...>: Documents, or folders of documents; all if not given.
        chunk_tokens TOKENS: Largest chunk, estimated.
    """
    from kedgeline.bank.catalog import index

    folder, size = open_bank(bank).path, chunk_tokens or load_settings().chunk_tokens
    done = index(paths or [], folder, chunk_tokens=size, redactor=make_redactor())
    if json:
        write_json(done)
        return
    say(
        f"{done.documents:,} documents, {done.chunks:,} chunks, {done.tags:,} tags; "
        f"{len(done.written):,} files written, {len(done.removed):,} removed"
    )
    for one in done.skipped[:SKIPPED_SHOWN]:
        say(f"skipped {one.path}: {one.why}")
    if (rest := len(done.skipped) - SKIPPED_SHOWN) > 0:
        say(f"skipped {rest:,} more; --json lists them")
    for note in done.notes:
        say(f"note: {note}")


def find_command(
    query: str, depth: str = "128", limit: int = HITS, bank: Path | None = None, json: bool = False
) -> None:
    """Find chunks by words: in summaries of 128 tokens, of 512, in chunks, in the sources.

    It stops at the first of these that has a match, and says which.

    Args:
        query <QUERY>: Words; a phrase in quotes.
        depth STEP: Begin at 128, 512, chunk or source.
        limit N>=1: Most hits to show.
    """
    from kedgeline.bank.finding import find

    if depth not in STEPS:
        raise typer.BadParameter(f"{depth!r} is not a step; choose one of {', '.join(STEPS)}")
    folder, step = open_bank(bank).path, STEPS[depth]
    found = find(query, folder, redactor=make_redactor(), step=step, most=limit)
    if json:
        write_json(_found_as_json(query, found))
        return
    for hit in found.hits:
        lines = f":{hit.lines[0]}-{hit.lines[1]}" if any(hit.lines) else ""
        stale = f" (stale: {hit.stale})" if hit.stale else ""
        head = f"{hit.source}{lines}  {hit.path}, {hit.tokens:,} tokens{stale}"
        show(styled(harmless(head), "bold"), *(f"  {line}" for line in hit.text.splitlines()))
    say(found.why + (f"; {found.more:,} more hits" if found.more else ""))
    for note in found.notes:
        say(f"note: {note}")


def _found_as_json(query: str, found: FoundChunks) -> dict[str, Any]:
    names = {number: name for name, number in STEPS.items()}
    return {
        "query": query,
        "stopped_at": names[found.step],
        **fields(found, "answered why"),
        "hits": [
            {
                **fields(hit, "path source"),
                "lines": hit.lines if any(hit.lines) else None,
                **fields(hit, "text tokens missing"),
                "stale": hit.stale or None,
            }
            for hit in found.hits
        ],
        **fields(found, "more notes"),
    }


def load(
    budget: int = BUDGET,
    session: str | None = None,
    packet: Path | None = None,
    file: list[str] | None = None,
    history: bool = False,
    table: bool = False,
    vocabulary: str | None = None,
    bank: Path | None = None,
    json: bool = False,
    store: str | None = None,
) -> None:
    """Print as much of the bank as fits a budget, by priority, secrets taken out.

    P0 30 %: open errors, the packet, systemPatterns. P1 25 %: activeContext, source files. P2 25 %:
    decisions, progress, productContext. P3 20 %: other files, and the history where it is asked
    for. What does not fit is loaded in 2,048, 512 or 128 tokens before it is left out.

    Args:
        budget --tokens,--budget TOKENS: Most tokens to print, e.g. 20k.
        session FILE: A kept session, or a session file, whose open errors come first.
        packet FILE: The delegation packet, as JSON.
        file PATH: A source file to load; may be repeated.
        history: Load archives and the whole log of decisions too.
        table: Show a table of what was loaded instead of the text.
    """
    from kedgeline.economy.loading import load_context, open_errors
    from kedgeline.economy.packing import read_packet
    from kedgeline.pipeline.handoff import summarize
    from kedgeline.pipeline.read import plain_file
    from kedgeline.tokens import counter_named

    folder, redactor, errors, read = open_bank(bank).path, make_redactor(), [], None
    if session:
        transcript = read_transcript(SessionSource(session, store=store))
        errors = open_errors(summarize(transcript, redactor=redactor))
    if packet:
        with plain_file(packet) as source:
            read = read_packet(source.read(), str(packet))
    loaded = load_context(
        budget,
        bank=folder,
        errors=errors,
        packet=read,
        files=file or (),
        history=history,
        count=counter_named(vocabulary or load_settings().vocabulary).count,
        redactor=redactor,
    )
    if json:
        write_json(_loaded_as_json(loaded))
        return
    _show_loaded(loaded, stderr=not table)
    if not table:
        typer.echo(harmless(loaded.text), nl=False)


def _loaded_as_json(loaded: Loaded) -> dict[str, Any]:
    part, left = "name priority level tokens", "name priority why tokens"
    return {
        **fields(loaded, "budget tokens"),
        "loaded": [fields(one, part, full_tokens="whole") for one in loaded.parts],
        "left_out": [fields(one, left, full_tokens="whole") for one in loaded.left_out],
        "classes": [fields(one, "priority share used flowed") for one in loaded.shares],
        "markdown": loaded.text,
    }


def _show_loaded(loaded: Loaded, *, stderr: bool) -> None:
    found = _loaded_as_json(loaded)
    columns: dict[str, Any] = {
        "class": lambda row: f"P{row['priority']}",
        "what": "name",
        "level": lambda row: f"left out: {row['why']}" if "why" in row else str(row["level"]),
        ">tokens": lambda row: "" if "why" in row else row["tokens"],
        ">of": lambda row: row["full_tokens"] or "",
    }
    used = ", ".join(f"P{one.priority} {one.used:,} of {one.share:,}" for one in loaded.shares)
    told = f"{loaded.tokens:,} of {loaded.budget:,} tokens: {used}"
    rows = [*found["loaded"], *found["left_out"]]
    show(rows_table(rows, columns), told, stderr=stderr)

"""What sessions were charged for: `kedgeline cost`."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import msgspec
import typer

from kedgeline.cli import options
from kedgeline.cli.opening import is_file, make_redactor, open_kept
from kedgeline.cli.options import argument, flag, option
from kedgeline.cli.output import (
    console,
    fields,
    harmless,
    progress,
    say,
    table,
    watch_turns,
    write_json,
    write_lines,
)
from kedgeline.errors import FileRefused, NotATranscript, SourceUnreadable

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from kedgeline.economy.counting import LedgerBuilder, Made, Saving
    from kedgeline.economy.ledger import Cost
    from kedgeline.economy.report import Priced, Report, Row
    from kedgeline.model import Turn
    from kedgeline.pipeline.read import Reading
    from kedgeline.session.session import Session

SHOWN = 12
"""Rows of a table; `--json` and `--report` have them all."""
NAME_WIDTH = 26
PLACE_WIDTH = 20
"""Columns of a name, and of the place of a compaction, which has more numbers beside it."""
EXACT_BELOW = 100_000
"""Larger numbers are shown in thousands or millions; `--json` and `--report` have all digits."""
UNITS = ((1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k"))
ESTIMATED = "*"
"""Behind a number that is estimated as a whole or in part."""
DRAWN = 20
"""Agents that are drawn, those with most tokens first; a picture of more cannot be read."""
COLOURS = {
    "cache read": ("cache_read", "#0072B2"),
    "cache write": ("cache_write", "#E69F00"),
    "input": ("input", "#767676"),
    "output": ("output", "#AA4499"),
}
"""Kinds of tokens with their colours, which can be told apart without seeing all of them."""


def cost(
    sources: Annotated[
        list[str],
        argument(
            "Sessions that are kept, files of any format, folders of files; - for stdin.",
            metavar="SESSION|FILE|FOLDER...",
        ),
    ],
    json: options.Json = False,
    calls: Annotated[
        bool, flag("Instead, a line of JSON for every call of a tool with its tokens.", "--calls")
    ] = False,
    format: options.FormatName = None,
    store: options.StorePlace = None,
    report: Annotated[Path | None, option("Markdown file for the report at the end.")] = None,
    plot: Annotated[Path | None, option("SVG file of tokens by agent (extra `plots`).")] = None,
    claim: Annotated[
        Path | None,
        option("Claim of a task (JSON) to set token_input and token_output in.", metavar="FILE"),
    ] = None,
) -> None:
    """Show what sessions cost: tokens and money by agent, model and tool.

    And what compactions saved and took. Every message counts once, however many files have a copy
    of it."""
    from kedgeline.economy.counting import no_tiers
    from kedgeline.economy.ledger import is_installed, tiers_of
    from kedgeline.economy.report import report_of

    _check_targets([path for path in (report, plot) if path], sources=sources, claim=claim)
    found = _Counted()
    for name in dict.fromkeys(sources):
        if not is_file(name):
            _count_kept(open_kept(name, store), found)
        elif name != "-" and Path(name).is_dir():
            _count_folder(Path(name), found, format)
        else:
            found.count(name, format, watched=True)
    if not found.read:
        if not found.failed:
            typer.echo("kedgeline: no session was found below what was named", err=True)
        raise typer.Exit(found.failed or NotATranscript.exit_code)
    ledger = found.builder.ledger(tiers_of if is_installed() else no_tiers)
    made = report_of(ledger, found.savings)
    made = msgspec.structs.replace(made, remarks=(*made.remarks, *found.remarks))
    if claim and found.failed:
        typer.echo(f"kedgeline: {str(claim)!r} is left alone: not all could be read", err=True)
        claim = None
    _write_files(made, title=", ".join(sources), report=report, plot=plot, claim=claim)
    if calls:
        write_lines(found.builder.calls())
    elif json:
        more = {"copies": ledger.copies, "passed_over": found.passed_over}
        write_json({**_report_as_json(made), **more})
    else:
        _show(made, console(), passed_over=found.passed_over)
    if found.failed:
        raise typer.Exit(found.failed)


class _Counted:
    """What was counted, and what was not."""

    def __init__(self) -> None:
        from kedgeline.economy.counting import LedgerBuilder

        self.builder: LedgerBuilder = LedgerBuilder()
        self.savings: list[Saving] = []
        self.read = 0
        """Sessions and files."""
        self.passed_over = 0
        """Files of folders that are no sessions."""
        self.failed = 0
        """The exit code of what could not be read."""
        self.remarks: list[str] = []

    def fail(self, error: NotATranscript | SourceUnreadable) -> None:
        say(f"kedgeline: {error}")
        self.failed = error.exit_code

    def count(self, path: str, format: str | None, *, watched: bool) -> None:
        """Count a file that was named and is `watched`, or one of a folder, which may also be no
        session at all."""
        from kedgeline.economy.counting import count_reading
        from kedgeline.pipeline.read import stream

        try:
            reading = stream(path, format=format)
            turns = {"turns": watch_turns(reading)} if watched else {}
            self.savings += count_reading(self.builder, reading, source=path, **turns)
        except NotATranscript as error:
            if watched:
                self.fail(error)
            else:
                self.passed_over += 1
        except SourceUnreadable as error:
            self.fail(error)
        else:
            self._note(reading)

    def _note(self, reading: Reading) -> None:
        """A file was read to its end; files beside it may not have been."""
        self.read += 1
        if rewound := reading.log.rewound:
            self.remarks.append(
                f"{reading.name}: {rewound:,} rewound turns were paid for and count; a session "
                f"that was kept after that has them not"
            )
        for one in reading.log.damage:
            if one.kind == "unreadable":
                self.fail(SourceUnreadable(one.file, one.detail))


def _count_folder(folder: Path, found: _Counted, format: str | None) -> None:
    """Every session below a folder. By their names as text, a session comes before the files of its
    sub-agents, which are then known."""

    def fail(error: OSError) -> None:
        found.fail(SourceUnreadable(str(error.filename), (error.strerror or str(error)).lower()))

    every = (
        os.path.join(parent, name)
        for parent, _, names in os.walk(folder, onerror=fail)
        for name in names
    )
    paths = sorted(path for path in every if os.path.isfile(path))
    with progress() as told:
        for number, path in enumerate(paths):
            told(path, number, len(paths))
            found.count(path, format, watched=False)


def _count_kept(session: Session, found: _Counted) -> None:
    from kedgeline.economy.counting import count_turns
    from kedgeline.session.journal import Journal

    name = session.name
    made, calls = _compactions(session), Journal(session.store, name).calls()
    turns = _paid_turns(session)
    found.savings += count_turns(found.builder, turns, source=name, made=made, calls=calls)
    found.read += 1
    if rewound := session.about().rewound:
        found.remarks.append(
            f"{name}: its file has {rewound:,} rewound turns, which were paid for; those rewound "
            f"before it was first kept are not in it"
        )


def _paid_turns(session: Session) -> Iterator[Turn]:
    from kedgeline.session.compacting import paid_turns

    total = session.store.head(session.name).number
    with progress() as told:
        for number, turn in enumerate(paid_turns(session.store, session.name)):
            told(session.name, number, total)
            yield turn


def _compactions(session: Session) -> list[Made]:
    """The compactions of a kept session, from their records."""
    from kedgeline.economy.counting import Made
    from kedgeline.session.journal import Recorded

    return [
        Made(
            turn=event.what.turns,
            by="kedgeline",
            before=event.what.compaction.tokens_before,
            after=event.what.compaction.tokens_after,
            by_model=False,
            undone=event.undone,
        )
        for event in session.history()
        if isinstance(event.what, Recorded)
    ]


def _report_as_json(report: Report) -> dict[str, Any]:
    """The keys of `kedgeline cost --json`."""
    return {
        "total": _row_as_json(report.total, "name"),
        "sessions": [_row_as_json(row, "session") for row in report.sessions],
        "agents": [_row_as_json(row, "agent") for row in report.agents],
        "models": [
            {**_row_as_json(row, "model"), "priced_as": row.priced_as} for row in report.models
        ],
        "tools": [
            {"tool": tool, **fields(one, "calls input output")}
            for tool, one in report.tools.items()
        ],
        "compactions": [
            {
                **msgspec.to_builtins(one.saving),
                "cost_saved": one.saved and _cost_as_json(one.saved),
                "cost_taken": one.taken and _cost_as_json(one.taken),
            }
            for one in report.compactions
        ],
        "remarks": report.remarks,
        "prices": report.sources,
    }


def _row_as_json(row: Row, name: str) -> dict[str, Any]:
    spent = row.spent
    kinds = " ".join(spent.tokens.__struct_fields__)
    estimated = fields(spent.estimated, kinds)
    return {
        name: row.name,
        "messages": spent.messages,
        **fields(spent.tokens, kinds),
        "estimated": {"messages": spent.estimated_messages, **estimated},
        "cost": _cost_as_json(row.cost),
    }


def _cost_as_json(cost: Cost) -> dict[str, Any]:
    known = fields(cost, "amount currency")
    return {**known, "at_least": bool(cost.unknown), "unknown": cost.unknown}


def _check_targets(targets: Sequence[Path], *, sources: Iterable[str], claim: Path | None) -> None:
    """Refuse an output that is a source, the claim, the other output, or any session: what it holds
    would be lost."""
    taken = {one: "a source" for name in sources for one in _identities(name)}
    if claim:
        taken |= dict.fromkeys(_identities(str(claim)), "the claim")
    for target in targets:
        if target.name in ("", ".."):
            raise FileRefused(str(target), "it names a folder; name a file in it")
        found = _identities(str(target))
        for one in found:
            if one in taken:
                raise FileRefused(str(target), f"it is {taken[one]} too; name another file")
        if _is_session(target):
            raise FileRefused(str(target), "it is a session; name another file")
        taken |= dict.fromkeys(found, "the other output")


def _identities(name: str) -> list[tuple[object, ...]]:
    """What two names of one file have in common, whether it is there or not."""
    found: list[tuple[object, ...]] = []
    with suppress(OSError, ValueError):  # stdin is closed, or nothing has the name
        if name == "-":
            state = os.fstat(sys.stdin.fileno())
        else:
            found.append((str(Path(name).resolve()),))
            state = os.stat(name)
        found.append((state.st_dev, state.st_ino))
    return found


def _is_session(path: Path) -> bool:
    from kedgeline.pipeline.read import stream

    if not path.is_file():
        return False
    try:
        stream(path)
    except (NotATranscript, SourceUnreadable):
        return False
    return True


def _write_files(
    made: Report, *, title: str, report: Path | None, plot: Path | None, claim: Path | None
) -> None:
    """The files that were asked for, the claim last: it is the one that others read. Nothing is
    written unless all of it can be made."""
    from kedgeline.economy.packing import check_claim, update_claim
    from kedgeline.files import folder_below

    texts: dict[Path, str] = {}
    if report:
        from kedgeline.economy.report import page

        texts[report] = make_redactor().clean(page(made, title=title))
    if plot:
        texts[plot] = _draw(made)
    if claim:
        check_claim(claim, made.total.spent.new)
    for path, text in texts.items():
        with folder_below(path.parent) as folder:
            assert folder is not None  # it is the root itself
            with folder.replacing(path.name) as file:
                file.write(text.encode("utf-8", "replace"))
    if claim:
        update_claim(claim, made.total.spent.new)


def _draw(report: Report) -> str:
    """Tokens by agent, as SVG."""
    from kedgeline.cli.plots import Picture, Specification, drawn
    from kedgeline.economy.report import money, several

    rows = sorted(report.agents, key=lambda row: -row.spent.tokens.context)[:DRAWN]
    values = [
        {"agent": row.name, "kind": kind, "tokens": getattr(row.spent.tokens, field)}
        for row in rows
        for kind, (field, _) in COLOURS.items()
    ]
    messages, used = report.total.spent.messages, report.total.spent.tokens
    tokens = f"{used.context + used.output:,} tokens"
    said = f"{several(messages, 'message')}, {tokens}, {money(report.total.cost)}"
    left = len(report.agents) - DRAWN
    more = [f"left out: {several(left, 'further agent')}"] if left > 0 else []
    agents = list(dict.fromkeys(row.name for row in rows))
    colours = {"domain": list(COLOURS), "range": [colour for _, colour in COLOURS.values()]}
    count = {"field": "tokens", "type": "quantitative", "title": "tokens"}
    kind = {"field": "kind", "type": "nominal"}
    drawing: Specification = {
        "title": {"text": "Tokens by agent", "subtitle": [said, *more]},
        "data": {"values": values},
        "mark": "bar",
        "width": 420,
        "height": {"step": 22},
        "encoding": {
            "y": {"field": "agent", "type": "nominal", "sort": agents, "title": None},
            "x": {**count, "axis": {"format": "~s"}},
            "color": {**kind, "title": None, "scale": colours},
            "order": kind,
        },
    }
    return drawn(Picture("cost", f"Tokens by agent: {said}.", drawing))


def _show(report: Report, out: Console, *, passed_over: int) -> None:
    from kedgeline.economy.report import money, several

    spent = report.total.spent
    tokens = f"{spent.tokens.context + spent.tokens.output:,} tokens"
    out.print(f"{several(spent.messages, 'message')} · {tokens} · {money(report.total.cost)}")
    tables = [_spent_table("session", report.sessions)] if len(report.sessions) > 1 else []
    tables.append(_spent_table("agent", report.agents, report.total))
    tables.append(_spent_table("model", report.models))
    if report.tools:
        tools = [
            (_end_of(tool, NAME_WIDTH), f"{one.calls:,}", short(one.input), short(one.output))
            for tool, one in report.tools.items()
        ]
        tables.append(_table(("tool (estimated)", "calls", "brought", "written"), tools))
    if report.compactions:
        names = ("by", "before", "after", "turns", "spared", "saved", "taken")
        several_sessions = len(report.sessions) > 1
        rows = [_compaction_cells(one, named=several_sessions) for one in report.compactions]
        tables.append(_table(("compaction before", *names), rows))
    for made in tables:
        out.print()
        out.print(made)
    remarks = list(report.remarks)
    remarks += [f"{r.name}: prices of {r.priced_as}" for r in report.models if r.priced_as]
    if passed_over:
        remarks.append(f"passed over, no sessions: {several(passed_over, 'file')}")
    if remarks:
        out.print()
    for line in remarks:
        out.print(harmless(line))


def short(number: int) -> str:
    """A number in at most seven columns."""
    if number < EXACT_BELOW:
        return f"{number:,}"
    size, unit = next((size, unit) for size, unit in UNITS if number >= size)
    return f"{number / size:,.1f}{unit}"


def _spent_table(title: str, rows: Sequence[Row], total: Row | None = None) -> Table:
    names = ("messages", "input", "output", "cache read", "written", "cost")
    made = _table((title, *names), [_spent_cells(row) for row in rows])
    if total and len(rows) > 1:
        made.add_row(*_spent_cells(total), style="bold")
    return made


def _spent_cells(row: Row) -> tuple[str, ...]:
    from kedgeline.economy.report import money

    used, guessed = row.spent.tokens, row.spent.estimated
    numbers = (
        f"{short(getattr(used, kind))}{ESTIMATED if getattr(guessed, kind) else ''}"
        for kind in ("input", "output", "cache_read", "cache_write")
    )
    messages = f"{row.spent.messages:,}"
    return _end_of(row.name, NAME_WIDTH), messages, *numbers, money(row.cost)


def _compaction_cells(one: Priced, *, named: bool) -> tuple[str, ...]:
    from kedgeline.economy.report import NOTHING, money, place

    saving = one.saving
    return (
        _end_of(place(one, named=named), PLACE_WIDTH),
        harmless(saving.by),
        *(NOTHING if size is None else short(size) for size in (saving.before, saving.after)),
        f"{saving.turns:,}",
        NOTHING if saving.saved is None else short(saving.saved),
        *(money(cost) if cost else NOTHING for cost in (one.saved, one.taken)),
    )


def _table(names: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    first = {"header": names[0], "no_wrap": True}
    columns = (f">{name}" for name in names[1:])
    made = table(first, *columns, rows=rows[:SHOWN], padding=(0, 1, 0, 0))
    if len(rows) > SHOWN:
        made.add_row(f"… and {len(rows) - SHOWN:,} more")
    return made


def _end_of(text: str, width: int) -> str:
    """A name from a session, with the end of it where it is long: that tells files apart."""
    plain = harmless(text)
    return plain if len(plain) <= width else f"…{plain[1 - width :]}"

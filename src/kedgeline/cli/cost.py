"""What sessions were charged for: `kedgeline cost`."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import typer

from kedgeline.cli.opening import is_file, make_redactor, open_kept, written_to
from kedgeline.cli.output import (
    count,
    fields,
    progress,
    say,
    show,
    shown_end,
    table,
    watch_turns,
    write_json,
    write_lines,
)
from kedgeline.errors import FileRefused, NotATranscript, SourceUnreadable

if TYPE_CHECKING:
    from kedgeline.economy.counting import LedgerBuilder, Made, Saving
    from kedgeline.economy.ledger import Cost
    from kedgeline.economy.report import CostReport, Row
    from kedgeline.model import Turn
    from kedgeline.pipeline.read import Reading
    from kedgeline.session.session import Session

SHOWN = 12
"""Rows of a table; `--json` and `--report` have them all."""
NAME_WIDTH, PLACE_WIDTH = 26, 20
"""Columns of a name, and of the place of a compaction, which has more numbers beside it."""
EXACT_BELOW = 100_000
"""Larger numbers are shown in thousands or millions; `--json` and `--report` have all digits."""
UNITS = ((1_000_000_000, "G"), (1_000_000, "M"), (1_000, "k"))


def cost(
    sources: list[str],
    json: bool = False,
    calls: bool = False,
    format: str | None = None,
    store: str | None = None,
    report: Path | None = None,
    claim: Path | None = None,
) -> None:
    """Show what sessions cost: tokens and money by agent, model and tool.

    Also what compactions saved and cost. A message that several files contain counts once.

    Args:
        sources <SESSION|FILE|FOLDER...>: Kept sessions, session files of any format, folders of
            files; - for stdin.
        calls: Write a line of JSON for every tool call with its tokens, instead of the report.
        report FILE: Markdown file for the report at the end.
        claim FILE: Claim of a task (JSON) to set token_input and token_output in.
    """
    from kedgeline.economy.counting import no_tiers
    from kedgeline.economy.ledger import prices_installed, tiers_of
    from kedgeline.economy.report import cost_report

    if report:
        _check_report(report)
    found = _counted(sources, format, store)
    ledger = found.builder.ledger(tiers_of if prices_installed() else no_tiers)
    made = cost_report(ledger, found.savings)
    made = msgspec.structs.replace(made, remarks=(*made.remarks, *found.remarks))
    if claim and found.failed:
        say(f"kedgeline: {str(claim)!r} is left alone: not all could be read")
        claim = None
    _write_files(made, title=", ".join(sources), report=report, claim=claim)
    if calls:
        write_lines(found.builder.calls())
    elif json:
        more = {"copies": ledger.copies, "passed_over": found.passed_over}
        write_json({**_report_as_json(made), **more})
    else:
        show(*_report_page(made, found.passed_over))
    if found.failed:
        raise typer.Exit(found.failed)


def _counted(sources: Sequence[str], format: str | None, store: str | None) -> _Counted:
    found = _Counted()
    for name in dict.fromkeys(sources):
        if not is_file(name):
            found.count_kept(open_kept(name, store))
        elif name != "-" and Path(name).is_dir():
            found.count_folder(Path(name), format)
        else:
            found.count(name, format, watched=True)
    if not found.read:
        if not found.failed:
            say("kedgeline: no session was found below what was named")
        raise typer.Exit(found.failed or NotATranscript.exit_code)
    return found


def _write_files(made: CostReport, *, title: str, report: Path | None, claim: Path | None) -> None:
    from kedgeline.economy.packing import update_claim
    from kedgeline.economy.report import cost_page

    if claim:
        update_claim(claim, made.total.spent.new)
    if report:
        text = make_redactor().clean(cost_page(made, title=title))
        with written_to(str(report)) as target:
            target.write(text.encode("utf-8", "replace"))


def _check_report(path: Path) -> None:
    """Only a report takes the place of a report: anything else could be a session."""
    with_heading = b"# Cost: "
    try:
        with path.open("rb") as file:
            is_report = file.read(len(with_heading)) in (with_heading, b"")
    except FileNotFoundError:
        return
    except OSError as error:
        raise FileRefused(str(path), (error.strerror or str(error)).lower()) from error
    if not is_report:
        raise FileRefused(str(path), "it holds something that is not a report; name another file")


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
                self._fail(error)
            else:
                self.passed_over += 1
        except SourceUnreadable as error:
            self._fail(error)
        else:
            self._note(reading)

    def count_folder(self, folder: Path, format: str | None) -> None:
        """Every session below a folder. By their names as text, a session comes before the files of
        its sub-agents, which are then known."""

        def fail(error: OSError) -> None:
            why = (error.strerror or str(error)).lower()
            self._fail(SourceUnreadable(str(error.filename), why))

        every = (
            os.path.join(parent, name)
            for parent, _, names in os.walk(folder, onerror=fail)
            for name in names
        )
        paths = sorted(path for path in every if os.path.isfile(path))
        with progress(str(folder)) as told:
            for number, path in enumerate(paths):
                told(path, number, len(paths))
                self.count(path, format, watched=False)

    def count_kept(self, session: Session) -> None:
        from kedgeline.economy.counting import count_turns
        from kedgeline.session.journal import Journal

        name = session.name
        made, calls = _compactions(session), Journal(session.store, name).calls()
        turns = _paid_turns(session)
        self.savings += count_turns(self.builder, turns, source=name, made=made, calls=calls)
        self.read += 1
        if rewound := session.about().rewound:
            self.remarks.append(_REWOUND.format(name=name, turns=rewound))

    def _fail(self, error: NotATranscript | SourceUnreadable) -> None:
        say(f"kedgeline: {error}")
        self.failed = error.exit_code

    def _note(self, reading: Reading) -> None:
        """A file was read to its end; files beside it may not have been."""
        self.read += 1
        if rewound := reading.log.rewound:
            self.remarks.append(_REWOUND.format(name=reading.name, turns=rewound))
        for one in reading.log.damage:
            if one.kind == "unreadable":
                self._fail(SourceUnreadable(one.file, one.detail))


_REWOUND = "{name}: {turns:,} rewound turns were paid for and count"


def _paid_turns(session: Session) -> Iterator[Turn]:
    from kedgeline.session.compacting import paid_turns

    total = session.store.head(session.name).number
    with progress(session.name) as told:
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


# For programs.


def _report_as_json(report: CostReport) -> dict[str, Any]:
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


# For people.


def _report_page(report: CostReport, passed_over: int) -> Iterator[Any]:
    from kedgeline.economy.report import cost_headline, notes, sheets

    yield cost_headline(report)
    for sheet in sheets(report, _short):
        width = PLACE_WIDTH if sheet.title == "Compactions" else NAME_WIDTH
        shown = [(shown_end(row[0], width), *row[1:]) for row in sheet.rows[:SHOWN]]
        if len(sheet.rows) > SHOWN:
            shown.append((f"… and {len(sheet.rows) - SHOWN:,} more",))
        first, *others = sheet.columns
        columns = (first, *(f">{name}" for name in others))
        yield from ("", table(*columns, rows=shown, total=sheet.total))
    remarks = notes(report)
    if passed_over:
        remarks.append(f"skipped, no sessions: {count(passed_over, 'file')}")
    yield from ("", *remarks) if remarks else ()


def _short(number: int) -> str:
    """A number in at most seven columns."""
    if number < EXACT_BELOW:
        return f"{number:,}"
    size, unit = next((size, unit) for size, unit in UNITS if number >= size)
    return f"{number / size:,.1f}{unit}"

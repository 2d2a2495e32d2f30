"""`kedge recall`: originals found again."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from shlex import quote
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kedge.cli.hints import shortened
from kedge.cli.kept import StoreOption, opened_store
from kedge.cli.output import Json, console, harmless, write_json
from kedge.cli.show import turns_marked

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from kedge.recall import Line, Recalled

NOTHING = 1
"""Exit code where nothing is found, as grep has it."""
TITLE_WIDTH = 60
"""Characters of a title: the head of a block stays on one line of most terminals."""


Query = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[QUERY...]",
        help="Words, all of which must stand; '\"exact phrase\"'; a name such as src/a.py; "
        "wor* for words that begin so. -- before a QUERY that begins with a dash.",
    ),
]
Sessions = Annotated[
    list[str] | None, typer.Option("--session", help="Only in this session; may be repeated.")
]
Files = Annotated[
    list[str] | None,
    typer.Option("--file", help="Only calls that name this file, or a part of its path."),
]
Commands = Annotated[
    list[str] | None,
    typer.Option("--command", help="Only shell commands with these words side by side."),
]
Since = Annotated[
    str | None, typer.Option(help="Not before: 2026-11-01, 2026-11-01T14:30, 7d, 12h.")
]
Until = Annotated[str | None, typer.Option(help="Not after; a date counts to the end of its day.")]


def recall(
    query: Query = None,
    session: Sessions = None,
    file: Files = None,
    command: Commands = None,
    error: Annotated[bool, typer.Option("--error", help="Only calls that failed.")] = False,
    who: Annotated[str, typer.Option(help="Only what user, agent, tool or client said.")] = "",
    since: Since = None,
    until: Until = None,
    turn: Annotated[str | None, typer.Option(help="Only these turns: t12, or t10-20.")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="Most answers; else ten.")] = None,
    lines: Annotated[int, typer.Option(min=0, help="Lines around each match.")] = 2,
    json: Json = False,
    store: StoreOption = None,
) -> None:
    """Find originals in all sessions by words, file, command, error, time or turn.

    Originals are shown as they were said, secrets included; the index of words has none.
    Exits with 1 where nothing is found, as grep does.
    """
    from kedge.recall import LIMIT, query_of
    from kedge.recall import recall as recalled

    asked = query_of(
        " ".join(query or ()),
        files=file or (),
        commands=command or (),
        sessions=session or (),
        who=who,
        errors=error,
        since=since,
        until=until,
        turns=turns_marked(turn) if turn else None,
        limit=LIMIT if limit is None else limit,
    )
    opened = opened_store(store)
    try:
        found = recalled(opened, asked, lines=lines)
    finally:
        opened.close()
    _write(found, json=json)
    if not found:
        typer.echo(_nothing(narrowed=bool(asked.phrases)), err=True)
        raise typer.Exit(NOTHING)


def _write(found: Sequence[Recalled], *, json: bool) -> None:
    out = None if json else console()
    for one in found:
        if out is None:
            write_json(as_json(one))
        else:
            _show(one, out)


def as_json(one: Recalled) -> dict[str, Any]:
    """The keys of `kedge recall --json`."""
    import msgspec

    values: dict[str, Any] = msgspec.to_builtins(one)
    when = _when(one)
    values["at"] = when.isoformat() if when else None
    return values


def _nothing(*, narrowed: bool) -> str:
    words = "give fewer or other words, or wor* for words that begin so; " if narrowed else ""
    return f"nothing found; {words}leave out a filter; `kedge sessions` lists what is there"


def _show(one: Recalled, out: Console) -> None:
    from rich.text import Text

    out.print(_head(one), overflow="fold")
    before = None
    for line in one.lines:
        if before is not None and line.number > before + 1:
            out.print(Text("       ⋮", style="dim"))
        out.print(_line(line), overflow="fold")
        before = line.number
    for remark in _remarks(one):
        out.print(Text(f"  {harmless(remark)}", style="yellow"), overflow="fold")
    words = ("kedge", "show", one.session, one.mark)
    out.print(Text(f"  whole: {harmless(' '.join(map(quote, words)))}", style="dim"))
    out.print()


def _head(one: Recalled) -> Text:
    from rich.text import Text

    when = _when(one)
    told = (
        f"{when.astimezone():%Y-%m-%d %H:%M}" if when else "",
        one.who,
        shortened(one.title, TITLE_WIDTH),
        "failed" if one.error else "",
    )
    head = Text(harmless(one.session), style="bold")
    head.append(f"  {harmless(one.mark)}", style="bold cyan")
    head.append("  " + " · ".join(part for part in told if part), style="dim")
    return head


def _line(line: Line) -> Text:
    from rich.text import Text

    text = Text(harmless(line.text))
    for begin, end in line.spans:
        text.stylize("bold black on yellow", begin, end)
    shown = Text(f"{line.number:>6}  ", style="green" if line.spans else "dim")
    shown.append("…" if line.column else "")
    shown.append_text(text)
    shown.append("…" if line.cut else "")
    return shown


def _remarks(one: Recalled) -> list[str]:
    """What a reader must know of an answer."""
    remarks = []
    if one.relaxed:
        missing = ", ".join(f'"{phrase}"' for phrase in one.relaxed)
        remarks.append(f"nothing has all of it; this lacks {missing}")
    if not one.stands:
        remarks.append(f"was t{one.turn}, and was taken back later")
    if one.also:
        remarks.append(f"also in {', '.join(one.also)}")
    if one.damage:
        remarks.append(one.damage)
    return remarks


def _when(one: Recalled) -> datetime | None:
    try:
        return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=one.at)
    except OverflowError:
        return None

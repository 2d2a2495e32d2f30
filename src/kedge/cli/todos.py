"""`kedge todos`: the todos and plan steps of a session as they stand at its end."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING, Any

import typer

from kedge.cli.output import FormatName, Json, console, harmless, write_json
from kedge.cli.session import File, Session, given

if TYPE_CHECKING:
    from rich.table import Table

    from kedge.model import TodoSet

MARKS = {
    "completed": ("✓", "green"),
    "in_progress": ("▶", "yellow"),
    "pending": ("○", ""),
    "dropped": ("✗", "dim"),
}
SOURCES = ("todos", "plan", "checklist")
"""In the order in which they are shown: what the agent keeps itself first."""


def todos(
    file: File, json: Json = False, format: FormatName = None, session: Session = None
) -> None:
    """List the todos and plan steps of a session as they stand at its end."""
    from kedge.summarizing import summarize

    transcript = given(file, format=format, session=session)
    found = list(summarize(transcript).todos.values())
    found.sort(key=lambda e: (SOURCES.index(e[-1].source), e[0].turn, e[-1].place))
    if json:
        for events in found:
            write_json(as_json(events))
        return
    latest = [events[-1] for events in found]
    own = [todo for todo in latest if todo.source == "todos"]
    if latest:
        console().print(_table(own or latest))
    typer.echo(_closing(own or latest))
    if own and (others := len(latest) - len(own)):
        # They stay as they were planned, as the agent marks only its own list.
        typer.echo(f"{others} planned steps are not shown beside the agent's own list: --json")


def as_json(events: tuple[TodoSet, ...]) -> dict[str, Any]:
    """The keys of `kedge todos --json`."""
    latest = events[-1]
    return {
        "text": latest.text,
        "status": latest.status,
        "source": latest.source,
        "place": latest.place,
        "turn": latest.turn,
        "since": events[0].turn,
    }


def _table(latest: list[TodoSet]) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold", expand=True)
    table.add_column("", width=1)
    table.add_column("todo", overflow="fold", ratio=1)
    for name, width in (("status", 11), ("from", 9), ("turn", 6)):
        table.add_column(name, width=width)
    for todo in latest:
        mark, style = MARKS[todo.status]
        table.add_row(
            Text(mark, style=style),
            Text(harmless(" ".join(todo.text.split())), style=style),
            Text(todo.status.replace("_", " "), style=style),
            todo.source,
            Text(f"t{todo.turn}", style="bold cyan"),
        )
    return table


def _closing(latest: list[TodoSet]) -> str:
    if not latest:
        return "no todos"
    told = []
    for source in SOURCES:
        statuses = Counter(todo.status for todo in latest if todo.source == source)
        if wanted := statuses.total() - statuses["dropped"]:
            told.append(f"{source}: {statuses['completed']} of {wanted} completed")
    return "; ".join(told) or "all dropped"

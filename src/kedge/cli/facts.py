"""`kedge facts`: exact things that happened in a session."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from kedge.cli.output import FormatName, Json, console, harmless, write_json
from kedge.cli.session import File, Session, given

if TYPE_CHECKING:
    from kedge.model import AnyFact

KINDS: dict[str, tuple[str, ...]] = {
    "files": ("file_changed", "file_read"),
    "commands": ("command_run",),
    "actions": ("action_taken",),
    "repository": ("committed",),
    "errors": ("error_seen", "error_resolved", "dead_end"),
    "todos": ("todo_set",),
    "instructions": ("instruction_given",),
    "requests": ("requested", "answered"),
    "decisions": ("decided",),
    "questions": ("asked",),
    "names": ("name_seen",),
    "session": ("session_noted",),
    "agents": ("agent_reported",),
}
"""What `--kind` takes, and the kinds of facts it shows."""


def facts(
    file: File,
    json: Json = False,
    kind: Annotated[
        list[str] | None,
        typer.Option(help=f"Only these; may be given again: {', '.join(KINDS)}."),
    ] = None,
    format: FormatName = None,
    session: Session = None,
) -> None:
    """List the facts of a session: files, commands, errors, decisions, each with its turn."""
    from rich.text import Text

    from kedge.errors import UnknownName
    from kedge.facts import facts_of

    for name in kind or ():
        if name not in KINDS:
            raise UnknownName("kind of facts", name, known=tuple(KINDS))
    wanted = {tag for name in kind or KINDS for tag in KINDS[name]}
    transcript = given(file, format=format, session=session)
    out = console()
    for fact in facts_of(transcript):
        tag = type(fact).__struct_config__.tag
        if tag not in wanted:
            continue
        if json:
            write_json(fact)
            continue
        line = Text(f"t{fact.turn:<5}", style="bold cyan")
        line.append(f"{str(tag).replace('_', ' '):<18}", style="magenta")
        line.append(harmless(told(fact)))
        out.print(line, overflow="ellipsis", no_wrap=True)


def told(fact: AnyFact) -> str:
    """A fact in one line: what its fields say, those that are empty left out."""
    import msgspec

    values = msgspec.structs.asdict(fact)
    said = (
        f"{name}={value}" if isinstance(value, (int, float, bool)) else " ".join(str(value).split())
        for name, value in values.items()
        if name not in ("turn", "key") and value not in ("", (), None, False)
    )
    return " · ".join(said)

"""`kedge turns`: a session as a readable list."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from kedge.cli.kept import is_file, opened_store, session_named
from kedge.cli.output import FormatName, Json, Vocabulary, console, harmless, shown, write_json

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from kedge.model import Note, ToolCall, Transcript, Turn

_TAG = re.compile(r"</?[a-z][\w-]*>")
"""What clients wrap their notes in; a listing for people leaves it off."""
SCANNED = 4_096
"""Characters looked at for one line; outputs may have megabytes."""
SHORT = 160
"""Characters of a text shown in one line; `--full` shows all."""


def turns(
    file: Annotated[
        str, typer.Argument(help="A session of any format, - for stdin, or one that is kept.")
    ],
    json: Json = False,
    format: FormatName = None,
    session: Annotated[
        int | None, typer.Option(min=0, help="Which session, where the file holds several.")
    ] = None,
    first: Annotated[int, typer.Option("--from", min=0, help="First turn to show.")] = 0,
    last: Annotated[int | None, typer.Option(min=0, help="Show only the last N turns.")] = None,
    agents: Annotated[bool, typer.Option("--agents", help="Show sub-agents' turns too.")] = False,
    full: Annotated[bool, typer.Option("--full", help="Show texts and outputs whole.")] = False,
    vocabulary: Vocabulary = None,
) -> None:
    """List the turns of a session: what was said, which tools were called, and how it went.

    Words no assistant has answered yet come last; in JSON they are the object with
    `"pending": true`.
    """
    from kedge.reading import collect, stream
    from kedge.settings import load_settings
    from kedge.tokens import counter_named

    if is_file(file):
        counter = counter_named(vocabulary or load_settings().vocabulary)
        reading = stream(file, format=format)
        sessions = collect(reading, turns=shown(reading), counter=counter)
        chosen = [*sessions] if session is None else [reading.choose(sessions, session)]
    else:
        chosen = [session_named(file, opened_store(None)).transcript()]
    listed = _listed(chosen, agents=agents, first=first, last=last)
    if json:
        for entry in listed:
            write_json(as_json(entry.turn, pending=entry.pending, links=entry.links))
    else:
        _show_all(listed, console(), several=len(chosen) > 1, full=full)


def show_all(transcripts: Sequence[Transcript], out: Console) -> None:
    """All turns, a line for each thing that happened, and the words that wait."""
    listed = _listed(transcripts, agents=False, first=0, last=None)
    _show_all(listed, out, several=False, full=False)


class Links(NamedTuple):
    """Sub-agents and the calls that started them."""

    agents: Mapping[str, str] = {}
    """Calls to sub-agents."""
    marks: Mapping[str, str] = {}
    """Calls to the turns they were made in, as far as these are known."""

    @classmethod
    def of(cls, transcript: Transcript) -> Links:
        agents = {one.delegated_by: one.agent for one in transcript.agents if one.delegated_by}
        threads = (transcript, *transcript.agents)
        every = ((call, turn) for one in threads for turn in one.turns for call in turn.tool_calls)
        return cls(agents, {call.id: _mark(turn) for call, turn in every if call.id in agents})

    def call_of(self, agent: str) -> str:
        """The call that started a sub-agent; empty where none is known."""
        return next((call for call, one in self.agents.items() if one == agent), "")


NO_LINKS = Links()


def _mark(turn: Turn) -> str:
    return f"{turn.agent}/t{turn.index}" if turn.agent else f"t{turn.index}"


class _Entry(NamedTuple):
    session: int
    """Place of the session in its file, as `--session` takes it."""
    turn: Turn
    pending: bool
    links: Links


def _listed(
    chosen: Sequence[Transcript], *, agents: bool, first: int, last: int | None
) -> list[_Entry]:
    """What is shown, in order: each session's turns, its sub-agents' turns, its pending words."""
    entries: list[_Entry] = []
    for number, transcript in enumerate(chosen):
        links = Links.of(transcript)
        for part in (transcript, *(transcript.agents if agents else ())):
            entries.extend(_Entry(number, t, False, links) for t in part.turns if t.index >= first)
            if part.pending is not None:
                entries.append(_Entry(number, part.pending, True, links))
    if last is None:
        return entries
    places = [place for place, entry in enumerate(entries) if not entry.pending]
    if last == 0:
        return []
    return entries[places[-last] :] if last < len(places) else entries


def _show_all(listed: list[_Entry], out: Console, *, several: bool, full: bool) -> None:
    from rich.text import Text

    shown_session = -1
    for session, turn, pending, links in listed:
        if several and session != shown_session:
            out.print(Text(f"session {session}", style="bold"))
            shown_session = session
        if not pending:
            show_turn(turn, out, full=full, links=links)
        elif turn.user_message:
            _line(out, "pending", turn.user_message, full=full, style="bold yellow")


def as_json(turn: Turn, *, pending: bool = False, links: Links = NO_LINKS) -> dict[str, Any]:
    """The fields of a turn; the provider's layout, which repeats them, is left out."""
    import msgspec

    values: dict[str, Any] = {**msgspec.to_builtins(turn), "pending": pending}
    values["delegated_by"] = links.call_of(turn.agent) if turn.agent else ""
    del values["messages"]
    for item in (
        *values["tool_calls"],
        *values["tool_results"],
        *values["notes"],
        *values["media"],
    ):
        item.pop("wire", None)
    return values


def show_turn(turn: Turn, out: Console, *, full: bool, links: Links = NO_LINKS) -> None:
    from rich.text import Text

    when = f"{turn.timestamp:%Y-%m-%d %H:%M}" if turn.timestamp else ""
    by = links.call_of(turn.agent) if turn.agent else ""
    started = f"started in {harmless(links.marks.get(by, by))}" if by else ""
    counted = (f"exchange {turn.exchange}", f"{turn.tokens:,} tokens")
    facts = (*counted, when, harmless(turn.agent), started)
    head = Text(f"t{turn.index}", style="bold cyan")
    head.append("  " + " · ".join(fact for fact in facts if fact), style="dim")
    out.print(head)
    for note in turn.notes:
        words = note.text if full else _without_tags(note)
        _line(out, note.kind.replace("_", " "), words, full=full, style="dim")
    if turn.user_message:
        _line(out, "user", turn.user_message, full=full, style="bold green")
    if turn.thinking:
        _line(out, "thinking", turn.thinking, full=full, style="italic dim")
    if turn.assistant_response:
        _line(out, "assistant", turn.assistant_response, full=full, style="bold")
    for call in turn.tool_calls:
        out.print(
            _call(turn, call, full=full, links=links),
            overflow="fold" if full else "ellipsis",
            no_wrap=not full,
        )
        result = turn.result_of(call)
        if result is not None and result.reason:
            _line(out, "refused", result.reason, full=full, style="bold green")
        if full and result is not None and result.output:
            _line(out, "output", result.output, full=True, style="dim")


def _without_tags(note: Note) -> str:
    from kedge.formats.content.wrappers import command_text

    return _TAG.sub(" ", command_text(note.text) if note.kind == "command" else note.text)


def _call(turn: Turn, call: ToolCall, *, full: bool, links: Links) -> Text:
    """One call in one line: how it went, its verb, and what it was about."""
    from rich.text import Text

    result = turn.result_of(call)
    if result is None:
        mark, style = "…", "yellow"
    elif result.refused:
        mark, style = "⊘", "yellow"
    elif result.success:
        mark, style = "✓", "green"
    else:
        mark, style = "✗", "red"
    text = Text("  ")
    text.append(mark, style=style)
    name = call.verb if call.verb != "other" else harmless(call.tool)
    text.append(f" {name:<13}", style="magenta")
    text.append(_shortened(_about(call), full=full))
    if result is not None and result.exit_code:
        text.append(f"  exit {result.exit_code}", style="red")
    if agent := links.agents.get(call.id):
        text.append(f"  → {harmless(agent)}/t0", style="cyan")
    return text


def _about(call: ToolCall) -> str:
    for name in ("command", "cmd", "query", "pattern", "url", "description", "prompt"):
        value = call.parameters.get(name)
        if isinstance(value, (list, tuple)):
            value = " ".join(map(str, value))
        if isinstance(value, str) and value:
            return " ".join((value, *call.paths())) if name == "pattern" else value
    return ", ".join(call.paths()) or call.tool


def _line(out: Console, label: str, text: str, *, full: bool, style: str) -> None:
    from rich.text import Text

    line = Text("  ")
    line.append(f"{label:<15}", style=style)
    line.append(_shortened(text, full=full), style="dim" if style.endswith("dim") else "")
    out.print(line, overflow="fold" if full else "ellipsis", no_wrap=not full)


def _shortened(text: str, *, full: bool) -> str:
    if full:
        return harmless(text)
    flat = harmless(" ".join(text[:SCANNED].split()))
    return flat if len(flat) <= SHORT else flat[: SHORT - 1] + "…"

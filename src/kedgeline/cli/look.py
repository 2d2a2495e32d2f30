"""What is in a session: `kedgeline stats`, `turns`, `show`, `anchors`, `facts` and `todos`."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import msgspec
import typer

from kedgeline.cli.opening import check_name, is_file, open_kept, open_session, read_transcript
from kedgeline.cli.options import SessionSource
from kedgeline.cli.output import (
    console,
    count,
    dotted,
    fields,
    harmless,
    mark,
    progress,
    say,
    shorten,
    show,
    styled,
    table,
    watch_turns,
    write_json,
    write_lines,
)
from kedgeline.errors import NoSuchSession, NotATranscript, SourceUnreadable
from kedgeline.settings import load_settings

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from kedgeline.model import Anchor, AnyFact, TodoSet, ToolCall, ToolResult, Transcript, Turn
    from kedgeline.pipeline.stats import Stats
    from kedgeline.session.session import Session

BAR_WIDTH = 28
"""Columns of the longest bar: the table stays within 80 columns."""
DAMAGE_SHOWN = 8
"""Damaged places listed; `--json` has them all."""
SCANNED = 4_096
"""Characters looked at for one line; outputs may have megabytes."""
SHORT = 160
"""Characters of a text shown in one line; `--full` shows all."""
KINDS: dict[str, tuple[str, ...]] = {
    "files": ("file_changed", "file_read"),
    "commands": ("command_run",),
    "actions": ("action_taken",),
    "repository": ("committed",),
    "errors": ("error_seen", "error_resolved", "dead_end"),
    "todos": ("todo_set",),
    "instructions": ("instruction_given",),
    "requests": ("requested", "answered"),
    "statements": ("stated", "called"),
    "decisions": ("decided",),
    "questions": ("asked",),
    "session": ("session_noted",),
    "agents": ("agent_reported",),
}
"""What `--kind` takes, and the kinds of facts it shows."""
TODO_LOOK = {
    "completed": ("✓", "green"),
    "in_progress": ("▶", "yellow"),
    "pending": ("○", ""),
    "dropped": ("✗", "dim"),
}
TODO_SOURCES = ("todos", "plan", "checklist", "stated")
"""In the order in which they are shown: what the agent keeps itself first."""
_TAG = re.compile(r"</?[a-z][\w-]*>")
"""What clients wrap their notes in; a listing for people leaves it off."""
_MARK = re.compile(r"\[?t?(\d{1,9})(?:-t?(\d{1,9}))?\]?")
"""A turn mark as summaries have it: t12, t12-15, with or without brackets."""


def stats(
    files: list[str],
    format: str | None = None,
    vocabulary: str | None = None,
    store: str | None = None,
    json: bool = False,
) -> None:
    """Show what sessions consist of: turns, tool calls, tokens, earlier compactions, damage.

    Args:
        files <FILE...>: Session files of any format, or kept sessions; - for stdin.
    """
    from kedgeline.pipeline.read import stream
    from kedgeline.pipeline.stats import stats_of
    from kedgeline.tokens import counter_named

    settings = load_settings()
    counter = counter_named(vocabulary or settings.vocabulary)
    found: list[Stats] = []
    failed = 0
    for name in files:
        try:
            kept = _kept(name, store)
            most = settings.largest_outputs
            if kept:
                result = stats_of(kept.transcript(), counter, largest=most)
                context = kept.context_tokens()
                result = msgspec.structs.replace(result, name=name, context=context)
            else:
                reading = stream(name, format=format)
                turns = watch_turns(reading)
                result = stats_of(reading, counter, largest=most, turns=turns)
        except (NotATranscript, SourceUnreadable) as error:
            say(f"kedgeline: {error}")
            failed = error.exit_code
            continue
        found.append(result)
        if json:
            values = msgspec.to_builtins(result)
            values["file"] = values.pop("name")
            values["tokens"] = {"total": result.tokens.total, **values["tokens"]}
            values["session"] = {one.name: one.value for one in result.session.changes}
            write_json(values)
    if len(found) == 1 and not json:
        show(*_stats_page(found[0]))
    elif found and not json:
        show(_overview(found))
    if failed:
        raise typer.Exit(failed)


def _kept(name: str, store: str | None) -> Session | None:
    """A session that is kept; None for a file, and for what is neither."""
    try:
        return None if is_file(name) else open_kept(name, store)
    except NoSuchSession:
        return None


def _stats_page(stats: Stats) -> Iterator[Any]:
    about = (stats.model, stats.session.latest("branch"), stats.session.latest("mode"))
    words = "  ".join(filter(None, (stats.format, *about)))
    yield styled(harmless(stats.name), "bold").append(f"  {harmless(words)}", "not bold")
    calls = dict(stats.tool_calls)
    total = calls.pop("total")
    yield dotted(
        count(stats.sessions, "session") if stats.sessions > 1 else "",
        count(stats.turns, "turn"),
        count(stats.exchanges, "exchange"),
        count(stats.user_messages, "user message"),
        count(stats.queued_messages, "queued message") if stats.queued_messages else "",
        count(total, "tool call"),
        f"{stats.failures:,} failed" if stats.failures else "",
        f"{stats.refusals:,} refused" if stats.refusals else "",
    )
    yield ""
    yield from _context(stats)
    kinds = {kind: getattr(stats.tokens, kind) for kind in stats.tokens.__struct_fields__}
    tokens = {kind.replace("_", " "): number for kind, number in kinds.items() if number}
    yield from _bars(f"tokens of all turns as {stats.vocabulary}", tokens)
    yield from _bars("tool calls", calls)
    if stats.largest_outputs:
        yield from ("", "largest outputs")
        rows = ((o.tokens, mark(o.turn), o.tool, o.about) for o in stats.largest_outputs)
        yield table(">", ">", "", "*", rows=rows)
    if remarks := list(_remarks(stats)):
        yield from ("", *remarks)


def _bars(title: str, counts: Mapping[str, int]) -> Iterator[Any]:
    """The largest first."""
    total, most = sum(counts.values()), max(counts.values(), default=1)
    if not total:
        return
    bar = partial(styled, style="cyan")
    yield from ("", f"{title}: {total:,}")
    yield table(
        *("", ">", ">", ""),
        rows=(
            (name, n, f"{n / total:.0%}", bar("█" * max(1, BAR_WIDTH * n // most)))
            for name, n in sorted(counts.items(), key=lambda item: -item[1])
        ),
    )


def _context(stats: Stats) -> Iterator[str]:
    """What the next request would send, how that is known, and what is left out of it."""
    from kedgeline.tokens import last_fold

    context = stats.context
    if context is None:
        yield f"{stats.sessions} sessions: `kedgeline plan FILE --session N` has the context of one"
        return
    yield f"context: {context.told()}, what the next request would send"
    if context.hidden:
        hidden = f"{context.hidden:,} that no turn shows"
        yield f"  with {hidden}, such as the client's system prompt and tools"
    fold = last_fold(stats.compactions)
    if fold is not None:
        yield f"  without the turns before t{fold.turn}, which {fold.by} has folded"
    if stats.rewound:
        yield f"  without {count(stats.rewound, 'turn')} that the user rewound"
    if stats.agents:
        yield (
            f"  without {count(stats.agents, 'sub-agent')}: {count(stats.agent_turns, 'turn')}"
            f", {count(stats.agent_tool_calls, 'tool call')}, {stats.agent_tokens:,} tokens"
        )


def _remarks(stats: Stats) -> Iterator[str]:
    """Everything out of the ordinary, one line each."""
    for compaction in stats.compactions:
        before = f" from {compaction.tokens_before:,} tokens" if compaction.tokens_before else ""
        kind = "compacted" if compaction.kind == "summary" else compaction.kind.replace("_", " ")
        trigger = f" ({compaction.trigger})" if compaction.trigger else ""
        yield f"{kind} by {compaction.by}{trigger} before t{compaction.turn}{before}"
    if stats.pending:
        yield f"pending: {shorten(stats.pending, 200)}"
    if stats.skipped_formats:
        yield f"formats that failed to load: {', '.join(stats.skipped_formats)}"
    if stats.ignored:
        kinds = ", ".join(f"{kind} ({number})" for kind, number in stats.ignored.items())
        yield f"unknown records skipped: {kinds}"
    if stats.damage_count:
        yield f"damage in {count(stats.damage_count, 'place')}:"
    for damage in stats.damage[:DAMAGE_SHOWN]:
        where = f"{damage.file}, " if damage.file else ""
        yield f"  {where}line {damage.line + 1}: {damage.kind.replace('_', ' ')}, {damage.detail}"
    if stats.damage_count > DAMAGE_SHOWN:
        yield f"  … and {stats.damage_count - DAMAGE_SHOWN:,} more (--json lists them)"


def _overview(found: list[Stats]) -> Table:
    columns: dict[str, Callable[[Stats], int]] = {
        ">turns": lambda one: one.turns,
        ">exchanges": lambda one: one.exchanges,
        ">calls": lambda one: one.tool_calls["total"],
        ">context": lambda one: one.context.total if one.context else one.tokens.total,
        ">compactions": lambda one: len(one.compactions),
        ">damage": lambda one: one.damage_count,
    }
    rows = [
        (one.name.rpartition("/")[2], one.format, *(number(one) for number in columns.values()))
        for one in found
    ]
    totals = (sum(map(number, found)) for number in columns.values())
    total = (f"{len(found)} files", "", *totals)
    return table("file", "format", *columns, rows=rows, total=total)


# Turns.


Links = Mapping[str, str]
"""Sub-agents by the calls that started them."""


def _links(transcript: Transcript) -> Links:
    return {one.delegated_by: one.agent for one in transcript.agents if one.delegated_by}


def turns(
    source: SessionSource,
    first: int = 0,
    last: int | None = None,
    agents: bool = False,
    json: bool = False,
) -> None:
    """List the turns of a session: what was said, which tools were called, and how it went.

    A prompt that is not answered yet comes last; in JSON it is the object with `"pending": true`.

    Args:
        first --from N>=0: First turn to show.
        last N>=0: Show only the last N turns.
        agents: Show sub-agents' turns too.
    """
    from kedgeline.pipeline.read import collect, stream
    from kedgeline.tokens import counter_named

    if is_file(source.file):
        counter = counter_named(source.vocabulary or load_settings().vocabulary)
        reading = stream(source.file, format=source.format)
        sessions = collect(reading, turns=watch_turns(reading), counter=counter)
        every = source.session is None
        chosen = [*sessions] if every else [reading.choose(sessions, source.session)]
    else:
        chosen = [open_kept(source.file, source.store).transcript()]
    entries = [
        (number, turn, turn is part.pending, links)
        for number, transcript in enumerate(chosen)
        for links in (_links(transcript),)
        for part in (transcript, *(transcript.agents if agents else ()))
        for turn in (*part.turns, *((part.pending,) if part.pending else ()))
        if turn.index >= first or turn is part.pending
    ]
    if last is not None:
        places = [place for place, entry in enumerate(entries) if not entry[2]]
        begin = places[-last] if 0 < last < len(places) else 0
        entries = entries[begin:] if last else []
    shown, out = -1, console()
    for number, turn, is_pending, links in entries:
        if json:
            write_json(turn_as_json(turn, pending=is_pending, links=links))
            continue
        if len(chosen) > 1 and number != shown:
            out.print(f"session {number}", style="bold")
            shown = number
        show_turn(turn, out, pending=is_pending, links=links)


def show_turns(transcript: Transcript, out: Console) -> None:
    """All turns, a line for each thing that happened, and the words that wait."""
    links = _links(transcript)
    for turn in transcript.turns:
        show_turn(turn, out, links=links)
    if transcript.pending is not None:
        show_turn(transcript.pending, out, pending=True)


def turn_as_json(
    turn: Turn, *, pending: bool = False, links: Links | None = None
) -> dict[str, Any]:
    """The fields of a turn; the provider's layout, which repeats them, is left out."""
    values: dict[str, Any] = {**msgspec.to_builtins(turn), "pending": pending}
    calls = (call for call, agent in (links or {}).items() if agent == turn.agent)
    values["delegated_by"] = next(calls, "")
    del values["messages"]
    for key in ("tool_calls", "tool_results", "notes", "media"):
        for item in values[key]:
            item.pop("wire", None)
    return values


def show_turn(
    turn: Turn,
    out: Console,
    *,
    full: bool = False,
    pending: bool = False,
    links: Links | None = None,
) -> None:
    from kedgeline.text.spoken import command_in

    def line(label: str, text: str, style: str) -> None:
        if text:
            told = styled("  ").append(f"{label:<15}", style)
            told.append(_fit(text, full=full), "dim" if style.endswith("dim") else "")
            out.print(told, overflow="fold" if full else "ellipsis", no_wrap=not full)

    if pending:
        line("pending", turn.user_message, "bold yellow")
        return
    when = f"{turn.timestamp:%Y-%m-%d %H:%M}" if turn.timestamp else ""
    counted = (f"exchange {turn.exchange}", f"{turn.tokens:,} tokens")
    about = dotted(*counted, when, harmless(turn.agent))
    out.print(mark(turn.index).append(f"  {about}", "not bold dim default"))
    for note in turn.notes:
        words = note.text
        if not full:
            command = command_in(words) if note.kind == "command" else None
            words = f"/{command.name} {command.arguments}" if command else _TAG.sub(" ", words)
        line(note.kind.replace("_", " "), words, "dim")
    line("user", turn.user_message, "bold green")
    line("thinking", turn.thinking, "italic dim")
    line("assistant", turn.assistant_response, "bold")
    for call in turn.tool_calls:
        result = turn.result_of(call)
        told = _call_told(call, result, full=full)
        if agent := (links or {}).get(call.id):
            told.append(f"  → {harmless(agent)}/t0", style="cyan")
        out.print(told, overflow="fold" if full else "ellipsis", no_wrap=not full)
        line("refused", result.reason if result else "", "bold green")
        line("output", result.output if full and result else "", "dim")


def _call_told(call: ToolCall, result: ToolResult | None, *, full: bool) -> Any:
    """One call in one line: how it went, its verb, and what it was about."""
    if result is None:
        sign, style = "…", "yellow"
    elif result.refused:
        sign, style = "⊘", "yellow"
    else:
        sign, style = ("✓", "green") if result.success else ("✗", "red")
    name = call.verb if call.verb != "other" else harmless(call.tool)
    text = styled("  ").append(sign, style=style).append(f" {name:<13}", style="magenta")
    text.append(_fit(_about(call), full=full))
    if result is not None and result.exit_code:
        text.append(f"  exit {result.exit_code}", style="red")
    return text


def _about(call: ToolCall) -> str:
    for name in ("command", "cmd", "query", "pattern", "url", "description", "prompt"):
        value = call.parameters.get(name)
        if isinstance(value, (list, tuple)):
            value = " ".join(map(str, value))
        if isinstance(value, str) and value:
            return " ".join((value, *call.paths())) if name == "pattern" else value
    return ", ".join(call.paths()) or call.tool


def _fit(text: str, *, full: bool) -> str:
    """A text whole, or the beginning of it in one line."""
    return harmless(text) if full else shorten(text[:SCANNED], SHORT)


def show_command(source: SessionSource, marks: list[str], json: bool = False) -> None:
    """Show turns whole: all that was said, every call and its output.

    Args:
        marks <TURN...>: Turns to show: t12, or t12-15; of a kept session also t12.0, a call's
            output.
    """
    if not is_file(source.file):
        _show_kept(open_kept(source.file, source.store), marks, json=json)
        return
    spans = list(map(turns_marked, marks))
    found = open_session(source, secrets=True).transcript
    for span in spans:
        if span.stop > len(found.turns):
            last = f"the last is t{len(found.turns) - 1}" if found.turns else "it has none"
            raise typer.BadParameter(f"{source.file!r} has no turn t{span.stop - 1}; {last}")
    for place in dict.fromkeys(place for span in spans for place in span):
        _show_whole(found.turns[place], found, json=json)


def _show_kept(kept: Session, marks: list[str], *, json: bool) -> None:
    """Originals from the archive: turns, also those of sub-agents and taken back ones, and what
    single calls gave back."""
    about = kept.about()
    for named in marks:
        spans = turns_marked(named) if _MARK.fullmatch(named.strip()) else None
        for one in (f"t{number}" for number in spans) if spans else (named,):
            found = kept.original(one)
            if not json and (found.call is not None or found.result is not None):
                _write_output(found.text)
            else:
                _show_whole(found.turn, about, json=json, output=found.text or None)


def _show_whole(turn: Turn, about: Transcript, *, json: bool, **more: str | None) -> None:
    if json:
        write_json({**turn_as_json(turn, links=_links(about)), **more})
    else:
        show_turn(turn, console(), full=True, links=_links(about))


def _write_output(text: str) -> None:
    """A person sees no control characters at work; whatever else reads gets the text as it is."""
    if sys.stdout.isatty():
        typer.echo(harmless(text))
        return
    sys.stdout.flush()  # turns shown before it
    sys.stdout.buffer.write(text.encode("utf-8", "replace"))
    sys.stdout.buffer.flush()


def turns_marked(mark: str) -> range:
    found = _MARK.fullmatch(mark.strip())
    if found is None:
        raise typer.BadParameter(f"{mark!r} is not a turn; write t12, or t12-15")
    first = int(found[1])
    last = int(found[2] or first)
    if last < first:
        raise typer.BadParameter(f"{mark!r} ends before it begins; write t{last}-{first}")
    return range(first, last + 1)


# Anchors, facts, todos.


def anchors(source: SessionSource, profile: str = "standard", json: bool = False) -> None:
    """List the anchors of a session: turns where something was fixed, finished, found or approved.

    If none is found, the end of the session is marked as a checkpoint.

    Args:
        profile NAME: Confidences of the detectors: standard, or literal.
    """
    from kedgeline.pipeline.job import flow_of

    transcript = read_transcript(source)
    with progress("finding anchors"):
        flow = flow_of(transcript.turns, profile=profile)
    if json:
        write_lines(map(anchor_as_json, flow.anchor_points))
        return
    rows = (
        (
            mark(one.turn_index),
            one.type.replace("_", " "),
            one.weight,
            one.confidence,
            styled(shorten(one.description, SCANNED), "dim" if one.synthetic else ""),
        )
        for one in flow.anchor_points
    )
    natural, total = sum(not one.synthetic for one in flow.anchor_points), len(flow.turns)
    rate = f", {100 * natural / total:.1f} per 100 turns" if natural else ""
    show(
        table("turn", "type", ">weight", ">confidence", "*description", rows=rows),
        f"{count(total, 'turn')}, {count(natural, 'natural anchor')}{rate}",
    )


def anchor_as_json(anchor: Anchor) -> dict[str, Any]:
    return {**msgspec.to_builtins(anchor), "weight": anchor.weight}


def facts(source: SessionSource, kind: list[str] | None = None, json: bool = False) -> None:
    """List the facts of a session: files, commands, errors, decisions, each with its turn.

    Args:
        kind KIND: Only these; may be given again: files, commands, actions, repository, errors,
            todos, instructions, requests, statements, decisions, questions, session, agents.
    """
    from kedgeline.facts import facts_of

    for name in kind or ():
        check_name("kind of facts", name, KINDS)
    wanted = {tag for name in kind or KINDS for tag in KINDS[name]}
    out = console()
    transcript = read_transcript(source)
    with progress("finding facts"):
        found = list(facts_of(transcript))
    for fact in found:
        tag = type(fact).__struct_config__.tag
        if tag not in wanted:
            continue
        if json:
            write_json(fact)
            continue
        line = styled(f"t{fact.turn:<5}", style="bold cyan")
        line.append(f"{str(tag).replace('_', ' '):<18}", style="magenta")
        out.print(line.append(harmless(_fact_told(fact))), overflow="ellipsis", no_wrap=True)


def _fact_told(fact: AnyFact) -> str:
    """A fact in one line: what its fields say, those that are empty left out."""
    return " · ".join(
        f"{name}={value}" if isinstance(value, (int, float, bool)) else shorten(str(value), 2_000)
        for name, value in msgspec.structs.asdict(fact).items()
        if name not in ("turn", "key") and value not in ("", (), None, False)
    )


def todos(source: SessionSource, json: bool = False) -> None:
    """List the todos and plan steps of a session as they stand at its end."""
    from kedgeline.pipeline.handoff import summarize

    transcript = read_transcript(source)
    with progress("finding todos"):
        found = list(summarize(transcript).todos.values())
    found.sort(key=lambda e: (TODO_SOURCES.index(e[-1].source), e[0].turn, e[-1].place))
    if json:
        names = "text status source place turn"
        write_lines({**fields(events[-1], names), "since": events[0].turn} for events in found)
        return
    latest = [events[-1] for events in found]
    # Planned steps stay as they were planned, as the agent marks only its own list.
    own = [todo for todo in latest if todo.source == "todos"] or latest
    hidden = f"{len(latest) - len(own)} planned steps are not shown beside the agent's own list"
    rows = []
    for todo in own:
        sign, style = TODO_LOOK[todo.status]
        words = (sign, shorten(todo.text, SCANNED), todo.status.replace("_", " "))
        rows.append((*(styled(word, style) for word in words), todo.source, mark(todo.turn)))
    show(
        table("", "todo", "status", "from", "turn", rows=rows) if rows else None,
        _progress_told(own),
        f"{hidden}: --json" if len(own) < len(latest) else None,
    )


def _progress_told(latest: Sequence[TodoSet]) -> str:
    if not latest:
        return "no todos"
    told = []
    for source in TODO_SOURCES:
        statuses = Counter(todo.status for todo in latest if todo.source == source)
        if wanted := statuses.total() - statuses["dropped"]:
            told.append(f"{source}: {statuses['completed']} of {wanted} completed")
    return "; ".join(told) or "all dropped"

"""What is in a session: `kedgeline stats`, `turns`, `show`, `anchors`, `facts` and `todos`."""

from __future__ import annotations

import re
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import msgspec
import typer

from kedgeline.cli import options
from kedgeline.cli.opening import is_file, open_kept, open_session, read_transcript
from kedgeline.cli.options import Source, amount, argument, flag, option
from kedgeline.cli.output import (
    console,
    count,
    fields,
    harmless,
    styled,
    table,
    watch_turns,
    write_json,
    write_lines,
)
from kedgeline.errors import NoSuchSession, NotATranscript, SourceUnreadable, UnknownName
from kedgeline.settings import load_settings

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from kedgeline.model import Anchor, AnyFact, TodoSet, ToolCall, Transcript, Turn
    from kedgeline.pipeline.stats import Stats
    from kedgeline.session.session import Session

BAR_WIDTH = 28
"""Columns of the longest bar: the table stays within 80 columns."""
ABOUT_WIDTH = 52
"""Columns for the path or command of a large output, likewise."""
FIELD_SHOWN = 2_000
"""Characters of a fact's field: more than a line of any terminal."""
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
    files: Annotated[
        list[str],
        argument("Sessions of any format, or kept ones; - for stdin.", metavar="FILE..."),
    ],
    format: options.FormatName = None,
    vocabulary: options.Vocabulary = None,
    store: options.StorePlace = None,
    json: options.Json = False,
) -> None:
    """Show what sessions consist of: turns, tool calls, tokens, earlier compactions, damage."""
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
            typer.echo(f"kedgeline: {error}", err=True)
            failed = error.exit_code
            continue
        if json:
            values = msgspec.to_builtins(result)
            values["file"] = values.pop("name")
            values["tokens"] = {"total": result.tokens.total, **values["tokens"]}
            values["session"] = {one.name: one.value for one in result.session.changes}
            write_json(values)
        found.append(result)
    if found and not json:
        if len(found) == 1:
            _show_stats(found[0], console())
        else:
            console().print(_overview(found))
    if failed:
        raise typer.Exit(failed)


def _kept(name: str, store: str | None) -> Session | None:
    """A session that is kept; None for a file, and for what is neither."""
    try:
        return None if is_file(name) else open_kept(name, store)
    except NoSuchSession:
        return None


def _show_stats(stats: Stats, out: Console) -> None:
    about = (stats.model, stats.session.latest("branch"), stats.session.latest("mode"))
    where = harmless("  ".join(fact for fact in about if fact))
    heading = styled(harmless(stats.name), style="bold")
    out.print(styled("  ").join([heading, styled(stats.format), styled(where)]))
    calls = dict(stats.tool_calls)
    total = calls.pop("total")
    counts = [
        count(stats.sessions, "session") if stats.sessions > 1 else "",
        count(stats.turns, "turn"),
        count(stats.exchanges, "exchange"),
        count(stats.user_messages, "user message"),
        count(stats.queued_messages, "queued message") if stats.queued_messages else "",
        count(total, "tool call"),
        f"{stats.failures:,} failed" if stats.failures else "",
        f"{stats.refusals:,} refused" if stats.refusals else "",
    ]
    out.print(" · ".join(word for word in counts if word))
    out.print()
    for line in _context(stats):
        out.print(harmless(line))
    out.print()
    kinds = {kind: getattr(stats.tokens, kind) for kind in stats.tokens.__struct_fields__}
    tokens = {kind.replace("_", " "): number for kind, number in kinds.items() if number}
    out.print(_bars(f"tokens of all turns as {stats.vocabulary}", tokens))
    if total:
        out.print()
        out.print(_bars("tool calls", calls))
    if stats.largest_outputs:
        out.print()
        out.print(_largest(stats))
    for line in _remarks(stats):
        out.print(harmless(line))


def _bars(title: str, counts: Mapping[str, int]) -> Table:
    """The largest first."""
    total, most = sum(counts.values()), max(counts.values(), default=1)
    heading = styled(f"{title}: {total:,}")
    made = table(
        *("", ">count", ">share", ""), title=heading, title_justify="left", show_header=False
    )
    for name, number in sorted(counts.items(), key=lambda item: -item[1]):
        bar = styled("█" * max(1, round(BAR_WIDTH * number / most)), style="cyan")
        made.add_row(name, f"{number:,}", f"{number / total:.0%}", bar)
    return made


def _largest(stats: Stats) -> Table:
    made = table(
        *(">", ">", "", ""),
        each={"no_wrap": True, "overflow": "ellipsis"},
        title="largest outputs",
        title_justify="left",
        show_header=False,
    )
    for output in stats.largest_outputs:
        about = harmless(" ".join(output.about.split()))
        about = about if len(about) <= ABOUT_WIDTH else f"{about[: ABOUT_WIDTH - 1]}…"
        made.add_row(f"{output.tokens:,}", f"t{output.turn}", harmless(output.tool), about)
    return made


def _context(stats: Stats) -> list[str]:
    """What the next request would send, how that is known, and what is left out of it."""
    from kedgeline.tokens import last_fold

    context = stats.context
    if context is None:
        return [
            f"{stats.sessions} sessions: `kedgeline plan FILE --session N` has the context of one"
        ]
    lines = [f"context: {context.told()}, what the next request would send"]
    if context.hidden:
        hidden = f"{context.hidden:,} that no turn shows"
        lines.append(f"  with {hidden}, such as the client's system prompt and tools")
    fold = last_fold(stats.compactions)
    if fold is not None:
        lines.append(f"  without the turns before t{fold.turn}, which {fold.by} has folded")
    if stats.rewound:
        lines.append(f"  without {count(stats.rewound, 'turn')} that the user rewound")
    if stats.agents:
        lines.append(
            f"  without {count(stats.agents, 'sub-agent')}: {count(stats.agent_turns, 'turn')}"
            f", {count(stats.agent_tool_calls, 'tool call')}, {stats.agent_tokens:,} tokens"
        )
    return lines


def _remarks(stats: Stats) -> list[str]:
    """Everything out of the ordinary, one line each, after an empty one."""
    lines: list[str] = []
    for compaction in stats.compactions:
        before = f" from {compaction.tokens_before:,} tokens" if compaction.tokens_before else ""
        kind = "compacted" if compaction.kind == "summary" else compaction.kind.replace("_", " ")
        trigger = f" ({compaction.trigger})" if compaction.trigger else ""
        lines.append(f"{kind} by {compaction.by}{trigger} before t{compaction.turn}{before}")
    if stats.pending:
        lines.append(f"pending: {' '.join(stats.pending.split())[:200]}")
    if stats.skipped_formats:
        lines.append(f"broken formats that could not be asked: {', '.join(stats.skipped_formats)}")
    if stats.ignored:
        kinds = ", ".join(f"{kind} ({number})" for kind, number in stats.ignored.items())
        lines.append(f"unknown records passed over: {kinds}")
    if stats.damage_count:
        lines.append(f"damage in {count(stats.damage_count, 'place')}:")
    for damage in stats.damage[:DAMAGE_SHOWN]:
        where = f"{damage.file}, " if damage.file else ""
        what = f"{damage.kind.replace('_', ' ')}, {damage.detail}"
        lines.append(f"  {where}line {damage.line + 1}: {what}")
    if stats.damage_count > DAMAGE_SHOWN:
        lines.append(f"  … and {stats.damage_count - DAMAGE_SHOWN:,} more (--json lists them)")
    return ["", *lines] if lines else []


def _overview(found: list[Stats]) -> Table:
    numbers = [
        (
            stats.turns,
            stats.exchanges,
            stats.tool_calls["total"],
            stats.context.total if stats.context else stats.tokens.total,
            len(stats.compactions),
            stats.damage_count,
        )
        for stats in found
    ]
    columns = ("turns", "exchanges", "calls", "context", "compactions", "damage")
    made = table("file", "format", *(f">{name}" for name in columns))
    for stats, row in zip(found, numbers, strict=True):
        name = harmless(stats.name.rpartition("/")[2])
        made.add_row(name, stats.format, *(f"{number:,}" for number in row))
    totals = (sum(column) for column in zip(*numbers, strict=True))
    made.add_section()
    made.add_row(f"{len(found)} files", "", *(f"{total:,}" for total in totals), style="bold")
    return made


class Links(NamedTuple):
    """Sub-agents and the calls that started them."""

    agents: Mapping[str, str] = {}
    """Calls to sub-agents."""
    marks: Mapping[str, str] = {}
    """Calls to the turns they were made in, as far as these are known."""

    @classmethod
    def of(cls, transcript: Transcript) -> Links:
        agents = {one.delegated_by: one.agent for one in transcript.agents if one.delegated_by}
        marks: dict[str, str] = {}
        for thread in (transcript, *transcript.agents):
            for turn in thread.turns:
                mark = f"{turn.agent}/t{turn.index}" if turn.agent else f"t{turn.index}"
                marks |= {call.id: mark for call in turn.tool_calls if call.id in agents}
        return cls(agents, marks)

    def call_of(self, agent: str) -> str:
        """The call that started a sub-agent; empty where none is known."""
        return next((call for call, one in self.agents.items() if agent and one == agent), "")


NO_LINKS = Links()


class _Entry(NamedTuple):
    session: int
    """Place of the session in its file, as `--session` takes it."""
    turn: Turn
    pending: bool
    links: Links


def turns(
    source: Source,
    first: Annotated[int, amount("First turn to show.", "--from", min=0)] = 0,
    last: Annotated[int | None, amount("Show only the last N turns.", min=0)] = None,
    agents: Annotated[bool, flag("Show sub-agents' turns too.", "--agents")] = False,
    full: Annotated[bool, flag("Show texts and outputs whole.", "--full")] = False,
    json: options.Json = False,
) -> None:
    """List the turns of a session: what was said, which tools were called, and how it went.

    Words no assistant has answered yet come last; in JSON they are the object with
    `"pending": true`.
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
    listed = _entries(chosen, agents=agents, first=first)
    if last is not None:
        places = [place for place, entry in enumerate(listed) if not entry.pending]
        begin = places[-last] if 0 < last < len(places) else 0
        listed = listed[begin:] if last else []
    if json:
        write_lines(turn_as_json(one.turn, pending=one.pending, links=one.links) for one in listed)
    else:
        _show_entries(listed, console(), several=len(chosen) > 1, full=full)


def show_turns(transcript: Transcript, out: Console) -> None:
    """All turns, a line for each thing that happened, and the words that wait."""
    _show_entries(_entries([transcript]), out)


def _entries(chosen: Sequence[Transcript], *, agents: bool = False, first: int = 0) -> list[_Entry]:
    """What is shown, in order: each session's turns, its sub-agents' turns, its pending words."""
    entries: list[_Entry] = []
    for number, transcript in enumerate(chosen):
        links = Links.of(transcript)
        for part in (transcript, *(transcript.agents if agents else ())):
            entries.extend(_Entry(number, t, False, links) for t in part.turns if t.index >= first)
            if part.pending is not None:
                entries.append(_Entry(number, part.pending, True, links))
    return entries


def _show_entries(
    listed: list[_Entry], out: Console, *, several: bool = False, full: bool = False
) -> None:
    shown_session = -1
    for session, turn, pending, links in listed:
        if several and session != shown_session:
            out.print(f"session {session}", style="bold")
            shown_session = session
        if not pending:
            show_turn(turn, out, full=full, links=links)
        elif turn.user_message:
            _show_line(out, "pending", turn.user_message, full=full, style="bold yellow")


def turn_as_json(turn: Turn, *, pending: bool = False, links: Links = NO_LINKS) -> dict[str, Any]:
    """The fields of a turn; the provider's layout, which repeats them, is left out."""
    values: dict[str, Any] = {**msgspec.to_builtins(turn), "pending": pending}
    values["delegated_by"] = links.call_of(turn.agent)
    del values["messages"]
    for key in ("tool_calls", "tool_results", "notes", "media"):
        for item in values[key]:
            item.pop("wire", None)
    return values


def show_turn(turn: Turn, out: Console, *, full: bool, links: Links = NO_LINKS) -> None:
    from kedgeline.text.spoken import command_in

    when = f"{turn.timestamp:%Y-%m-%d %H:%M}" if turn.timestamp else ""
    by = links.call_of(turn.agent)
    started = f"started in {harmless(links.marks.get(by, by))}" if by else ""
    counted = (f"exchange {turn.exchange}", f"{turn.tokens:,} tokens")
    about = (*counted, when, harmless(turn.agent), started)
    head = styled(f"t{turn.index}", style="bold cyan")
    head.append("  " + " · ".join(fact for fact in about if fact), style="dim")
    out.print(head)
    for note in turn.notes:
        words = note.text
        if not full:
            command = command_in(words) if note.kind == "command" else None
            words = f"/{command.name} {command.arguments}" if command else _TAG.sub(" ", words)
        _show_line(out, note.kind.replace("_", " "), words, full=full, style="dim")
    for label, words, style in (
        ("user", turn.user_message, "bold green"),
        ("thinking", turn.thinking, "italic dim"),
        ("assistant", turn.assistant_response, "bold"),
    ):
        if words:
            _show_line(out, label, words, full=full, style=style)
    for call in turn.tool_calls:
        _show_call(turn, call, out, full=full, links=links)


def _show_call(turn: Turn, call: ToolCall, out: Console, *, full: bool, links: Links) -> None:
    """One call in one line: how it went, its verb, and what it was about; below it why it was
    refused, and in full its output."""
    result = turn.result_of(call)
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
    if agent := links.agents.get(call.id):
        text.append(f"  → {harmless(agent)}/t0", style="cyan")
    out.print(text, overflow="fold" if full else "ellipsis", no_wrap=not full)
    if result is not None and result.reason:
        _show_line(out, "refused", result.reason, full=full, style="bold green")
    if full and result is not None and result.output:
        _show_line(out, "output", result.output, full=True, style="dim")


def _about(call: ToolCall) -> str:
    for name in ("command", "cmd", "query", "pattern", "url", "description", "prompt"):
        value = call.parameters.get(name)
        if isinstance(value, (list, tuple)):
            value = " ".join(map(str, value))
        if isinstance(value, str) and value:
            return " ".join((value, *call.paths())) if name == "pattern" else value
    return ", ".join(call.paths()) or call.tool


def _show_line(out: Console, label: str, text: str, *, full: bool, style: str) -> None:
    line = styled("  ").append(f"{label:<15}", style=style)
    line.append(_fit(text, full=full), style="dim" if style.endswith("dim") else "")
    out.print(line, overflow="fold" if full else "ellipsis", no_wrap=not full)


def _fit(text: str, *, full: bool) -> str:
    """A text whole, or the beginning of it in one line."""
    if full:
        return harmless(text)
    flat = harmless(" ".join(text[:SCANNED].split()))
    return flat if len(flat) <= SHORT else flat[: SHORT - 1] + "…"


def show(
    source: Source,
    marks: Annotated[
        list[str],
        argument(
            "Turns to show: t12, or t12-15; of a kept session also t12.0, a call's output.",
            metavar="TURN...",
        ),
    ],
    json: options.Json = False,
) -> None:
    """Show turns whole: all that was said, every call and its output."""
    if not is_file(source.file):
        _show_kept(source.file, marks, source.store, json=json)
        return
    spans = [turns_marked(mark) for mark in marks]
    found = open_session(source, secrets=True).transcript
    links = Links.of(found)
    for span in spans:
        if span.stop > len(found.turns):
            last = f"the last is t{len(found.turns) - 1}" if found.turns else "it has none"
            raise typer.BadParameter(f"{source.file!r} has no turn t{span.stop - 1}; {last}")
    for place in dict.fromkeys(place for span in spans for place in span):
        if json:
            write_json(turn_as_json(found.turns[place], links=links))
        else:
            show_turn(found.turns[place], console(), full=True, links=links)


def _show_kept(name: str, marks: list[str], store: str | None, *, json: bool) -> None:
    """Originals from the archive: turns, also those of sub-agents and taken back ones, and what
    single calls gave back."""
    kept = open_kept(name, store)
    links = Links.of(kept.about())
    for mark in marks:
        spans = turns_marked(mark) if _MARK.fullmatch(mark.strip()) else None
        for one in (f"t{number}" for number in spans) if spans else (mark,):
            found = kept.original(one)
            if json:
                write_json({**turn_as_json(found.turn, links=links), "output": found.text or None})
            elif found.call is not None or found.result is not None:
                write_output(found.text)
            else:
                show_turn(found.turn, console(), full=True, links=links)


def write_output(text: str) -> None:
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
        raise typer.BadParameter(f"{mark!r} is no turn; write t12, or t12-15")
    first = int(found[1])
    last = int(found[2] or first)
    if last < first:
        raise typer.BadParameter(f"{mark!r} ends before it begins; write t{last}-{first}")
    return range(first, last + 1)


def anchors(
    source: Source,
    threshold: Annotated[
        float | None, amount("Least confidence of an anchor; 0.9 unless given.", min=0, max=1)
    ] = None,
    profile: Annotated[
        str, option("How sure detectors are: standard, or literal.", metavar="NAME")
    ] = "standard",
    json: options.Json = False,
) -> None:
    """List the anchors of a session: turns where something was fixed, finished, found or approved.

    Where nothing natural is found, a synthetic checkpoint stands at the end."""
    from kedgeline.anchors import THRESHOLD
    from kedgeline.pipeline.job import flow_of

    transcript = read_transcript(source)
    least = THRESHOLD if threshold is None else threshold
    flow = flow_of(transcript.turns, threshold=least, profile=profile)
    if json:
        write_lines(map(anchor_as_json, flow.anchor_points))
        return
    out, total = console(), len(flow.turns)
    out.print(_anchors_table(flow.anchor_points))
    natural = sum(not anchor.synthetic for anchor in flow.anchor_points)
    if not total:
        out.print("no turns")
    elif not natural:
        out.print(f"{total:,} turns, no natural anchor: a synthetic checkpoint at the end")
    else:
        rate = f"{100 * natural / total:.1f} per 100 turns"
        out.print(f"{total:,} turns, {natural:,} anchors ({rate})")


def anchor_as_json(anchor: Anchor) -> dict[str, Any]:
    return {**msgspec.to_builtins(anchor), "weight": anchor.weight}


def _anchors_table(found: tuple[Anchor, ...]) -> Table:
    made = table(
        {"header": "turn", "width": 6},
        {"header": "type", "width": 17},
        {"header": ">weight", "width": 6},
        {"header": ">confidence", "width": 10},
        {"header": "description", "no_wrap": True, "overflow": "ellipsis", "ratio": 1},
        expand=True,
    )
    for anchor in found:
        style = "dim" if anchor.synthetic else ""
        made.add_row(
            styled(f"t{anchor.turn_index}", style="bold cyan"),
            styled(anchor.type.replace("_", " "), style=style),
            *(f"{anchor.weight:.2f}", f"{anchor.confidence:.2f}"),
            styled(harmless(" ".join(anchor.description.split())), style=style),
        )
    return made


def facts(
    source: Source,
    kind: Annotated[
        list[str] | None,
        option(f"Only these; may be given again: {', '.join(KINDS)}.", metavar="KIND"),
    ] = None,
    json: options.Json = False,
) -> None:
    """List the facts of a session: files, commands, errors, decisions, each with its turn."""
    from kedgeline.facts import facts_of

    for name in kind or ():
        if name not in KINDS:
            raise UnknownName("kind of facts", name, known=tuple(KINDS))
    wanted = {tag for name in kind or KINDS for tag in KINDS[name]}
    out = console()
    for fact in facts_of(read_transcript(source)):
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
        f"{name}={value}"
        if isinstance(value, (int, float, bool))
        else " ".join(str(value)[:FIELD_SHOWN].split())
        for name, value in msgspec.structs.asdict(fact).items()
        if name not in ("turn", "key") and value not in ("", (), None, False)
    )


def todos(source: Source, json: options.Json = False) -> None:
    """List the todos and plan steps of a session as they stand at its end."""
    from kedgeline.pipeline.handoff import summarize

    found = list(summarize(read_transcript(source)).todos.values())
    found.sort(key=lambda e: (TODO_SOURCES.index(e[-1].source), e[0].turn, e[-1].place))
    if json:
        names = "text status source place turn"
        write_lines({**fields(events[-1], names), "since": events[0].turn} for events in found)
        return
    latest = [events[-1] for events in found]
    own = [todo for todo in latest if todo.source == "todos"]
    if latest:
        console().print(_todos_table(own or latest))
    typer.echo(_progress_told(own or latest))
    if own and (others := len(latest) - len(own)):
        # They stay as they were planned, as the agent marks only its own list.
        typer.echo(f"{others} planned steps are not shown beside the agent's own list: --json")


def _todos_table(latest: list[TodoSet]) -> Table:
    made = table(
        {"width": 1},
        {"header": "todo", "overflow": "fold", "ratio": 1},
        {"header": "status", "width": 11},
        {"header": "from", "width": 9},
        {"header": "turn", "width": 6},
        expand=True,
    )
    for todo in latest:
        sign, style = TODO_LOOK[todo.status]
        words = (sign, harmless(" ".join(todo.text.split())), todo.status.replace("_", " "))
        turn = styled(f"t{todo.turn}", style="bold cyan")
        made.add_row(*(styled(word, style=style) for word in words), todo.source, turn)
    return made


def _progress_told(latest: list[TodoSet]) -> str:
    if not latest:
        return "no todos"
    told = []
    for source in TODO_SOURCES:
        statuses = Counter(todo.status for todo in latest if todo.source == source)
        if wanted := statuses.total() - statuses["dropped"]:
            told.append(f"{source}: {statuses['completed']} of {wanted} completed")
    return "; ".join(told) or "all dropped"

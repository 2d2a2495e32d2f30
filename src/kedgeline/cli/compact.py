"""A session made smaller: `kedgeline plan`, `compact`, `view` and `undo`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import msgspec
import typer

from kedgeline.cli import options
from kedgeline.cli.look import anchor_as_json, show_turns, turn_as_json
from kedgeline.cli.models import (
    Asking,
    ModelName,
    choose_model,
    rehearse,
    report_wording,
    trace,
    watch_model,
    wording_as_json,
)
from kedgeline.cli.opening import (
    Opened,
    Room,
    check_provider,
    is_file,
    make_redactor,
    open_kept,
    open_session,
    open_store,
    refuse_for_kept,
    room_for,
    window_for,
)
from kedgeline.cli.options import Limits, Source, flag, option
from kedgeline.cli.output import (
    Hints,
    console,
    fields,
    harmless,
    say,
    styled,
    table,
    write_json,
    write_lines,
)
from kedgeline.cli.summarize import (
    SessionFile,
    StateFile,
    SummaryStyle,
    check_style,
    keep_compaction,
    session_file_writer,
)
from kedgeline.cli.verdict import (
    answer_as_json,
    losses_as_json,
    losses_told,
    show_losses,
    verdict_as_json,
    verdict_told,
)
from kedgeline.errors import MissingExtra

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

    from kedgeline.formats import Written
    from kedgeline.model import (
        Ask,
        Budget,
        Compaction,
        Plan,
        Rates,
        Rendition,
        Transcript,
    )
    from kedgeline.pipeline.job import ConversationFlow, Job, Style
    from kedgeline.planning import Decision
    from kedgeline.session.compacting import CompactOptions
    from kedgeline.session.session import Session
    from kedgeline.tokens import ContextTokens

WIDTH = 48
"""Columns of the longest bar: with its label and numbers the picture stays within 80."""
MASKED_SHOWN = 6
"""Masked outputs listed; `--json` has them all."""
LOOK = {
    "beside the turns": ("▚", "yellow"),
    "folded": ("░", "red"),
    "kept": ("█", "green"),
    "summary": ("▒", "cyan"),
    "said again": ("▓", "magenta"),
}
"""How each kind of content is drawn."""
LEVELS: dict[str, tuple[str, str]] = {
    "whole": ("█", "green"),
    "outputs shortened": ("▓", "green"),
    "words and calls": ("▒", "cyan"),
    "statements": ("░", "cyan"),
    "mention": ("·", "red"),
}
"""How a turn is drawn, by how much of it stands in the context."""
Mask = Annotated[bool, flag("Mask old tool outputs even where the budget is kept.", "--mask")]
To = Annotated[
    str | None,
    option(
        f"Write the rebuilt messages for {options.PROVIDERS} instead of the summary.",
        metavar="PROVIDER",
    ),
]
ShowLosses = Annotated[
    bool,
    flag("Instead of the summary, show what is not in it and how to see that again.", "--losses"),
]
DryRun = Annotated[
    bool,
    flag(
        "Only show what the model would be sent, in tokens and money; nothing is sent or "
        "written down.",
        "--dry-run",
    ),
]


def plan(
    source: Source,
    limits: Limits,
    to: options.Provider = None,
    mask: Mask = False,
    prices: Annotated[
        bool, flag("Say whether it pays in money (extra `prices`).", "--prices")
    ] = False,
    json: options.Json = False,
) -> None:
    """Show what a compaction would keep, fold and mask, and why. Nothing is changed."""
    from kedgeline.pipeline.draft import renditions_of, summary_of
    from kedgeline.pipeline.job import Job, flow_of, plan_of

    found = open_session(source)
    transcript, room = found.transcript, room_for(found, limits)
    job = Job(
        *(transcript, room.budget, check_provider(to), found.previous, found.counter, mask),
        context=room.context,
    )
    flow = flow_of(transcript.turns, root=transcript.session.latest("root"))
    made = plan_of(job, flow)
    renditions = renditions_of(job.transcript.turns, made, summary_of(job, flow, made))
    decision = _decide(job, flow, made, room, _rates(found.model) if prices else None)
    if json:
        write_json(
            {
                **msgspec.to_builtins(made),
                "over_budget": made.over_budget,
                "renditions": renditions,
                "window": room.window,
                "budget": room.budget,
                "decision": decision,
                "context": found.context,
                "counted_as": found.counted_as,
            }
        )
        return
    out = console()
    out.print(harmless(source.file), style="bold")
    sizes = {"beside": job.fixed, "overhead": room.overhead}
    for line in _draw_window(made, room.budget, found.context, **sizes):
        out.print(line)
    _show_plan(made, decision, renditions, out)
    out.print(f"tokens as {found.counted_as}; {_window_told(room)}", style="dim")


def _window_told(room: Room) -> str:
    return harmless(f"window {room.window:,} ({room.known_from})")


def _rates(model: str) -> Rates:
    from kedgeline.economy.ledger import is_installed, rates_of

    if not is_installed():
        raise MissingExtra("prices", "prices")
    found = rates_of(model) if model else None
    if found is None:
        whose = f"prices of {model!r} are not known" if model else "the session names no model"
        raise typer.BadParameter(f"{whose}; leave out --prices")
    return found


def _decide(
    job: Job, flow: ConversationFlow, made: Plan, room: Room, rates: Rates | None
) -> Decision:
    """What the triggers would say of the session as it is: what came since its last compaction,
    whoever made it, and the words that wait. Whether it pays is told of this plan."""
    from kedgeline.planning import History, Signals, should_compact
    from kedgeline.tokens import last_fold

    done = last_fold(job.transcript.compactions)
    first = max(done.turn if done else 0, job.previous.turns if job.previous else 0)
    since = [turn for turn in job.transcript.turns if turn.index >= first]
    natural = [anchor for anchor in flow.anchor_points if not anchor.synthetic]
    new = [one for one in natural if since and one.turn_index >= since[0].index]
    history = History(
        turns_since=len(since),
        tokens_since=sum(turn.tokens for turn in since) + job.waiting,
        anchor_since=new[-1].description if new else None,
    )
    return should_compact(
        Signals(
            context_tokens=max(0, room.context.total - room.overhead),
            window=room.window,
            overhead=room.overhead,
            max_output=room.max_output,
            history=history,
            turns=len(job.transcript.turns),
            after=made.tokens_kept + (made.summary_room if made.folded else 0),
            rates=rates,
        )
    )


def _show_plan(
    made: Plan, decision: Decision, renditions: Sequence[Rendition], out: Console
) -> None:
    _show_levels(renditions, out)
    out.print()
    _show_spans(made, out)
    if made.masked:
        out.print()
        _show_masked(made, out)
    out.print()
    if made.nothing_to_do:
        out.print(f"nothing to do: {made.reason}")
    if made.over_budget:
        held = f": {made.held_up}" if made.held_up else ""
        out.print(f"over budget by {made.excess:,} tokens{held}", style="bold red")
        for advice in made.advice:
            out.print(f"  {harmless(advice)}")
    out.print(f"triggers: {decision.action}: {decision.reason}")
    if decision.advice is not None:
        out.print(f"advice: {decision.advice.reason}")


def _draw_window(
    plan: Plan, budget: Budget, context: ContextTokens, *, beside: int, overhead: int
) -> Iterator[Text]:
    """The context before and after, and the window, at one scale. `beside` are tokens that no
    compaction touches, of which the budget leaves out the `overhead`."""
    again = sum(one.tokens for one in plan.repeated)
    turns = max(0, context.total - beside)
    kept = min(turns, sum(span.tokens for span in plan.kept)) if plan.folded else turns
    after = context.total
    if not plan.nothing_to_do:
        after = beside + plan.tokens_kept + plan.summary_room
    scale = WIDTH / max(context.total, after, overhead + budget.usable, 1)

    def bar(label: str, parts: dict[str, int], total: str) -> Text:
        """Every part that is not empty is at least one column wide."""
        line = styled(f"{label:<8}")
        for name, tokens in parts.items():
            sign, style = LOOK[name]
            if tokens > 0:
                line.append(sign * max(1, round(tokens * scale)), style=style)
        return line.append(f" {total}")

    before = {"beside the turns": beside, "folded": turns - kept, "kept": kept}
    yield bar("before", before, f"{context.total:,} {context.kind}")
    parts = {"beside the turns": beside, "summary": plan.summary_room, "said again": again}
    yield bar("after", {**parts, "kept": after - sum(parts.values())}, f"{after:,}")
    places = (overhead + budget.target, overhead + budget.usable)
    target, end = (round(tokens * scale) for tokens in places)
    ruler = "─" * max(0, target - 1) + "┼" + "─" * max(0, end - target - 1) + "┤"
    line = styled(f"{'window':<8}").append(ruler, style="dim")
    yield line.append(f" {places[1]:,}, target {places[0]:,}", style="dim")
    yield _legend(LOOK)


def _legend(looks: dict[str, tuple[str, str]]) -> Text:
    line = styled(f"{'':8}")
    for name, (sign, style) in looks.items():
        line.append(f"{sign} {name}   ", style=style)
    return line


def _show_levels(found: Sequence[Rendition], out: Console) -> None:
    """The turns from left to right, each drawn by how much of it stands in the context, and how
    many turns stand at each level."""
    line, drawn = styled(f"{'turns':<8}"), 0
    first = found[0].first if found else 0
    scale = WIDTH / max(found[-1].last + 1 - first if found else 0, WIDTH)
    for one in found:
        end = round((one.last + 1 - first) * scale)
        sign, style = LEVELS[one.level]
        line.append(sign * (end - drawn), style=style)
        drawn = end
    out.print(line)
    out.print(_legend({one.level: LEVELS[one.level] for one in found}))
    out.print()
    levels = table("level of detail", ">turns", ">tokens before")
    for level, (_, style) in LEVELS.items():
        if spans := [one for one in found if one.level == level]:
            tokens = sum(one.tokens for one in spans)
            levels.add_row(styled(level, style=style), f"{_turns_in(spans):,}", f"{tokens:,}")
    out.print(levels)


def _show_spans(plan: Plan, out: Console) -> None:
    made = table("", "turns", ">tokens", "why")
    for name, spans in (("folded", plan.folded), ("kept", plan.kept)):
        for span in spans:
            where = f"t{span.first}-{span.last}" if span.last > span.first else f"t{span.first}"
            reason = plan.reason if name == "folded" else span.reason
            label = styled(name, style=LOOK[name][1])
            made.add_row(label, where, f"{span.tokens:,}", harmless(reason))
    for one in plan.repeated:
        label = styled("said again", style=LOOK["said again"][1])
        made.add_row(label, f"t{one.turn}", f"{one.tokens:,}", one.what)
    out.print(made)


def _show_masked(plan: Plan, out: Console) -> None:
    made = table("masked", ">before", ">after", "why")
    largest = sorted(plan.masked, key=lambda one: one.tokens_after - one.tokens_before)
    for one in largest[:MASKED_SHOWN]:
        why = harmless(f"{one.how}: {one.reason}")
        made.add_row(f"t{one.turn}", f"{one.tokens_before:,}", f"{one.tokens_after:,}", why)
    if (rest := len(largest) - MASKED_SHOWN) > 0:
        made.add_row("…", "", "", f"{rest} more")
    out.print(made)


def _turns_in(spans: Sequence[Any]) -> int:
    return sum(span.last - span.first + 1 for span in spans)


def compact(
    source: Source,
    limits: Limits,
    task: SessionFile,
    to: To = None,
    mask: Mask = False,
    style: SummaryStyle = "anchored",
    losses: ShowLosses = False,
    state_file: StateFile = None,
    model: ModelName = None,
    dry_run: DryRun = False,
    json: options.Json = False,
) -> None:
    """Compact a session: the summary on stdout, or with `--to` the rebuilt message list.

    A session's file stays as it is. Of a session that is kept the record is written down: the view
    is compacted from then on, until `kedgeline undo`. What was done and what there is to know goes
    to stderr. A model, where one is named, writes prose on top of the facts."""
    held = None if is_file(source.file) else open_store(source.store)  # a lock shows at once
    told = check_style(style)
    if losses and to and not json:
        raise typer.BadParameter("--losses and --to both take stdout; use one, or --json for both")
    provider = check_provider(to)
    write = session_file_writer(task)
    asked = _choose_writer(model, told, dry_run=dry_run)
    if held is None:
        found = open_session(source, secrets=True)
        room = room_for(found, limits)
        if limits.window is None:
            say(_window_told(room))
        work = _of_file(found, room, provider=provider, style=told, masking=mask)
    else:
        refuse_for_kept(source)
        kept = open_kept(source.file, held, window=limits.window)
        if limits.window is None:
            size, known_from = window_for(None, kept.about().session.latest("model"))
            kept = open_kept(source.file, held, window=size)
            say(harmless(f"window {size:,} ({known_from})"))
        work = _of_kept(kept, limits, provider=provider, style=told, masking=mask)
    if dry_run and asked is not None:
        rehearse(work.requests(terms=asked.terms), asked, json=json)
        return
    made = _run(work, asked)
    written = work.write(made) if provider else None
    files = keep_compaction(made, work.session, write, state_file)
    if written is not None:
        refused = tuple(f"{provider} would refuse it: {p}" for p in _problems(provider, written))
        made = msgspec.structs.replace(made, warnings=(*made.warnings, *refused))
    if json:
        write_json(_compaction_as_json(made, written) | files)
    else:
        hints = Hints(source.file, source.session, source.format, made.first)
        _give_out(made, written, hints, losses=losses)


def _run(work: _Work, asked: Asking | None) -> Compaction:
    with trace():
        if asked is None:
            return work.compact()
        with watch_model(asked) as model:
            return work.compact(model=model, terms=asked.terms)


def _choose_writer(model: str | None, style: Style, *, dry_run: bool) -> Asking | None:
    """The model that writes, where one is named; what would have no effect is wrong usage."""
    if style != "anchored":
        if model is not None or dry_run:
            raise typer.BadParameter(f"the style {style} has no place for a model's words")
        return None
    asked = choose_model(model, "model")
    if dry_run and asked is None:
        raise typer.BadParameter(
            "--dry-run shows what a model would be sent; name one with --model or KEDGELINE_MODEL"
        )
    return asked


class _Work(NamedTuple):
    """A compaction of a file or of a session that is kept, ready to be made."""

    session: str
    compact: Callable[..., Compaction]
    requests: Callable[..., list[Ask]]
    write: Callable[[Compaction], Written]
    """The messages for the provider, once it is made."""


def _of_file(found: Opened, room: Room, *, provider: str, style: Style, masking: bool) -> _Work:
    from datetime import UTC, datetime

    from kedgeline.pipeline.compact import Options, compact, requests_for
    from kedgeline.pipeline.read import write
    from kedgeline.pipeline.view import view

    transcript = found.transcript
    given: Options = {
        "provider": provider,
        "counter": found.counter,
        "context": room.context,
        "masking": masking,
        "style": style,
        "redactor": make_redactor(),
        "at": datetime.now(UTC),
    }
    return _Work(
        transcript.session.latest("id"),
        partial(compact, transcript, room.budget, **given),
        partial(requests_for, transcript, room.budget, **given),
        lambda made: write(view(transcript, made), to=provider),
    )


def _of_kept(kept: Session, limits: Limits, *, provider: str, style: Style, masking: bool) -> _Work:
    given: CompactOptions = {
        "provider": provider,
        "style": style,
        "masking": masking,
        "overhead": limits.overhead,
        "max_output": limits.max_output,
    }
    return _Work(
        kept.about().session.latest("id"),
        partial(kept.compact, **given),
        partial(kept.requests_to_compact, **given),
        lambda made: kept.view(provider),
    )


def _problems(provider: str, written: Written) -> list[str]:
    """What the provider would refuse in the list, looked at once more before it is given out. A
    session that is damaged and too short to be folded is given back as it was."""
    from kedgeline.pipeline.view import RULES, problems

    return problems(provider, written.messages) if provider in RULES else []


def _compaction_as_json(made: Compaction, written: Written | None) -> dict[str, Any]:
    """The keys of `kedgeline compact --json`; `messages` and `system` only where they are asked
    for."""
    verdict = None
    if made.verdict is not None:
        failures = [answer_as_json(answer) for answer in made.verdict.failed]
        verdict = {**verdict_as_json(made.verdict), "failures": failures}
    return {
        "markdown": made.summary,
        **fields(made.plan, "kept folded masked", said_again="repeated"),
        **fields(made.plan, "cut reason"),
        **fields(made, "tokens_before tokens_kind tokens_after summary_tokens"),
        "context_reduction": round(made.context_reduction, 4),
        "span_reduction": round(made.span_reduction, 4),
        **fields(made.plan, "over_budget excess held_up advice"),
        **fields(made, "strategy method warnings"),
        "anchors": [anchor_as_json(anchor) for anchor in made.anchors],
        "verdict": verdict,
        "losses": losses_as_json(made.losses),
        "wording": wording_as_json(made.wording),
        **(fields(written, "messages system left_out") if written else {}),
    }


def _report(made: Compaction, written: Written | None) -> None:
    """What was done, for people, beside the data."""
    plan = made.plan
    if not plan.nothing_to_do:
        before = f"{made.tokens_before:,} ({made.tokens_kind})"
        say(
            f"{before} → {made.tokens_after:,} tokens ({made.context_reduction:.0%} freed); "
            f"{_turns_in(plan.folded):,} turns folded into {made.summary_tokens:,} tokens, "
            f"{_turns_in(plan.kept):,} kept, {len(plan.masked):,} outputs masked"
        )
        say(f"cut before t{made.first + plan.cut}: {plan.reason}")
    for warning in made.warnings:
        say(f"warning: {warning}")
    if written is not None:
        _report_written(written, "the messages and is as it was")


def _report_written(written: Written, apart_from: str) -> None:
    if written.system:
        say(f"the system prompt stands apart from {apart_from}: --json has it")
    for left_out in written.left_out:
        say(f"left out: {left_out}")


def _give_out(made: Compaction, written: Written | None, hints: Hints, *, losses: bool) -> None:
    """The losses; or the messages or the summary, with what a model did, what the probes found and
    what is left out beside it, a line each."""
    _report(made, written)
    if losses:
        show_losses(made, hints, console())
        return
    if made.wording is not None:
        report_wording(made.wording)
    if made.verdict is not None:
        typer.echo(f"probes: {verdict_told(made.verdict)}", err=True)
    if made.losses is not None:
        typer.echo(losses_told(made.losses, hints), err=True)
    if written is not None:
        write_json(written.messages)
    elif made.summary:
        typer.echo(harmless(made.summary))


def view(
    session: options.SessionName,
    to: Annotated[
        str | None, option(f"Write messages for {options.PROVIDERS}.", metavar="PROVIDER")
    ] = None,
    json: options.Json = False,
    store: options.StorePlace = None,
) -> None:
    """Show a session as it stands: the summary, what is pinned, and the turns that are kept.

    With `--to`, the message list for a provider, one JSON document on stdout."""
    kept = open_kept(session, store)
    provider = check_provider(to)
    if not provider:
        _show_context(kept.context(), json=json)
        return
    written = kept.view(provider)
    for problem in _problems(provider, written):
        say(f"warning: {provider} would refuse it: {problem}")
    write_json(fields(written, "messages system left_out") if json else written.messages)
    if not json:
        _report_written(written, "the messages")


def _show_context(context: Transcript, *, json: bool) -> None:
    if json:
        pending = (context.pending,) if context.pending else ()
        turns = (*context.turns, *pending)
        write_lines(turn_as_json(turn, pending=turn is context.pending) for turn in turns)
        return
    for note in context.turns[0].notes if context.turns else ():
        typer.echo(harmless(note.text))
        typer.echo()
    show_turns(context, console())


def undo(
    session: options.SessionName, json: options.Json = False, store: options.StorePlace = None
) -> None:
    """Take the newest compaction of a session back: the view is again what it was before it."""
    kept = open_kept(session, store)
    undone = kept.undo()
    left = kept.should_compact()
    before, after = undone.tokens_before, undone.tokens_after
    if json:
        done = {"session": session, "undone": undone.count, "folded": _turns_in(undone.plan.folded)}
        write_json({**done, "tokens_before": before, "tokens_after": after})
    else:
        say(
            f"{session}: compaction {undone.count} is left out; {after:,} tokens are "
            f"{before:,} again; {left.reason}"
        )

"""A session made smaller: `kedgeline plan`, `compact`, `view` and `undo`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import typer

from kedgeline.cli.look import anchor_as_json, show_turns, turn_as_json
from kedgeline.cli.opening import (
    Asking,
    Room,
    check_provider,
    choose_model,
    configured_store,
    is_file,
    make_redactor,
    open_kept,
    open_session,
    rates,
    refuse_for_kept,
    room_for,
    show_requests,
    window_for,
    wording_as_json,
    wording_told,
)
from kedgeline.cli.options import SessionSource, WindowSize
from kedgeline.cli.output import (
    Hints,
    console,
    fields,
    harmless,
    mark,
    progress,
    say,
    say_done,
    show,
    styled,
    table,
    write_json,
    write_lines,
)
from kedgeline.cli.recall import SessionFile, session_file_writer
from kedgeline.cli.verdict import (
    WHOLE,
    check_style,
    failures_as_json,
    losses_as_json,
    losses_page,
    losses_told,
    verdict_as_json,
    verdict_told,
)

if TYPE_CHECKING:
    from rich.table import Table

    from kedgeline.formats import Written
    from kedgeline.model import Ask, Budget, Compaction, Plan, Rates, Rendition
    from kedgeline.pipeline.job import ConversationFlow, Job, Style
    from kedgeline.planning import Decision
    from kedgeline.store import Store
    from kedgeline.tokens import ContextTokens

WIDTH, BESIDE = 48, 34
"""Columns of the longest bar, and of its label and numbers beside it."""
MASKED_SHOWN = 6
"""Masked outputs listed; `--json` has them all."""
LOOK = {
    "fixed": ("▚", "yellow"),
    "folded": ("░", "red"),
    "kept": ("█", "green"),
    "summary": ("▒", "cyan"),
    "repeated": ("▓", "magenta"),
}
"""How each kind of content is drawn."""
LEVELS = {
    "whole": "green",
    "outputs shortened": "green",
    "words and calls": "cyan",
    "statements": "cyan",
    "mention": "red",
}
"""How much of a turn stands in the context."""


def plan(
    source: SessionSource,
    limits: WindowSize,
    to: str | None = None,
    mask: bool = False,
    json: bool = False,
) -> None:
    """Show what a compaction would keep, fold and mask, and why. Nothing is changed.

    With the extra `prices`, it also says whether a compaction saves money.

    Args:
        mask: Mask old tool outputs even if all turns fit.
    """
    from kedgeline.pipeline.draft import renditions_of, summary_of
    from kedgeline.pipeline.job import Job, flow_of, plan_of

    found = open_session(source)
    transcript, room = found.transcript, room_for(found, limits)
    job = Job(
        *(transcript, room.budget, check_provider(to), found.previous, found.counter, mask),
        context=room.context,
    )
    with progress("planning"):
        flow = flow_of(transcript.turns, root=transcript.session.latest("root"))
        made = plan_of(job, flow)
        renditions = renditions_of(job.transcript.turns, made, summary_of(job, flow, made))
    decision = _decide(job, flow, made, room, rates(found.model) if found.model else None)
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
    told = _window_told(room.window, room.known_from)
    show(
        styled(harmless(source.file), "bold"),
        *_window_drawn(made, room.budget, found.context, job.fixed, room.overhead),
        "",
        _levels_table(renditions),
        "",
        *_plan_told(made),
        f"triggers: {decision.action}: {decision.reason}",
        f"advice: {decision.advice.reason}" if decision.advice is not None else None,
        styled(f"tokens as {found.counted_as}; {told}", "dim"),
    )


def _window_told(window: int, known_from: str) -> str:
    return harmless(f"window {window:,} ({known_from})")


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
            history=history,
            turns=len(job.transcript.turns),
            after=made.tokens_kept + (made.summary_room if made.folded else 0),
            rates=rates,
        )
    )


def _window_drawn(
    plan: Plan, budget: Budget, context: ContextTokens, beside: int, overhead: int
) -> Iterator[Any]:
    """The context before and after, and the window, at one scale. `beside` are tokens that no
    compaction touches, of which the budget leaves out the `overhead`."""
    from rich.padding import Padding

    turns = max(0, context.total - beside)
    kept = min(turns, sum(span.tokens for span in plan.kept)) if plan.folded else turns
    after = context.total
    if not plan.nothing_to_do:
        after = beside + plan.tokens_kept + plan.summary_room
    width = max(1, min(WIDTH, console().width - BESIDE))  # within 80 columns, or a narrower screen
    scale = width / max(context.total, after, overhead + budget.usable, 1)
    before = {"fixed": beside, "folded": turns - kept, "kept": kept}
    again = sum(one.tokens for one in plan.repeated)
    parts = {"fixed": beside, "summary": plan.summary_room, "repeated": again}
    parts["kept"] = after - sum(parts.values())
    for label, drawn, total in (
        ("before", before, f"{context.total:,} {context.kind}"),
        ("after", parts, f"{after:,}"),
    ):
        line = styled(f"{label:<8}")
        for name, tokens in drawn.items():
            sign, style = LOOK[name]
            if tokens > 0:  # every part that is not empty is at least one column wide
                line.append(sign * max(1, round(tokens * scale)), style=style)
        yield line.append(f" {total}")
    places = (overhead + budget.target, overhead + budget.usable)
    target, end = (round(tokens * scale) for tokens in places)
    ruler = "─" * max(0, target - 1) + "┼" + "─" * max(0, end - target - 1) + "┤"
    told = f" {places[1]:,}, target {places[0]:,}"
    yield styled(f"{'window':<8}").append(f"{ruler}{told}", style="dim")
    legend = styled()
    for name, (sign, style) in LOOK.items():
        legend.append(f"{sign} {name}".replace(" ", "\xa0") + "   ", style=style)
    yield Padding(legend, (0, 0, 0, 8))


def _levels_table(found: Sequence[Rendition]) -> Table:
    """How many turns stand at each level of detail."""
    by_level = {level: [one for one in found if one.level == level] for level in LEVELS}
    rows = [
        (styled(level, LEVELS[level]), _turns_in(spans), sum(span.tokens for span in spans))
        for level, spans in by_level.items()
        if spans
    ]
    return table("level of detail", ">turns", ">tokens before", rows=rows)


def _plan_told(plan: Plan) -> Iterator[Any]:
    """Spans of turns and why they stay or go, what is masked, and what holds it up."""
    rows = [
        (
            styled(name, LOOK[name][1]),
            f"t{span.first}-{span.last}" if span.last > span.first else f"t{span.first}",
            span.tokens,
            plan.reason if name == "folded" else span.reason,
        )
        for name, spans in (("folded", plan.folded), ("kept", plan.kept))
        for span in spans
    ]
    rows += [
        (styled("repeated", LOOK["repeated"][1]), f"t{one.turn}", one.tokens, one.what)
        for one in plan.repeated
    ]
    yield from (table("", "turns", ">tokens", "why", rows=rows), "")
    if plan.masked:
        largest = sorted(plan.masked, key=lambda one: one.tokens_after - one.tokens_before)
        masked: list[tuple[Any, ...]] = [
            (mark(one.turn), one.tokens_before, one.tokens_after, f"{one.how}: {one.reason}")
            for one in largest[:MASKED_SHOWN]
        ]
        if (rest := len(largest) - MASKED_SHOWN) > 0:
            masked.append(("…", "", "", f"{rest} more"))
        yield from (table("masked", ">before", ">after", "why", rows=masked), "")
    if plan.nothing_to_do:
        yield f"nothing to do: {plan.reason}"
    if plan.over_budget:
        held = f": {plan.held_up}" if plan.held_up else ""
        yield styled(harmless(f"over budget by {plan.excess:,} tokens{held}"), "bold red")
        yield from (f"  {advice}" for advice in plan.advice)


def _turns_in(spans: Sequence[Any]) -> int:
    return sum(span.last - span.first + 1 for span in spans)


# A compaction, made.


def compact_command(
    source: SessionSource,
    limits: WindowSize,
    task: SessionFile,
    to: str | None = None,
    mask: bool = False,
    style: str = "anchored",
    losses: bool = False,
    model: str | None = None,
    dry_run: bool = False,
    json: bool = False,
) -> None:
    """Compact a session: the summary on stdout, or with `--to` the rebuilt message list.

    A session file is never changed. For a kept session the compaction is recorded, and its view is
    compacted until `kedgeline undo`. A report of what was done goes to stderr. With --model, a
    language model adds prose to the facts.

    Args:
        to PROVIDER: Write the rebuilt messages for anthropic, openai-chat, openai-responses or
            gemini instead of the summary.
        mask: Mask old tool outputs even if all turns fit.
        losses: Instead of the summary, show what it leaves out and how to see that.
        dry_run: Only show what would be sent to the model, in tokens and money; nothing is sent or
            recorded.
    """
    kept = None if is_file(source.file) else configured_store(source.store)  # a lock shows at once
    told, provider = check_style(style), check_provider(to)
    if losses and to and not json:
        raise typer.BadParameter("--losses and --to both take stdout; use one, or --json for both")
    asked = _choose_writer(model, told, dry_run=dry_run)
    write = session_file_writer(task)
    given = {"provider": provider, "style": told, "masking": mask}
    work = _of_kept(source, kept, limits, given) if kept else _of_file(source, limits, given)
    if limits.window is None:
        say(_window_told(*work.window))
    if dry_run and asked is not None:
        show_requests(work.requests(terms=asked.terms), asked, json=json)
        return
    by = {"model": asked.model, "terms": asked.terms} if asked else {}
    with progress(f"asking {asked.name}" if asked else "compacting"):
        made = work.compact(**by)
    written = work.written(made, provider) if provider else None
    files = _session_file(made, work.session, write) if write else {}
    if written is not None:
        refused = tuple(f"{provider} would refuse it: {p}" for p in _problems(provider, written))
        made = msgspec.structs.replace(made, warnings=(*made.warnings, *refused))
    if json:
        write_json(_compaction_as_json(made, written) | files)
    else:
        hints = Hints(source.file, source.session, source.format, made.first)
        _give_out(made, written, hints, losses=losses)


def _session_file(made: Compaction, session: str, write: Callable[..., Path]) -> dict[str, str]:
    """The session file of the task, written from what was folded; its path by its key in JSON."""
    if made.state is None:
        say("warning: no state for the session file: nothing was folded")
        return {}
    path = str(write(made.state, tokens=WHOLE, session=session))
    say(f"wrote {path}")
    return {"session_file": path}


def _choose_writer(model: str | None, style: Style, *, dry_run: bool) -> Asking | None:
    """The model that writes, where one is named; what would have no effect is wrong usage."""
    if style != "anchored":
        if model is not None or dry_run:
            raise typer.BadParameter(f"the style {style} cannot hold a model's words")
        return None
    asked = choose_model(model, "model")
    if dry_run and asked is None:
        raise typer.BadParameter(
            "--dry-run shows what a model would be sent; name one with --model or KEDGELINE_MODEL"
        )
    return asked


class _Work(NamedTuple):
    """What is compacted: a file, or a session that is kept."""

    window: tuple[int, str]
    session: str
    compact: Callable[..., Compaction]
    requests: Callable[..., list[Ask]]
    written: Callable[[Compaction, str], Written]


def _of_file(source: SessionSource, limits: WindowSize, given: dict[str, Any]) -> _Work:
    from datetime import UTC, datetime

    from kedgeline.pipeline.compact import compact, requests_for
    from kedgeline.pipeline.read import write
    from kedgeline.pipeline.view import view

    found = open_session(source, secrets=True)
    room, transcript = room_for(found, limits), found.transcript
    about = {"counter": found.counter, "context": room.context, "redactor": make_redactor()}
    options: dict[str, Any] = {**given, **about, "at": datetime.now(UTC)}
    return _Work(
        (room.window, room.known_from),
        transcript.session.latest("id"),
        partial(compact, transcript, room.budget, **options),
        partial(requests_for, transcript, room.budget, **options),
        lambda made, provider: write(view(transcript, made), to=provider),
    )


def _of_kept(
    source: SessionSource, store: Store, limits: WindowSize, given: dict[str, Any]
) -> _Work:
    refuse_for_kept(source)
    kept = open_kept(source.file, store, window=limits.window)
    about = kept.about().session
    window = window_for(limits.window, about.latest("model"))
    options: dict[str, Any] = {**given, "window": window[0], "overhead": limits.overhead}
    return _Work(
        window,
        about.latest("id"),
        partial(kept.compact, **options),
        partial(kept.requests_to_compact, **options),
        lambda _, provider: kept.view(provider),
    )


def _problems(provider: str, written: Written) -> list[str]:
    """What the provider would refuse in the list, looked at once more before it is given out. A
    session that is damaged and too short to be folded is given back as it was."""
    from kedgeline.pipeline.view import RULES, problems

    return problems(provider, written.messages) if provider in RULES else []


def _compaction_as_json(made: Compaction, written: Written | None) -> dict[str, Any]:
    """The keys of `kedgeline compact --json`; `messages` and `system` only where they are asked
    for."""
    verdict = made.verdict
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
        "verdict": {**verdict_as_json(verdict), "failures": failures_as_json(verdict)}
        if verdict
        else None,
        "losses": losses_as_json(made.losses),
        "wording": wording_as_json(made.wording),
        **(fields(written, "messages system left_out") if written else {}),
    }


def _give_out(made: Compaction, written: Written | None, hints: Hints, *, losses: bool) -> None:
    """On stdout the losses, the messages or the summary; on stderr what was done, what the probes
    found and what is left out, a line each."""
    plan = made.plan
    if not plan.nothing_to_do:
        say(
            f"{made.tokens_before:,} ({made.tokens_kind}) → {made.tokens_after:,} tokens "
            f"({made.context_reduction:.0%} freed); {_turns_in(plan.folded):,} turns folded into "
            f"{made.summary_tokens:,} tokens, {_turns_in(plan.kept):,} kept, "
            f"{len(plan.masked):,} outputs masked"
        )
        say(
            f"cut before t{made.first + plan.cut}: {plan.reason}"
            if plan.folded
            else f"no summary, as nothing is folded: {plan.reason}; --to prints the messages"
        )
    for warning in made.warnings:
        say(f"warning: {warning}")
    if written is not None:
        _report_written(written)
    if losses:
        show(*losses_page(made, hints))
        return
    if made.wording is not None:
        say(wording_told(made.wording))
    if made.verdict is not None:
        say(f"probes: {verdict_told(made.verdict)}")
    if made.losses is not None:
        say(losses_told(made.losses, hints))
    if written is not None:
        write_json(written.messages)
    elif made.summary:
        typer.echo(harmless(made.summary))


def _report_written(written: Written) -> None:
    if written.system:
        say("the system prompt stands apart from the messages and is as it was: --json has it")
    for left_out in written.left_out:
        say(f"left out: {left_out}")


# A session that is kept, as it stands.


def view_command(
    session: str, to: str | None = None, json: bool = False, store: str | None = None
) -> None:
    """Show a session as it stands: the summary, what is pinned, and the turns that are kept.

    With `--to`, the message list for a provider, one JSON document on stdout.

    Args:
        to PROVIDER: Write messages for anthropic, openai-chat, openai-responses or gemini.
    """
    kept, provider = open_kept(session, store), check_provider(to)
    if provider:
        written = kept.view(provider)
        for problem in _problems(provider, written):
            say(f"warning: {provider} would refuse it: {problem}")
        write_json(fields(written, "messages system left_out") if json else written.messages)
        if not json:
            _report_written(written)
        return
    context = kept.context()
    if json:
        pending = (context.pending,) if context.pending else ()
        write_lines(
            turn_as_json(t, pending=t is context.pending) for t in (*context.turns, *pending)
        )
        return
    for note in context.turns[0].notes if context.turns else ():
        show(note.text, "")
    show_turns(context, console())


def undo(session: str, json: bool = False, store: str | None = None) -> None:
    """Undo the newest compaction of a session: its view is again what it was before."""
    kept = open_kept(session, store)
    undone = kept.undo()
    before, after = undone.tokens_before, undone.tokens_after
    done = {"session": session, "undone": undone.count, "folded": _turns_in(undone.plan.folded)}
    said = (
        f"{session}: compaction {undone.count} is undone; {after:,} tokens are {before:,} again; "
        f"{kept.should_compact().reason}"
    )
    say_done({**done, "tokens_before": before, "tokens_after": after}, said, json=json)

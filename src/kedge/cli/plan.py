"""`kedge plan`: what a compaction would do, and why."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from kedge.cli.output import FormatName, Json, Vocabulary, console, harmless, write_json
from kedge.cli.picture import masked_table, spans_table, window_picture
from kedge.cli.session import (
    File,
    MaxOutput,
    Overhead,
    Session,
    Window,
    known_provider,
    opened,
    room_for,
)

if TYPE_CHECKING:
    from rich.console import Console

    from kedge.cli.session import Room
    from kedge.model import ConversationFlow, Plan, Rates, Transcript
    from kedge.planning import Decision
    from kedge.steps import Job

Provider = Annotated[
    str | None,
    typer.Option(
        help="Where the context will be sent: anthropic, openai-chat, openai-responses or gemini. "
        "Without it the cut keeps to the rules of all."
    ),
]
Mask = Annotated[
    bool, typer.Option("--mask", help="Mask old tool outputs even where the budget is kept.")
]


def plan(
    file: File,
    json: Json = False,
    window: Window = None,
    provider: Provider = None,
    mask: Mask = False,
    overhead: Overhead = 0,
    max_output: MaxOutput = None,
    format: FormatName = None,
    session: Session = None,
    vocabulary: Vocabulary = None,
    prices: Annotated[
        bool, typer.Option("--prices", help="Say whether it pays in money (extra `prices`).")
    ] = False,
) -> None:
    """Show what a compaction would keep, fold and mask, and why. Nothing is changed."""
    from rich.text import Text

    from kedge.flow import flow_of
    from kedge.steps import Job, plan_of

    found = opened(file, format=format, session=session, vocabulary=vocabulary)
    transcript, counter = found.transcript, found.counter
    room = room_for(transcript, counter, window, overhead, max_output)
    job = Job(transcript, room.budget, known_provider(provider), None, counter, mask)
    flow = flow_of(transcript.turns, root=transcript.session.latest("root"))
    made = plan_of(job, flow)
    decision = _decision(job, flow, made, room, _rates(transcript) if prices else None)
    if json:
        write_json(as_json(made, room, decision, found.counted_as))
        return
    out = console()
    out.print(Text(harmless(file), style="bold"))
    _show(made, room, decision, out)
    out.print(f"tokens as {found.counted_as}", style="dim", markup=False)


def as_json(made: Plan, room: Room, decision: Decision, counted_as: str) -> dict[str, Any]:
    """The keys of `kedge plan --json`."""
    import msgspec

    return {
        **msgspec.to_builtins(made),
        "over_budget": made.over_budget,
        "window": room.window,
        "budget": msgspec.to_builtins(room.budget),
        "decision": msgspec.to_builtins(decision),
        "counted_as": counted_as,
    }


def _rates(transcript: Transcript) -> Rates:
    """Prices of the model that answered last."""
    from kedge.economy.prices import is_installed, rates_of
    from kedge.errors import MissingExtra

    if not is_installed():
        raise MissingExtra("prices", "prices")
    model = next((turn.model for turn in reversed(transcript.turns) if turn.model), "")
    found = rates_of(model) if model else None
    if found is None:
        whose = f"prices of {model!r} are not known" if model else "the session names no model"
        raise typer.BadParameter(f"{whose}; leave out --prices")
    return found


def _decision(
    job: Job, flow: ConversationFlow, made: Plan, room: Room, rates: Rates | None
) -> Decision:
    """What the triggers would say of the session as it is: what came since its last compaction,
    whoever made it, and the words that wait. Whether it pays is told of this plan."""
    from kedge.planning import History, Signals, should_compact

    done = [c.turn for c in job.transcript.compactions if c.kind == "summary"]
    since = [turn for turn in job.transcript.turns if turn.index >= (done[-1] if done else 0)]
    new = [
        a
        for a in flow.anchor_points
        if not a.synthetic and since and a.turn_index >= since[0].index
    ]
    tokens = sum(turn.tokens for turn in since) + job.waiting
    history = History(
        turns_since=len(since),
        tokens_since=tokens,
        anchor_since=new[-1].description if new else None,
    )
    return should_compact(
        Signals(
            context_tokens=tokens,
            window=room.window,
            overhead=room.overhead,
            max_output=room.max_output,
            history=history,
            turns=len(job.transcript.turns),
            after=made.tokens_kept + (made.summary_room if made.folded else 0),
            rates=rates,
        )
    )


def _show(made: Plan, room: Room, decision: Decision, out: Console) -> None:
    for line in window_picture(made, room.budget):
        out.print(line)
    out.print()
    out.print(spans_table(made))
    if made.masked:
        out.print()
        out.print(masked_table(made))
    out.print()
    if made.nothing_to_do:
        out.print(f"nothing to do: {made.reason}", markup=False)
    if made.over_budget:
        out.print(f"over budget by {made.excess:,} tokens", style="bold red")
        for advice in made.advice:
            out.print(f"  {harmless(advice)}", markup=False)
    out.print(f"triggers: {decision.action}: {decision.reason}", markup=False)
    if decision.advice is not None:
        out.print(f"advice: {decision.advice.reason}", markup=False)

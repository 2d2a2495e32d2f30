"""`kedge compact`: a session compacted, as a summary or as a provider's message list."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from kedge.cli.anchors import as_json as anchor_as_json
from kedge.cli.hints import Hints
from kedge.cli.keeping import StateFile, keep_state
from kedge.cli.kept import StoreOption, is_file, opened_store, redactor, session_named
from kedge.cli.loss import as_json as losses_as_json
from kedge.cli.loss import in_short, show_losses
from kedge.cli.output import FormatName, Json, Vocabulary, console, harmless, write_json
from kedge.cli.plan import Mask
from kedge.cli.session import (
    File,
    MaxOutput,
    Opened,
    Overhead,
    Session,
    Window,
    known_provider,
    opened,
    room_for,
)
from kedge.cli.tracing import traced
from kedge.cli.verdict import answer_as_json, result
from kedge.cli.verdict import as_json as verdict_as_json

if TYPE_CHECKING:
    from kedge.formats import Written
    from kedge.model import Budget, Compaction
    from kedge.session import Session as Kept
    from kedge.steps import Style

SummaryStyle = Annotated[
    str, typer.Option("--style", help="How the summary is told: anchored, or outcomes.")
]
To = Annotated[
    str | None,
    typer.Option(
        help="Write the rebuilt messages for anthropic, openai-chat, openai-responses or gemini "
        "instead of the summary."
    ),
]
ShowLosses = Annotated[
    bool,
    typer.Option(
        "--losses",
        help="Instead of the summary, show what is not in it and how to see that again.",
    ),
]


def compact(
    file: File,
    json: Json = False,
    window: Window = None,
    to: To = None,
    mask: Mask = False,
    style: SummaryStyle = "anchored",
    losses: ShowLosses = False,
    state_file: StateFile = None,
    overhead: Overhead = 0,
    max_output: MaxOutput = None,
    format: FormatName = None,
    session: Session = None,
    vocabulary: Vocabulary = None,
    store: StoreOption = None,
) -> None:
    """Compact a session: the summary on stdout, or with `--to` the rebuilt message list.

    A session's file stays as it is. Of a session that is kept the record is written down: the view
    is compacted from then on, until `kedge undo`. What was done and what there is to know goes to
    stderr."""
    from msgspec.structs import replace

    told = known_style(style)
    if losses and to and not json:
        raise typer.BadParameter("--losses and --to both take stdout; use one, or --json for both")
    provider = known_provider(to)
    if is_file(file):
        found = opened(file, format=format, session=session, vocabulary=vocabulary, secrets=True)
        room = room_for(found.transcript, found.counter, window, overhead, max_output)
        made, written = _of_file(found, room.budget, provider, told, masking=mask)
    else:
        if (format, session, vocabulary) != (None, None, None):
            raise typer.BadParameter(
                f"{file!r} is a session that is kept: --format, --session and --vocabulary are for"
                " files; leave them out"
            )
        kept = session_named(file, opened_store(store), window=window)
        made, written = _of_kept(kept, provider, told, mask, overhead, max_output)
    if state_file is not None:
        keep_state(made, state_file)
    if written is not None:
        refused = tuple(f"{provider} would refuse it: {p}" for p in check(provider, written))
        made = replace(made, warnings=(*made.warnings, *refused))
    if json:
        write_json(as_json(made, written))
        return
    _report(made, written)
    hints = Hints(file, session, format, made.first)
    if losses:
        show_losses(made, hints, console())
    else:
        _give_out(made, written, hints)


def _of_file(
    found: Opened, budget: Budget, provider: str, style: Style, *, masking: bool
) -> tuple[Compaction, Written | None]:
    from datetime import UTC, datetime

    from kedge.compaction import compact as compacted
    from kedge.viewing import view
    from kedge.writing import write

    with traced():
        made = compacted(
            found.transcript,
            budget,
            provider=provider,
            counter=found.counter,
            masking=masking,
            style=style,
            redactor=redactor(),
            at=datetime.now(UTC),
        )
    return made, write(view(found.transcript, made), to=provider) if provider else None


def _of_kept(
    kept: Kept, provider: str, style: Style, masking: bool, overhead: int, max_output: int | None
) -> tuple[Compaction, Written | None]:
    with traced():
        made = kept.compact(
            provider=provider,
            style=style,
            masking=masking,
            overhead=overhead,
            max_output=max_output,
        )
    return made, kept.view(provider) if provider else None


def _give_out(made: Compaction, written: Written | None, hints: Hints) -> None:
    """The messages, or else the summary, with what the probes found beside it."""
    _proof(made, hints)
    if written is not None:
        write_json(written.messages)
    elif made.summary:
        typer.echo(harmless(made.summary))


def known_style(name: str) -> Style:
    from kedge.errors import UnknownName
    from kedge.steps import STYLES

    for style in STYLES:
        if style == name:
            return style
    raise UnknownName("style", name, known=STYLES)


def check(provider: str, written: Written) -> list[str]:
    """What the provider would refuse in the list, looked at once more before it is given out. A
    session that is damaged and too short to be folded is given back as it was."""
    from kedge.validity import RULES, problems

    return problems(provider, written.messages) if provider in RULES else []


def as_json(made: Compaction, written: Written | None = None) -> dict[str, Any]:
    """The keys of `kedge compact --json`; `messages` and `system` only where they are asked for."""
    import msgspec

    plan = made.plan
    values: dict[str, Any] = {
        "markdown": made.summary,
        "kept": msgspec.to_builtins(plan.kept),
        "folded": msgspec.to_builtins(plan.folded),
        "masked": msgspec.to_builtins(plan.masked),
        "said_again": msgspec.to_builtins(plan.repeated),
        "cut": plan.cut,
        "reason": plan.reason,
        "tokens_before": made.tokens_before,
        "tokens_after": made.tokens_after,
        "summary_tokens": made.summary_tokens,
        "context_reduction": round(made.context_reduction, 4),
        "span_reduction": round(made.span_reduction, 4),
        "over_budget": plan.over_budget,
        "excess": plan.excess,
        "advice": list(plan.advice),
        "strategy": made.strategy,
        "method": made.method,
        "warnings": list(made.warnings),
        "anchors": [anchor_as_json(anchor) for anchor in made.anchors],
        "verdict": _verdict(made),
        "losses": losses_as_json(made.losses),
    }
    if written is not None:
        values |= {
            "messages": written.messages,
            "system": written.system,
            "left_out": list(written.left_out),
        }
    return values


def _verdict(made: Compaction) -> dict[str, Any] | None:
    """With the probes that failed; none where nothing was folded."""
    if made.verdict is None:
        return None
    failures = [answer_as_json(answer) for answer in made.verdict.failed]
    return {**verdict_as_json(made.verdict), "failures": failures}


def _report(made: Compaction, written: Written | None) -> None:
    """What was done, for people, beside the data."""
    plan = made.plan
    if not plan.nothing_to_do:
        freed = f"{made.tokens_before:,} → {made.tokens_after:,} tokens"
        folded = sum(span.last - span.first + 1 for span in plan.folded)
        kept = sum(span.last - span.first + 1 for span in plan.kept)
        typer.echo(
            f"{freed} ({made.context_reduction:.0%} freed); {folded:,} turns folded into "
            f"{made.summary_tokens:,} tokens, {kept:,} kept, {len(plan.masked):,} outputs masked",
            err=True,
        )
        typer.echo(f"cut before t{made.first + plan.cut}: {harmless(plan.reason)}", err=True)
    for warning in made.warnings:
        typer.echo(f"warning: {harmless(warning)}", err=True)
    if written is not None and written.system:
        typer.echo(
            "the system prompt stands apart from the messages and is as it was: --json has it",
            err=True,
        )
    for left_out in written.left_out if written else ():
        typer.echo(f"left out: {harmless(left_out)}", err=True)


def _proof(made: Compaction, hints: Hints) -> None:
    """What the probes found and what is not in the summary, a line each."""
    if made.verdict is not None:
        typer.echo(f"probes: {result(made.verdict)}", err=True)
    if made.losses is not None:
        typer.echo(in_short(made.losses, hints), err=True)

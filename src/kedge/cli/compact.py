"""`kedge compact`: a session compacted, as a summary or as a provider's message list."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from kedge.cli.anchors import as_json as anchor_as_json
from kedge.cli.asking import Asking, ModelName, asking
from kedge.cli.compacting import How, OfFile, OfKept
from kedge.cli.hints import Hints
from kedge.cli.keeping import StateFile, keep_state
from kedge.cli.kept import StoreOption, is_file, opened_store, session_named
from kedge.cli.loss import as_json as losses_as_json
from kedge.cli.loss import in_short, show_losses
from kedge.cli.output import FormatName, Json, Vocabulary, console, harmless, write_json
from kedge.cli.plan import Mask
from kedge.cli.session import (
    File,
    MaxOutput,
    Overhead,
    Session,
    Window,
    known_provider,
    opened,
)
from kedge.cli.tracing import traced
from kedge.cli.verdict import answer_as_json, result
from kedge.cli.verdict import as_json as verdict_as_json
from kedge.cli.wording import DryRun, rehearse
from kedge.cli.wording import as_json as wording_as_json
from kedge.cli.wording import report as report_wording

if TYPE_CHECKING:
    from kedge.formats import Written
    from kedge.model import Compaction
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
    model: ModelName = None,
    dry_run: DryRun = False,
) -> None:
    """Compact a session: the summary on stdout, or with `--to` the rebuilt message list.

    A session's file stays as it is. Of a session that is kept the record is written down: the view
    is compacted from then on, until `kedge undo`. What was done and what there is to know goes to
    stderr. A model, where one is named, writes prose on top of the facts."""
    from msgspec.structs import replace

    told = known_style(style)
    if losses and to and not json:
        raise typer.BadParameter("--losses and --to both take stdout; use one, or --json for both")
    provider = known_provider(to)
    asked = _asking(model, told, dry_run=dry_run)
    how = How(provider, told, mask, overhead, max_output, asked)
    if is_file(file):
        found = opened(file, format=format, session=session, vocabulary=vocabulary, secrets=True)
        work: OfFile | OfKept = OfFile(found, how, window)
    else:
        if (format, session, vocabulary) != (None, None, None):
            raise typer.BadParameter(
                f"{file!r} is a session that is kept: --format, --session and --vocabulary are for"
                " files; leave them out"
            )
        work = OfKept(session_named(file, opened_store(store), window=window), how)
    if dry_run and asked is not None:
        rehearse(work.requests(asked), asked, json=json)
        return
    with traced():
        made, written = work.compacted()
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


def _asking(model: str | None, style: Style, *, dry_run: bool) -> Asking | None:
    """The model that writes, where one is named; what would have no effect is wrong usage."""
    if style != "anchored":
        if model is not None or dry_run:
            raise typer.BadParameter(f"the style {style} has no place for a model's words")
        return None
    asked = asking(model, "model")
    if dry_run and asked is None:
        raise typer.BadParameter(
            "--dry-run shows what a model would be sent; name one with --model or KEDGE_MODEL"
        )
    return asked


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
        "wording": wording_as_json(made.wording),
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
    """What the probes found, what a model did and what is not in the summary, a line each."""
    if made.wording is not None:
        report_wording(made.wording)
    if made.verdict is not None:
        typer.echo(f"probes: {result(made.verdict)}", err=True)
    if made.losses is not None:
        typer.echo(in_short(made.losses, hints), err=True)

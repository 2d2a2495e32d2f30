"""`kedge probe`: what a summary still knows of the turns it stands for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from kedge.cli import judgement
from kedge.cli.asking import asking
from kedge.cli.compact import SummaryStyle, known_style
from kedge.cli.hints import Hints, shortened
from kedge.cli.output import FormatName, Json, Vocabulary, console, harmless, write_json
from kedge.cli.plan import Provider
from kedge.cli.session import (
    File,
    MaxOutput,
    Opened,
    Overhead,
    Session,
    known_provider,
    opened,
    room_for,
    tokens_given,
)
from kedge.cli.summarize import WHOLE
from kedge.cli.tracing import traced
from kedge.cli.verdict import (
    answer_as_json,
    as_json,
    counts_table,
    dimensions_table,
    every_probe,
    headline,
    reasons,
    show_failed,
    show_strays,
)

if TYPE_CHECKING:
    from rich.console import Console

    from kedge.cli.judgement import Judgement
    from kedge.model import Verdict
    from kedge.steps import Style


ForWindow = Annotated[
    int | None,
    typer.Option(
        "--window",
        parser=tokens_given,
        metavar="TOKENS",
        help="Probe the summary of a compaction for this context window, e.g. 200k, instead of "
        "the hand-off of the whole session.",
    ),
]
Tokens = Annotated[
    int | None,
    typer.Option(parser=tokens_given, metavar="TOKENS", help="Longest hand-off; 2048 if none."),
]
JudgeName = Annotated[
    str | None,
    typer.Option(
        "--model",
        metavar="NAME",
        help="Also have this model answer and judge, e.g. openai:… or 'command:PROGRAM ARGUMENTS'; "
        "off for none, whatever settings say.",
    ),
]
AllProbes = Annotated[
    bool, typer.Option("--all", help="Show every probe, not only those that fail.")
]


IN_ANY_CASE = "rules and the request stand in any case"
"""Why a hand-off may be longer than it was to be."""


class Probed(NamedTuple):
    """A text, and what the probes found in it."""

    what: str
    """`hand-off` or `compaction`."""
    about: str
    """The same in a sentence."""
    text: str
    """All that an agent would see in the place of the turns."""
    tokens: int
    """Of the summary in it."""
    verdict: Verdict
    over: int = 0
    """Tokens of a hand-off beyond those it was to have."""
    first: int = 0
    """Number of the file's first turn."""


def probe(
    file: File,
    json: Json = False,
    window: ForWindow = None,
    tokens: Tokens = None,
    model: JudgeName = None,
    all_probes: AllProbes = False,
    style: SummaryStyle = "anchored",
    provider: Provider = None,
    overhead: Overhead = 0,
    max_output: MaxOutput = None,
    format: FormatName = None,
    session: Session = None,
    vocabulary: Vocabulary = None,
) -> None:
    """Ask a summary what the facts of the session tell, and show what it cannot answer.

    A verdict that does not accept the summary is a result like any other: the exit code is 0."""
    told = known_style(style)
    sent_to = known_provider(provider)
    _check(window, tokens, about_compaction=sent_to or overhead or max_output)
    asked = asking(model, "judge")
    found = opened(file, format=format, session=session, vocabulary=vocabulary)
    with traced():
        if window is None:
            probed = _handoff(found, WHOLE if tokens is None else tokens, told)
        else:
            probed = _compaction(found, window, overhead, max_output, sent_to, told)
        probes = [answer.probe for answer in probed.verdict.answers]
        judged = judgement.judge(asked, probes, probed.text) if asked and probes else None
    if json:
        write_json(_as_json(probed, judged))
        return
    hints = Hints(file, session, format, probed.first)
    _show(probed, judged, hints, console(), all_probes=all_probes)


def _check(window: int | None, tokens: int | None, *, about_compaction: object) -> None:
    """What would have no effect is wrong usage."""
    if window is None and about_compaction:
        raise typer.BadParameter(
            "--provider, --overhead and --max-output are about a compaction; add --window"
        )
    if window is not None and tokens is not None:
        raise typer.BadParameter(
            "--tokens is the length of a hand-off; with --window the budget says how long it is"
        )
    if tokens == 0:
        raise typer.BadParameter(
            f"a hand-off of 0 tokens says nothing; give --tokens at least 1, or leave it out for "
            f"{WHOLE:,}"
        )


def _handoff(found: Opened, tokens: int, style: Style) -> Probed:
    """The whole session, as `kedge summarize` hands it on."""
    from kedge.steps import outcomes_of_session
    from kedge.summarizing import hand_on, summarize
    from kedge.verifying import asked, verify

    state, counter = summarize(found.transcript), found.counter
    if style == "outcomes":
        text = outcomes_of_session(found.transcript, tokens, counter)
        verdict = verify(state, text, asked(state, tokens))
    else:
        text, verdict, _ = hand_on(state, tokens, counter.count)
    size = counter.count(text)
    turns = len(found.transcript.turns)
    about = f"hand-off of the whole session: {turns:,} turns in {size:,} tokens"
    return Probed("hand-off", about, text, size, verdict, over=max(0, size - tokens))


def _compaction(
    found: Opened,
    window: int,
    overhead: int,
    max_output: int | None,
    provider: str,
    style: Style,
) -> Probed:
    from kedge.compaction import compact
    from kedge.model import Verdict
    from kedge.viewing import lead

    room = room_for(found.transcript, found.counter, window, overhead, max_output)
    made = compact(
        found.transcript, room.budget, provider=provider, counter=found.counter, style=style
    )
    if made.verdict is None:
        about = f"nothing is folded in a window of {window:,} tokens: {made.plan.reason}"
    else:
        about = (
            f"compaction for a window of {window:,} tokens: {made.plan.cut:,} turns folded into "
            f"{made.summary_tokens:,} tokens"
        )
    text = "\n\n".join(
        words
        for turn in lead(found.transcript, made)
        for words in (*(note.text for note in turn.notes), turn.user_message)
        if words
    )
    verdict = made.verdict or Verdict()
    return Probed("compaction", about, text, made.summary_tokens, verdict, first=made.first)


def _as_json(probed: Probed, done: Judgement | None) -> dict[str, Any]:
    """The keys of `kedge probe --json`; `judged` only with a model."""
    verdict = probed.verdict
    values = {
        "probed": probed.what,
        "tokens": probed.tokens,
        "over": probed.over,
        **as_json(verdict),
        "probes": [answer_as_json(answer) for answer in verdict.answers],
    }
    return values if done is None else values | {"judged": judgement.as_json(done)}


def _show(
    probed: Probed, done: Judgement | None, hints: Hints, out: Console, *, all_probes: bool
) -> None:
    from rich.text import Text

    verdict, judged = probed.verdict, done.judged if done else None
    out.print(Text(harmless(hints.file), style="bold"))
    out.print(harmless(probed.about), markup=False)
    if probed.over:
        out.print(f"longer than asked for by {probed.over:,} tokens: {IN_ANY_CASE}")
    out.print(headline(verdict))
    if why := " and ".join(reasons(verdict)):
        out.print(f"to be accepted, {why}", style="red")
    if not verdict.answers:
        if probed.what == "compaction":
            out.print("without --window the hand-off of the whole session is probed")
        return
    out.print()
    if verdict.quality is not None:
        out.print(dimensions_table(verdict.quality, judged.quality if judged else None))
        out.print()
    out.print(counts_table(verdict.answers, judgement.columns(judged) if judged else {}))
    if done is not None:
        _show_judged(done, out)
    if all_probes:
        out.print()
        out.print(every_probe(verdict.answers))
        out.print("✓ passes   ✗ fails   ! critical", style="dim")
    show_failed(verdict, hints, out, all_of_them=all_probes)
    show_strays(verdict, out)


def _show_judged(done: Judgement, out: Console) -> None:
    judged = done.judged
    out.print()
    out.print(judgement.told(judged), markup=False)
    if judged.quality is not None:
        out.print(f"judged by {shortened(judged.quality.by, judgement.NAME)}", markup=False)
    for problem in judged.problems:
        out.print(f"warning: {harmless(problem)}", style="bold red", markup=False)

"""Hand-offs, and what they still know: `kedgeline summarize`, `handoff` and `probe`."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

from kedgeline.cli import options
from kedgeline.cli.models import choose_model, trace
from kedgeline.cli.opening import Opened, check_provider, open_session, room_for
from kedgeline.cli.options import Limits, Source, amount, flag, option, tokens_option
from kedgeline.cli.output import (
    Hints,
    console,
    fields,
    harmless,
    say,
    write_json,
)
from kedgeline.cli.verdict import (
    Judgement,
    answer_as_json,
    counts_table,
    dimensions_table,
    headline,
    judge,
    judgement_as_json,
    probes_table,
    reasons,
    round_score,
    show_failed,
    show_judged,
    show_strays,
    verdict_as_json,
)
from kedgeline.errors import UnknownName
from kedgeline.settings import load_settings

if TYPE_CHECKING:
    from datetime import datetime

    from rich.console import Console

    from kedgeline.model import Compaction, Summary, Verdict
    from kedgeline.pipeline.job import Style

WHOLE = 2_048
"""Tokens of a hand-off and of a session file, where none are given: the largest named level."""
STYLES = ("markdown", "session-file", "outcomes", "json")
StateFile = Annotated[
    str | None, option("Also set compression_state in a state.json.", "--state", metavar="FILE")
]
SummaryStyle = Annotated[
    str, option("How the summary is told: anchored, or outcomes.", "--style", metavar="NAME")
]
SummaryTokens = Annotated[
    int | None,
    tokens_option("Longest summary, counted with the vocabulary itself; 2048 if none."),
]
Phase = Annotated[
    str | None,
    option(
        "As a phase hands it on: research, planning, implementation; auto finds out.",
        metavar="NAME",
    ),
]
JudgeName = Annotated[
    str | None,
    option(
        "Also have this model answer and judge, e.g. openai:… or "
        "'command:PROGRAM ARGUMENTS'; off for none, whatever settings say.",
        metavar="NAME",
    ),
]


class SessionFile(NamedTuple):
    """The session file of a task, which hands its state on."""

    product: Annotated[
        str | None,
        option("The product the task belongs to, for the session file.", metavar="NAME"),
    ] = None
    task: Annotated[
        str | None,
        option("The task's id, for the session file; else `session`.", metavar="ID"),
    ] = None
    write_session_file: Annotated[
        bool,
        flag(
            "Also write or update the session file of --product and --task.",
            "--write-session-file",
        ),
    ] = False
    root: Annotated[str, option("Folder that holds the products.", metavar="FOLDER")] = "."


def session_file_writer(wanted: SessionFile) -> Callable[..., Path] | None:
    """Writes the session file of a task, where that is wanted. A wrong name is said before any work
    is done."""
    from kedgeline.session.files import path_below, write_session_file

    if not wanted.write_session_file:
        return None
    if wanted.product is None or wanted.task is None:
        raise typer.BadParameter("--write-session-file needs --product and --task")
    template = load_settings(Path(wanted.root).resolve()).session_file
    path_below(wanted.product, wanted.task, template=template)
    return partial(write_session_file, wanted.root, wanted.product, wanted.task, template=template)


def keep_compaction(
    made: Compaction, session: str, write: Callable[..., Path] | None, state_file: str | None
) -> dict[str, str]:
    """Write what was asked for about the turns that a compaction folded; the paths by the keys
    they have in JSON."""
    if write is None and state_file is None:
        return {}
    if made.state is None:
        why = "nothing was folded" if not made.plan.folded else "the style outcomes keeps none"
        say(f"warning: no state for {state_file or 'the session file'}: {why}")
        return {}
    score = made.verdict.score if made.verdict else None
    return _keep(made.state, session, write, state_file, at=made.at, score=score)


def _keep(
    summary: Summary,
    session: str,
    write: Callable[..., Path] | None,
    state_file: str | None,
    *,
    at: datetime | None,
    score: float | None,
    room: int = WHOLE,
) -> dict[str, str]:
    from kedgeline.session.files import write_state

    kept: dict[str, str] = {}
    if write is not None:
        kept["session_file"] = str(write(summary, tokens=room, session=session))
    if state_file is not None:
        score = round_score(score)
        write_state(state_file, summary, at=at, probe_score=score, session=session)
        kept["state_file"] = state_file
    for name in kept.values():
        say(f"wrote {name}")
    return kept


def summarize(
    source: Source,
    task: SessionFile,
    tokens: SummaryTokens = None,
    level: Annotated[
        int | None, amount("A named level: 128 (one line), 512 (five lines) or 2048.")
    ] = None,
    style: Annotated[
        str,
        option("markdown, session-file, outcomes or json (all that is known).", metavar="NAME"),
    ] = "markdown",
    phase: Phase = None,
    state_file: StateFile = None,
    json: options.Json = False,
) -> None:
    """Summarize a whole session as a hand-off: Markdown on stdout."""
    from datetime import UTC, datetime

    from kedgeline.pipeline.draft import outcomes_of_session
    from kedgeline.pipeline.handoff import hand_on
    from kedgeline.pipeline.handoff import level as at_level
    from kedgeline.pipeline.handoff import summarize as summary_of
    from kedgeline.summary import PHASES, phase_of, phased, session_file
    from kedgeline.tokens import EXACT, Exact

    _check_room(tokens)
    _check_names(level, style, phase)
    write = session_file_writer(task)
    found = open_session(source)
    counter = Exact(source.vocabulary or EXACT.name)  # a hand-off is for any model
    state = summary_of(found.transcript)
    room = tokens or WHOLE
    score = None
    if state_file is not None:
        score = hand_on(state, room, found.counter.count).verdict.score
    name, now = found.transcript.session.latest("id"), datetime.now(UTC)
    kept = _keep(state, name, write, state_file, at=now, score=score, room=room)
    if style == "json":
        write_json(state)
        return
    size = level or room
    if phase:
        text = phased(state, next((one for one in PHASES if one == phase), phase_of(state)))
    elif style == "outcomes":
        text = outcomes_of_session(found.transcript, size, counter)
    elif style == "session-file":
        text = session_file(state, size, counter.count, task=task.task or "session")
    elif level:
        text = at_level(state, level, counter.count)
    else:
        text = hand_on(state, room, counter.count).text
    if json:
        write_json({"markdown": text, "tokens": counter.count(text), "style": style, **kept})
    else:
        typer.echo(harmless(text))


def _check_names(level: int | None, style: str, phase: str | None) -> None:
    """Names that nobody knows are an error and no silent default."""
    from kedgeline.summary import LEVELS, PHASES

    if level is not None and level not in LEVELS:
        raise UnknownName("level", str(level), known=tuple(map(str, LEVELS)))
    if style not in STYLES:
        raise UnknownName("style", style, known=STYLES)
    if phase not in (None, "auto", *PHASES):
        raise UnknownName("phase", str(phase), known=("auto", *PHASES))


def _check_room(tokens: int | None) -> None:
    if tokens == 0:
        raise typer.BadParameter(
            f"a hand-off of 0 tokens says nothing; give --tokens at least 1, or leave it out for "
            f"{WHOLE:,}"
        )


def handoff(
    product: Annotated[str, option("The product the task belongs to.", metavar="NAME")],
    task: Annotated[str, option("The task's id.", metavar="ID")],
    root: Annotated[str, option("Folder that holds the products.", metavar="FOLDER")] = ".",
    json: options.Json = False,
) -> None:
    """Print the `## Prior Session Context` block of a task for a sub-agent's prompt.

    It comes from the task's session file; for a fresh task there is nothing."""
    from kedgeline.session.files import path_below, prior_context, read_session_file

    template = load_settings(Path(root).resolve()).session_file
    names = path_below(product, task, template=template)
    text = read_session_file(root, product, task, template=template)
    block = None if text is None else prior_context(text)
    if json:
        file = str(Path(root, *names))
        write_json({"product": product, "task": task, "file": file, "markdown": block})
    elif block is not None:
        typer.echo(harmless(block), nl=False)


class _Probed(NamedTuple):
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
    source: Source,
    limits: Limits,
    tokens: Annotated[int | None, tokens_option("Longest hand-off; 2048 if none.")] = None,
    model: JudgeName = None,
    all_probes: Annotated[
        bool, flag("Show every probe, not only those that fail.", "--all")
    ] = False,
    style: SummaryStyle = "anchored",
    to: options.Provider = None,
    json: options.Json = False,
) -> None:
    """Ask a summary what the facts of the session tell, and show what it cannot answer.

    Without --window the hand-off of the whole session is asked, with it the summary of a
    compaction. A verdict that does not accept the summary is a result like any other: the exit
    code is 0."""
    told = check_style(style)
    sent_to = check_provider(to)
    if limits.window is None and (sent_to or limits.overhead or limits.max_output):
        raise typer.BadParameter(
            "--to, --overhead and --max-output are about a compaction; add --window"
        )
    if limits.window is not None and tokens is not None:
        raise typer.BadParameter(
            "--tokens is the length of a hand-off; with --window the budget says how long it is"
        )
    _check_room(tokens)
    asked = choose_model(model, "judge")
    found = open_session(source)
    with trace():
        if limits.window is None:
            probed = _probe_handoff(found, WHOLE if tokens is None else tokens, told)
        else:
            probed = _probe_compaction(found, limits, sent_to, told)
        probes = [answer.probe for answer in probed.verdict.answers]
        judged = judge(asked, probes, probed.text) if asked and probes else None
    if json:
        values = {
            "probed": probed.what,
            **fields(probed, "tokens over"),
            **verdict_as_json(probed.verdict),
            "probes": [answer_as_json(answer) for answer in probed.verdict.answers],
        }
        write_json(values | ({"judged": judgement_as_json(judged)} if judged else {}))
        return
    hints = Hints(source.file, source.session, source.format, probed.first)
    _show_probed(probed, judged, hints, console(), all_probes=all_probes)


def check_style(name: str) -> Style:
    from kedgeline.pipeline.job import STYLES

    for style in STYLES:
        if style == name:
            return style
    raise UnknownName("style", name, known=STYLES)


def _probe_handoff(found: Opened, tokens: int, style: Style) -> _Probed:
    """The whole session, as `kedgeline summarize` hands it on."""
    from kedgeline.pipeline.draft import of_outcomes, outcomes_of_session
    from kedgeline.pipeline.handoff import asked, hand_on, summarize, verify

    state, counter = summarize(found.transcript), found.counter
    if style == "outcomes":
        text = outcomes_of_session(found.transcript, tokens, counter)
        verdict = verify(state, text, of_outcomes(asked(state, tokens)))
    else:
        text, verdict, _ = hand_on(state, tokens, counter.count)
    size = counter.count(text)
    turns = len(found.transcript.turns)
    about = f"hand-off of the whole session: {turns:,} turns in {size:,} tokens"
    return _Probed("hand-off", about, text, size, verdict, over=max(0, size - tokens))


def _probe_compaction(found: Opened, limits: Limits, provider: str, style: Style) -> _Probed:
    from kedgeline.model import Verdict
    from kedgeline.pipeline.compact import compact
    from kedgeline.pipeline.view import lead

    room = room_for(found, limits)
    window, budget = room.window, room.budget
    made = compact(found.transcript, budget, provider=provider, counter=found.counter, style=style)
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
    return _Probed("compaction", about, text, made.summary_tokens, verdict, first=made.first)


def _show_probed(
    probed: _Probed, done: Judgement | None, hints: Hints, out: Console, *, all_probes: bool
) -> None:
    verdict, judged = probed.verdict, done.judged if done else None
    out.print(harmless(hints.file), style="bold")
    out.print(harmless(probed.about))
    if probed.over:
        why = "rules and the request stand in any case"
        out.print(f"longer than asked for by {probed.over:,} tokens: {why}")
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
    right = {"model right": judged.answers, "judged right": judged.graded} if judged else {}
    out.print(counts_table(verdict.answers, {name: one for name, one in right.items() if one}))
    if judged is not None:
        show_judged(judged, out)
    if all_probes:
        out.print()
        out.print(probes_table(verdict.answers))
        out.print("✓ passes   ✗ fails   ! critical", style="dim")
    show_failed(verdict, hints, out, all_of_them=all_probes)
    show_strays(verdict, out)

"""What probes found and what a compaction left out, for people and programs: `kedgeline probe`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import floor
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import msgspec
import typer

from kedgeline.cli.opening import (
    NAME,
    Asking,
    CountedSession,
    call_as_json,
    check_name,
    check_provider,
    choose_model,
    make_redactor,
    open_session,
    room_for,
)
from kedgeline.cli.options import SessionSource, WindowSize
from kedgeline.cli.output import (
    Hints,
    count,
    fields,
    mark,
    progress,
    shorten,
    show,
    styled,
    table,
    write_json,
)

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from kedgeline.model import (
        Answer,
        Compaction,
        DimensionScore,
        Losses,
        ModelCall,
        Quality,
        SectionName,
        Verdict,
    )
    from kedgeline.pipeline.job import Style
    from kedgeline.pipeline.judging import Judged

WHOLE = 2_048
"""Tokens of a hand-off and of a session file, where none are given: the largest named level."""
FAILED_SHOWN = 12
"""Failed probes that are told one by one, unless all are asked for: a screen of them."""
STRAYS_SHOWN = 6
"""Lines without a fact that are shown; there are none but in a text that somebody changed."""
LONGEST = 240
"""Characters of an expected or a found text that are shown: enough to know it again."""
SALIENT, SALIENT_LENGTH = 3, 48
"""Losses that the one line names, and characters of each; the report has more."""
SCORE_DIGITS = 4
"""Of a score in JSON: more would only be noise."""
WORDS: dict[SectionName, tuple[str, str]] = {
    "Session Intent": ("request", "requests"),
    "Standing Instructions": ("rule", "rules"),
    "Files Modified": ("file that changed", "files that changed"),
    "Files Read (Not Modified)": ("file that was read", "files that were read"),
    "Decisions Made": ("decision", "decisions"),
    "Current State": ("line of the state", "lines of the state"),
    "Blockers / Open Questions": ("question", "questions"),
    "Error Context": ("error", "errors"),
    "Next Steps": ("step", "steps"),
    "Commands": ("command", "commands"),
    "Index": ("name", "names"),
}
"""What one entry of a section is, and what several are; others are entries of their section."""


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
    judged: Judged | None = None
    """What a model says of it."""


def probe_command(
    source: SessionSource,
    limits: WindowSize,
    tokens: int | None = None,
    model: str | None = None,
    style: str = "anchored",
    to: str | None = None,
    json: bool = False,
) -> None:
    """Test a summary with questions about the session's facts; show what it cannot answer.

    With --window the summary of a compaction is tested, without it the hand-off of the whole
    session. A summary that fails the test is a result like any other: the exit code is 0.

    Args:
        tokens TOKENS: Length of the hand-off in tokens; 2048 if not given.
        model NAME: Also have this model answer and judge, e.g. openai:… or 'command:PROGRAM
            ARGUMENTS'; off for none, whatever settings say.
    """
    told, sent_to = check_style(style), check_provider(to)
    if limits.window is None and (sent_to or limits.overhead):
        raise typer.BadParameter("--to and --overhead are about a compaction; add --window")
    if limits.window is not None and tokens is not None:
        raise typer.BadParameter(
            "--tokens is the length of a hand-off; with --window the budget says how long it is"
        )
    check_room(tokens)
    judge = choose_model(model, "judge")
    found = open_session(source)
    with progress("asking the summary"):
        if limits.window is None:
            probed = _probe_handoff(found, WHOLE if tokens is None else tokens, told)
        else:
            probed = _probe_compaction(found, limits, sent_to, told)
    calls: tuple[ModelCall, ...] = ()
    if judge and probed.verdict.answers:
        probed, calls = _judge(judge, probed)
    if not json:
        show(*_probed_page(probed, Hints(source.file, source.session, source.format, probed.first)))
        return
    values = {
        "probed": probed.what,
        **fields(probed, "tokens over"),
        **verdict_as_json(probed.verdict),
        "probes": _answers_as_json(probed.verdict.answers),
    }
    if probed.judged:
        values["judged"] = _judged_as_json(probed.judged, calls)
    write_json(values)


def check_style(name: str) -> Style:
    from kedgeline.pipeline.job import STYLES

    check_name("style", name, STYLES)
    return cast("Style", name)


def check_room(tokens: int | None) -> None:
    if tokens == 0:
        raise typer.BadParameter(
            f"a hand-off of 0 tokens is empty; give --tokens at least 1, or leave it out for "
            f"{WHOLE:,}"
        )


def _probe_handoff(found: CountedSession, tokens: int, style: Style) -> _Probed:
    """The whole session, as `kedgeline summarize` hands it on."""
    from kedgeline.pipeline.handoff import asked, hand_on, summarize, verify
    from kedgeline.pipeline.outcomes import of_outcomes, outcomes_of_session

    state, counter = summarize(found.transcript), found.counter
    if style == "outcomes":
        text = outcomes_of_session(found.transcript, state, tokens, counter.count)
        verdict = verify(state, text, of_outcomes(asked(state, tokens)))
    else:
        text, verdict, _ = hand_on(state, tokens, counter.count)
    size, turns = counter.count(text), len(found.transcript.turns)
    about = f"hand-off of the whole session: {turns:,} turns in {size:,} tokens"
    return _Probed("hand-off", about, text, size, verdict, over=max(0, size - tokens))


def _probe_compaction(
    found: CountedSession, limits: WindowSize, provider: str, style: Style
) -> _Probed:
    from kedgeline.model import Verdict
    from kedgeline.pipeline.compact import compact
    from kedgeline.pipeline.view import lead

    room = room_for(found, limits)
    options: dict[str, Any] = {"provider": provider, "counter": found.counter, "style": style}
    made = compact(found.transcript, room.budget, **options)
    window = f"a window of {room.window:,} tokens"
    about = f"nothing is folded in {window}: {made.plan.reason}"
    if made.verdict is not None:
        turns, tokens = made.plan.cut, made.summary_tokens
        about = f"compaction for {window}: {turns:,} turns folded into {tokens:,} tokens"
    text = "\n\n".join(
        words
        for turn in lead(found.transcript, made)
        for words in (*(note.text for note in turn.notes), turn.user_message)
        if words
    )
    verdict = made.verdict or Verdict()
    return _Probed("compaction", about, text, made.summary_tokens, verdict, first=made.first)


def _probed_page(probed: _Probed, hints: Hints) -> Iterator[Any]:
    from kedgeline.model.summary import ACCEPTED

    verdict, judged = probed.verdict, probed.judged
    yield styled(hints.file, "bold")
    yield probed.about
    if probed.over:
        yield f"{probed.over:,} tokens longer than asked for: rules and the request are always in"
    yield _headline(verdict)
    reasons = (
        (
            verdict.score is not None and verdict.score < ACCEPTED,
            f"the score must be {ACCEPTED:.2f} or more",
        ),
        (verdict.critical_failures, "no critical probe may fail"),
        (verdict.strays, "every line must be held by a fact"),
    )
    if why := " and ".join(words for holds, words in reasons if holds):
        yield styled(f"to be accepted, {why}", "red")
    if not verdict.answers:
        if probed.what == "compaction":
            yield "without --window the hand-off of the whole session is probed"
        return
    if verdict.quality is not None:
        yield from ("", _dimensions_table(verdict.quality, judged.quality if judged else None))
    right = {"model right": judged.answers} if judged and judged.answers else {}
    yield from ("", _counts_table(verdict.answers, right))
    if judged is not None:
        yield from _judged_told(judged)
    yield from failed_page(verdict, hints)


# A verdict.


def verdict_told(verdict: Verdict) -> str:
    """What the probes found, in a line."""
    if verdict.score is None:
        return "there was nothing to ask"
    asked, failed = len(verdict.answers), len(verdict.failed)
    critical = len(verdict.critical_failures)
    parts = [
        f"score {_floored(verdict.score)}",
        f"{asked - failed:,} of {asked:,} pass",
        count(critical, "critical failure") if critical else "no critical failure",
    ]
    if verdict.strays:
        parts.append(f"{count(len(verdict.strays), 'line')} held by no fact")
    if verdict.failed_first:
        parts.append(f"{verdict.repaired:,} of {verdict.failed_first:,} repaired")
    return ", ".join(parts)


def _headline(verdict: Verdict) -> Text:
    if _is_empty(verdict):
        line = styled("NO SCORE", "bold")
    elif verdict.accepted:
        line = styled("ACCEPTED", "bold green")
    else:
        line = styled("NOT ACCEPTED", "bold white on red")
    return line.append(f"  {verdict_told(verdict)}", style="not bold default on default")


def _is_empty(verdict: Verdict) -> bool:
    """Whether there is nothing to say: no probe was asked, and no line is without a fact."""
    return verdict.score is None and not verdict.strays


def _floored(score: float) -> str:
    """With two digits, never rounded up: what misses the mark is not shown as having reached it."""
    return f"{floor(score * 100 + 1e-9) / 100:.2f}"


def _dimensions_table(quality: Quality, judged: Quality | None) -> Table:
    """Targets and scores; a judge's scores have columns of their own."""
    scorers = {">by probes": quality} | ({">by the judge": judged} if judged else {})
    columns = [column for name in scorers for column in (name, "")]
    rows = [
        (
            each[0].dimension.replace("_", " "),
            f"{each[0].target:.1f}",
            *(cell for one in each for cell in _met(one)),
        )
        for each in zip(*(one.dimensions for one in scorers.values()), strict=True)
    ]
    return table("dimension", ">target", *columns, rows=rows)


def _met(one: DimensionScore) -> tuple[str, Text]:
    """A score, and whether it reaches its target."""
    if one.score is None:
        return "–", styled("not asked", "dim")
    missed = one.score < one.target
    return _floored(one.score), styled("MISSED", "bold red") if missed else styled("met", "green")


def _counts_table(answers: Sequence[Answer], right: Mapping[str, Sequence[Answer]]) -> Table:
    """Probes by type: how many were asked and passed, and how many a model got right."""
    failed = [one for one in answers if not one.passed]
    columns = {
        "asked": answers,
        "pass": [one for one in answers if one.passed],
        "fail": failed,
        "critical fail": [one for one in failed if one.probe.critical],
        **{name: [one for one in found if one.passed] for name, found in right.items()},
    }
    counts = [Counter(one.probe.type for one in found) for found in columns.values()]
    rows = [(name, *(each[name] for each in counts)) for name in sorted(counts[0])]
    return table("probes", *(f">{name}" for name in columns), rows=rows)


def failed_page(verdict: Verdict, hints: Hints, *, all_of_them: bool = False) -> Iterator[Any]:
    """The failed probes, critical ones first, with what is missing and where to see it; and lines
    that no fact holds."""
    failed = sorted(verdict.failed, key=lambda one: not one.probe.critical)
    shown = failed if all_of_them else failed[:FAILED_SHOWN]
    if failed:
        yield from ("", styled(f"failed: {len(failed):,}", "bold red"))
    for answer in shown:
        probe, found = answer.probe, " · ".join(answer.found) or "nothing of it"
        asked = mark(probe.turn).append("  critical" if probe.critical else "", "bold red")
        yield asked.append(
            f"  {probe.type}: {shorten(probe.question, LONGEST)}", "not bold default"
        )
        yield f"      expected {shorten(' · '.join(probe.expected), LONGEST)}"
        yield f"      found    {shorten(found, LONGEST)}"
    if len(shown) < len(failed):
        yield f"and {len(failed) - len(shown):,} more: --json has every probe"
    turns = [one.probe.turn for one in shown]
    if see := hints.shown(turns):
        yield f"see the turn of a probe: {see}"
    if any(0 <= turn < hints.first for turn in turns):
        yield hints.older
    if verdict.strays:
        yield from ("", styled(f"lines held by no fact: {len(verdict.strays):,}", "bold red"))
        yield from (f"  {shorten(line, LONGEST)}" for line in verdict.strays[:STRAYS_SHOWN])
    if len(verdict.strays) > STRAYS_SHOWN:
        yield f"  and {len(verdict.strays) - STRAYS_SHOWN:,} more: --json has them all"


def verdict_as_json(found: Verdict) -> dict[str, Any]:
    """The verdict in short."""
    return {
        "score": round_score(found.score),
        "accepted": None if _is_empty(found) else found.accepted,
        "asked": len(found.answers),
        "failed": len(found.failed),
        "critical_failures": len(found.critical_failures),
        **fields(found, "failed_first repaired strays"),
        "by": found.quality.by if found.quality else "probes",
        "dimensions": _quality_as_json(found.quality),
    }


def failures_as_json(found: Verdict) -> list[dict[str, Any]]:
    return _answers_as_json(found.failed)


def _answers_as_json(answers: Iterable[Answer]) -> list[dict[str, Any]]:
    return [
        {
            **fields(one.probe, "type matter question expected"),
            **fields(one, "found passed"),
            "critical": one.probe.critical,
            "turn": one.probe.turn if one.probe.turn >= 0 else None,
        }
        for one in answers
    ]


def _quality_as_json(quality: Quality | None) -> dict[str, Any]:
    """By dimension: score, target and criteria."""
    return {
        one.dimension: {
            "score": round_score(one.score),
            "target": one.target,
            "criteria": [
                msgspec.to_builtins(criterion) | {"score": round_score(criterion.score)}
                for criterion in one.criteria
            ],
        }
        for one in (quality.dimensions if quality else ())
    }


def round_score(score: float | None) -> float | None:
    return None if score is None else round(score, SCORE_DIGITS)


# What a compaction left out.


def losses_told(losses: Losses, hints: Hints) -> str:
    """What was left out, in a line."""
    untold = _untold(losses)
    if not losses.left_out:
        return f"left out: {untold or 'nothing that is known of the folded turns'}"
    counts = sorted(_counts(losses), key=lambda row: -row[0])
    named = "; ".join(
        f"{shorten(one.text, SALIENT_LENGTH)} [{mark(one.turn)}]" for one in losses.named[:SALIENT]
    )
    see = hints.shown(one.turn for one in losses.named)
    parts = (
        f"left out: {', '.join(f'{number:,} {words}' for number, words, _ in counts)}",
        untold,
        f"most salient: {named}" if named else "",
        f"see them with {f'{see} or ' if see else ''}{hints.facts(counts[0][2])}",
        hints.older,
        "--losses shows all of it",
    )
    return "; ".join(part for part in parts if part)


def _counts(losses: Losses) -> Iterator[tuple[int, str, str]]:
    """How many entries of a section, what they are, and the kind of facts that shows them."""
    from kedgeline.summary import SECTIONS

    for section in SECTIONS:
        if number := losses.left_out.get(section, 0):
            yield number, _words(section)[number != 1], SECTIONS[section].kind


def _words(section: SectionName) -> tuple[str, str]:
    return WORDS.get(section, (f"entry of {section}", f"entries of {section}"))


def _untold(losses: Losses) -> str:
    """Files that are named without what changed in them, in words; empty where there are none."""
    number = losses.undetailed
    return f"what changed in {count(number, 'file')} is left out" if number else ""


def losses_page(made: Compaction, hints: Hints) -> Iterator[Any]:
    """The whole report, for people."""
    if made.verdict is None:
        yield f"nothing was folded: {made.plan.reason}"
        return
    losses = made.losses
    if losses is None:
        yield (
            f"the style {made.method} keeps no state behind its text and cannot say what it left "
            f"out; the probes can"
        )
    else:
        earlier = f", after {losses.earlier:,} of earlier compactions" if losses.earlier else ""
        yield (
            f"folded: {losses.turns:,} turns, {losses.tokens:,} tokens{earlier}; the summary has "
            f"{made.summary_tokens:,} tokens"
        )
        yield from _left_out(losses, hints)
    yield from ("", _headline(made.verdict))
    yield from failed_page(made.verdict, hints, all_of_them=True)


def _left_out(losses: Losses, hints: Hints) -> Iterator[Any]:
    untold = _untold(losses)
    if not losses.left_out:
        yield untold or "nothing that is known of them was left out"
        return
    yield from ("", styled("not in the summary", "bold"))
    rows = [(n, words, styled(f"--kind {kind}", "dim")) for n, words, kind in _counts(losses)]
    yield table(">", "", "", rows=rows)
    yield untold or None
    yield f"list a kind: {hints.facts('KIND')}"
    if losses.named:
        yield from ("", styled("the most salient of it", "bold"))
        named = [
            (mark(one.turn), _words(one.section)[0], shorten(one.text, 2 * LONGEST))
            for one in losses.named
        ]
        yield table("", "", "*", rows=named)
        see = hints.shown(one.turn for one in losses.named)
        yield f"see one again: {see}" if see else None
    yield hints.older or None


def losses_as_json(losses: Losses | None) -> dict[str, Any] | None:
    if losses is None:
        return None
    found: dict[str, Any] = msgspec.to_builtins(losses)
    for one in found["named"]:
        one["turn"] = one["turn"] if one["turn"] >= 0 else None
    return found


# What a judge says.


def _judge(asked: Asking, probed: _Probed) -> tuple[_Probed, tuple[ModelCall, ...]]:
    """Have a model answer the probes and judge the text, under its terms."""
    from kedgeline.models import drive, guarded_step
    from kedgeline.pipeline.judging import judged

    meter, clean = asked.meter(), make_redactor().clean
    step = judged([one.probe for one in probed.verdict.answers], probed.text)
    step = guarded_step(step, asked.terms, model=asked.name, clean=clean, meter=meter)
    with progress(f"asking {asked.name}"):
        return probed._replace(judged=drive(step, asked.model)), meter.calls


def _judged_as_json(judged: Judged, calls: Sequence[ModelCall]) -> dict[str, Any]:
    """The keys below `judged` of `kedgeline probe --json`."""
    answers = zip(_answers_as_json(judged.answers), judged.answers, strict=True)
    return {
        "answered_by": judged.answered_by,
        "score": _share(judged.answers),
        "unanswered": judged.unanswered,
        "answers": [values | {"given": one.given} for values, one in answers],
        "by": judged.quality.by if judged.quality else None,
        "dimensions": _quality_as_json(judged.quality),
        "problems": judged.problems,
        "calls": [call_as_json(call) for call in calls],
    }


def _share(answers: Sequence[Answer]) -> float | None:
    return round_score(sum(one.passed for one in answers) / len(answers)) if answers else None


def _judged_told(judged: Judged) -> Iterator[Any]:
    """Who answered and who judged."""
    yield ""
    if judged.answers:
        right = sum(one.passed for one in judged.answers)
        line = f"{right:,} of {len(judged.answers):,} answers are right to the letter"
        if judged.unanswered:
            line += f"; no usable reply on {judged.unanswered:,} probes"
        yield f"{line}; answered by {shorten(judged.answered_by, NAME)}"
    else:
        yield "the model gave no usable answer"
    if judged.quality is not None:
        yield f"judged by {shorten(judged.quality.by, NAME)}"
    for problem in judged.problems:
        yield styled(f"warning: {shorten(problem, 2 * LONGEST)}", "bold red")

"""What probes found and what a compaction left out, for people and programs: `kedgeline probe`."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from math import floor
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec
import typer

from kedgeline.cli.opening import (
    NAME,
    Asking,
    CountedSession,
    call_as_json,
    check_provider,
    choose_model,
    make_redactor,
    open_session,
    room_for,
    watch_model,
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
from kedgeline.errors import UnknownName

if TYPE_CHECKING:
    from rich.table import Table
    from rich.text import Text

    from kedgeline.model import (
        Answer,
        Compaction,
        DimensionScore,
        Losses,
        ModelCall,
        Probe,
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
"""What one entry of a section is, and what several are."""


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


def probe_command(
    source: SessionSource,
    limits: WindowSize,
    tokens: int | None = None,
    model: str | None = None,
    all_probes: bool = False,
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
        all_probes --all: Show every probe, not only those that fail.
    """
    told, sent_to = check_style(style), check_provider(to)
    if limits.window is None and (sent_to or limits.overhead):
        raise typer.BadParameter("--to and --overhead are about a compaction; add --window")
    if limits.window is not None and tokens is not None:
        raise typer.BadParameter(
            "--tokens is the length of a hand-off; with --window the budget says how long it is"
        )
    check_room(tokens)
    asked = choose_model(model, "judge")
    found = open_session(source)
    with progress("asking the summary"):
        if limits.window is None:
            probed = _probe_handoff(found, WHOLE if tokens is None else tokens, told)
        else:
            probed = _probe_compaction(found, limits, sent_to, told)
    probes = [answer.probe for answer in probed.verdict.answers]
    judged = _judge(asked, probes, probed.text) if asked and probes else None
    if json:
        values = {
            "probed": probed.what,
            **fields(probed, "tokens over"),
            **verdict_as_json(probed.verdict),
            "probes": [_answer_as_json(answer) for answer in probed.verdict.answers],
        }
        write_json(values | ({"judged": _judgement_as_json(judged)} if judged else {}))
        return
    hints = Hints(source.file, source.session, source.format, probed.first)
    show(*_probed_page(probed, judged, hints, all_probes=all_probes))


def check_style(name: str) -> Style:
    from kedgeline.pipeline.job import STYLES

    for style in STYLES:
        if style == name:
            return style
    raise UnknownName("style", name, known=STYLES)


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
    size = counter.count(text)
    turns = len(found.transcript.turns)
    about = f"hand-off of the whole session: {turns:,} turns in {size:,} tokens"
    return _Probed("hand-off", about, text, size, verdict, over=max(0, size - tokens))


def _probe_compaction(
    found: CountedSession, limits: WindowSize, provider: str, style: Style
) -> _Probed:
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


def _probed_page(
    probed: _Probed, done: _Judgement | None, hints: Hints, *, all_probes: bool
) -> Iterator[Any]:
    from kedgeline.model.summary import ACCEPTED

    verdict, judged = probed.verdict, done.judged if done else None
    yield styled(hints.file, "bold")
    yield probed.about
    if probed.over:
        why = "rules and the request stand in any case"
        yield f"longer than asked for by {probed.over:,} tokens: {why}"
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
    if all_probes:
        rows = (
            (
                _passes(one),
                mark(one.probe.turn),
                one.probe.type,
                shorten(one.probe.question, LONGEST),
                shorten(" · ".join(one.probe.expected), LONGEST),
            )
            for one in verdict.answers
        )
        yield from ("", table("", "turn", "type", "*question", "*expected", rows=rows))
        yield styled("✓ passes   ✗ fails   ! critical", "dim")
    yield from failed_page(verdict, hints, all_of_them=all_probes)


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


def _counts_table(answers: Sequence[Answer], columns: Mapping[str, Sequence[Answer]]) -> Table:
    """Probes by type: how many were asked and passed, and of those in the further columns."""
    failed = [one for one in answers if not one.passed]
    counts = [
        Counter(one.probe.type for one in found)
        for found in (
            answers,
            [one for one in answers if one.passed],
            failed,
            [one for one in failed if one.probe.critical],
            *([one for one in each if one.passed] for each in columns.values()),
        )
    ]
    rows = ((name, *(f"{each[name]:,}" for each in counts)) for name in sorted(counts[0]))
    names = ("asked", "pass", "fail", "critical fail", *columns)
    return table("probes", *(f">{name}" for name in names), rows=rows)


def failed_page(verdict: Verdict, hints: Hints, *, all_of_them: bool) -> Iterator[Any]:
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
        yield f"and {len(failed) - len(shown):,} more: --all shows every probe"
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


def _passes(answer: Answer) -> Text:
    sign = styled("✓", "green") if answer.passed else styled("✗", "bold red")
    return sign.append("!" if answer.probe.critical else " ")


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
    return [_answer_as_json(answer) for answer in found.failed]


def _answer_as_json(answer: Answer) -> dict[str, Any]:
    probe = answer.probe
    return {
        **fields(probe, "type matter question expected"),
        **fields(answer, "found passed"),
        "critical": probe.critical,
        "turn": probe.turn if probe.turn >= 0 else None,
    }


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
    from kedgeline.summary import SECTIONS

    untold = _untold(losses)
    if not losses.left_out:
        return f"left out: {untold or 'nothing that is known of the folded turns'}"
    counts = sorted(_counts(losses), key=lambda pair: -pair[0])
    named = "; ".join(
        f"{shorten(one.text, SALIENT_LENGTH)} [{mark(one.turn)}]" for one in losses.named[:SALIENT]
    )
    most = max(WORDS, key=lambda section: losses.left_out.get(section, 0))
    ways = (hints.shown(one.turn for one in losses.named), hints.facts(SECTIONS[most].kind))
    parts = (
        f"left out: {', '.join(f'{number:,} {words}' for number, words, _ in counts)}",
        untold,
        f"most salient: {named}" if named else "",
        f"see them with {' or '.join(way for way in ways if way)}",
        hints.older,
        "--losses tells more",
    )
    return "; ".join(part for part in parts if part)


def _counts(losses: Losses) -> Iterator[tuple[int, str, SectionName]]:
    for section, (one, many) in WORDS.items():
        if number := losses.left_out.get(section, 0):
            yield number, one if number == 1 else many, section


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
    from kedgeline.summary import SECTIONS

    untold = _untold(losses)
    if not losses.left_out:
        yield untold or "nothing that is known of them was left out"
        return
    yield from ("", styled("not in the summary", "bold"))
    rows = [
        (f"{number:,}", words, styled(f"--kind {SECTIONS[section].kind}", "dim"))
        for number, words, section in _counts(losses)
    ]
    yield table(">", "", "", rows=rows)
    yield untold or None
    yield f"list a kind: {hints.facts('KIND')}"
    if losses.named:
        yield from ("", styled("the most salient of it", "bold"))
        named = [
            (mark(one.turn), WORDS[one.section][0], shorten(one.text, 2 * LONGEST))
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


class _Judgement(NamedTuple):
    judged: Judged
    calls: tuple[ModelCall, ...]
    """What it took."""


def _judge(asked: Asking, probes: Sequence[Probe], text: str) -> _Judgement:
    """Have a model answer the probes and judge the text, under its terms."""
    from kedgeline.models import drive, guarded_step
    from kedgeline.pipeline.judging import judged

    meter, clean = asked.meter(), make_redactor().clean
    step = guarded_step(
        judged(probes, text), asked.terms, model=asked.name, clean=clean, meter=meter
    )
    with watch_model(asked) as model:
        found = drive(step, model)
    return _Judgement(found, meter.calls)


def _judgement_as_json(done: _Judgement) -> dict[str, Any]:
    """The keys below `judged` of `kedgeline probe --json`."""
    judged = done.judged
    return {
        "answered_by": judged.answered_by,
        "score": _share(judged.answers),
        "unanswered": judged.unanswered,
        "answers": [_answer_as_json(one) | {"given": one.given} for one in judged.answers],
        "by": judged.quality.by if judged.quality else None,
        "dimensions": _quality_as_json(judged.quality),
        "problems": judged.problems,
        "calls": [call_as_json(call) for call in done.calls],
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

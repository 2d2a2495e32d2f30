"""What probes found, what a compaction left out and what a judge says, for people and programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from math import floor
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from kedgeline.cli.models import NAME, Asking, call_as_json, watch_model
from kedgeline.cli.opening import make_redactor
from kedgeline.cli.output import Hints, count, fields, harmless, mark, shorten, styled, table

if TYPE_CHECKING:
    from rich.console import Console
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
    from kedgeline.pipeline.handoff import Judged

FAILED_SHOWN = 12
"""Failed probes that are told one by one, unless all are asked for: a screen of them."""
STRAYS_SHOWN = 6
"""Lines without a fact that are shown; there are none but in a text that somebody changed."""
LONGEST = 240
"""Characters of an expected or a found text that are shown: enough to know it again."""
LONGEST_LOST = 400
"""Characters of an entry in the table of losses, which cuts them to its width."""
SALIENT = 3
"""Losses that the one line names; the report has more."""
SALIENT_LENGTH = 48
"""Characters of each of them."""
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


def floor_score(score: float) -> str:
    """With two digits, never rounded up: what misses the mark is not shown as having reached it."""
    return f"{floor(score * 100 + 1e-9) / 100:.2f}"


def round_score(score: float | None) -> float | None:
    return None if score is None else round(score, SCORE_DIGITS)


def verdict_told(verdict: Verdict) -> str:
    """What the probes found, in a line."""
    if verdict.score is None:
        return "there was nothing to ask"
    asked, failed = len(verdict.answers), len(verdict.failed)
    parts = [f"score {floor_score(verdict.score)}", f"{asked - failed:,} of {asked:,} pass"]
    critical = len(verdict.critical_failures)
    parts.append(count(critical, "critical failure") if critical else "no critical failure")
    if verdict.strays:
        parts.append(f"{count(len(verdict.strays), 'line')} held by no fact")
    if verdict.failed_first:
        parts.append(f"{verdict.repaired:,} of {verdict.failed_first:,} repaired")
    return ", ".join(parts)


def headline(verdict: Verdict) -> Text:
    if _is_empty(verdict):
        line = styled("NO SCORE", style="bold")
    elif verdict.accepted:
        line = styled("ACCEPTED", style="bold green")
    else:
        line = styled("NOT ACCEPTED", style="bold white on red")
    return line.append(f"  {verdict_told(verdict)}", style="not bold default on default")


def _is_empty(verdict: Verdict) -> bool:
    """Whether there is nothing to say: no probe was asked, and no line is without a fact."""
    return verdict.score is None and not verdict.strays


def reasons(verdict: Verdict) -> Iterator[str]:
    """Why a text is not accepted."""
    from kedgeline.model.summary import ACCEPTED

    if verdict.score is not None and verdict.score < ACCEPTED:
        yield f"the score must be {ACCEPTED:.2f} or more"
    if verdict.critical_failures:
        yield "no critical probe may fail"
    if verdict.strays:
        yield "every line must be held by a fact"


def dimensions_table(quality: Quality, judged: Quality | None = None) -> Table:
    """Targets and scores; a judge's scores have columns of their own."""
    scorers = {">by probes": quality} | ({">by the judge": judged} if judged else {})
    columns = [column for name in scorers for column in (name, "")]
    made = table("dimension", ">target", *columns, each={"no_wrap": True})
    for rows in zip(*(one.dimensions for one in scorers.values()), strict=True):
        name = rows[0].dimension.replace("_", " ")
        made.add_row(name, f"{rows[0].target:.1f}", *(cell for one in rows for cell in _met(one)))
    return made


def _met(one: DimensionScore) -> tuple[str, Text]:
    """A score, and whether it reaches its target."""
    if one.score is None:
        return "–", styled("not asked", style="dim")
    missed = one.score < one.target
    said = styled("MISSED", style="bold red") if missed else styled("met", style="green")
    return floor_score(one.score), said


def counts_table(answers: Sequence[Answer], columns: Mapping[str, Sequence[Answer]]) -> Table:
    """Probes by type: how many were asked and passed, and of those in the further columns."""
    names = ("asked", "pass", "fail", "critical fail", *columns)
    made = table("probes", *(f">{name}" for name in names), each={"no_wrap": True})
    asked = Counter(one.probe.type for one in answers)
    failed = Counter(one.probe.type for one in answers if not one.passed)
    critical = Counter(one.probe.type for one in answers if not one.passed and one.probe.critical)
    right = [Counter(one.probe.type for one in found if one.passed) for found in columns.values()]
    for name, number in sorted(asked.items()):
        numbers = (number, number - failed[name], failed[name], critical[name])
        made.add_row(name, *(f"{n:,}" for n in (*numbers, *(one[name] for one in right))))
    return made


def show_failed(verdict: Verdict, hints: Hints, out: Console, *, all_of_them: bool) -> None:
    """The failed probes, critical ones first, with what is missing and where to see it."""
    failed = sorted(verdict.failed, key=lambda one: not one.probe.critical)
    if not failed:
        return
    shown = failed if all_of_them else failed[:FAILED_SHOWN]
    out.print(f"\nfailed: {len(failed):,}", style="bold red")
    for answer in shown:
        out.print(_failed_grid(answer))
    if len(shown) < len(failed):
        out.print(f"and {len(failed) - len(shown):,} more: --all shows every probe")
    turns = [one.probe.turn for one in shown]
    if see := hints.shown(turns):
        out.print(f"see the turn of a probe: {see}", soft_wrap=True)
    if any(0 <= turn < hints.first for turn in turns):
        out.print(hints.older)


def _failed_grid(answer: Answer) -> Table:
    """A failed probe: its question, what is expected, what of it stands there."""
    from rich.console import Group
    from rich.table import Table

    probe = answer.probe
    asked = styled("critical ", style="bold red") if probe.critical else styled()
    asked.append(f"{probe.type}: {harmless(probe.question)}", style="not bold default")
    parts = Table.grid(padding=(0, 1, 0, 0))
    parts.add_column(style="dim", no_wrap=True)
    parts.add_column(overflow="fold")
    found = " · ".join(answer.found) or "nothing of it"
    for name, words in (("expected", " · ".join(probe.expected)), ("found", found)):
        parts.add_row(name, styled(shorten(words, LONGEST)))
    told = Table.grid(padding=(0, 1, 0, 0))
    told.add_column(style="bold cyan", width=5, no_wrap=True)
    told.add_column()
    told.add_row(mark(probe.turn), Group(asked, parts))
    return told


def show_strays(verdict: Verdict, out: Console) -> None:
    if not verdict.strays:
        return
    out.print(f"\nlines held by no fact: {len(verdict.strays):,}", style="bold red")
    for line in verdict.strays[:STRAYS_SHOWN]:
        out.print(f"  {shorten(line, LONGEST)}")
    if len(verdict.strays) > STRAYS_SHOWN:
        out.print(f"  and {len(verdict.strays) - STRAYS_SHOWN:,} more: --json has them all")


def probes_table(answers: Sequence[Answer]) -> Table:
    """All probes, a line each; `!` stands at critical ones."""
    long = {"no_wrap": True, "overflow": "ellipsis", "ratio": 1}
    made = table(
        {"width": 2},
        {"header": "turn", "no_wrap": True},
        {"header": "type", "no_wrap": True},
        {"header": "question", **long},
        {"header": "expected", **long},
        expand=True,
    )
    for one in answers:
        probe = one.probe
        sign = styled("✓", style="green") if one.passed else styled("✗", style="bold red")
        made.add_row(
            sign.append("!" if probe.critical else " "),
            styled(mark(probe.turn), style="bold cyan"),
            probe.type,
            shorten(probe.question, LONGEST),
            shorten(" · ".join(probe.expected), LONGEST),
        )
    return made


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


def answer_as_json(answer: Answer) -> dict[str, Any]:
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


def losses_told(losses: Losses, hints: Hints) -> str:
    """What was left out, in a line."""
    from kedgeline.summary import KINDS

    untold = _untold(losses)
    if not losses.left_out:
        return f"left out: {untold or 'nothing that is known of the folded turns'}"
    counts = sorted(_counts(losses), key=lambda pair: -pair[0])
    named = "; ".join(
        f"{shorten(one.text, SALIENT_LENGTH)} [{mark(one.turn)}]" for one in losses.named[:SALIENT]
    )
    most = max(WORDS, key=lambda section: losses.left_out.get(section, 0))
    ways = (hints.shown(one.turn for one in losses.named), hints.facts(KINDS[most]))
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
    return f"what changed in {count(number, 'file')} is not told" if number else ""


def show_losses(made: Compaction, hints: Hints, out: Console) -> None:
    """The whole report, for people."""
    if made.verdict is None:
        out.print(f"nothing was folded: {made.plan.reason}")
        return
    losses = made.losses
    if losses is None:
        out.print(
            f"the style {made.method} keeps no state behind its text and cannot say what it left "
            f"out; the probes can"
        )
    else:
        earlier = f", after {losses.earlier:,} of earlier compactions" if losses.earlier else ""
        out.print(
            f"folded: {losses.turns:,} turns, {losses.tokens:,} tokens{earlier}; the summary has "
            f"{made.summary_tokens:,} tokens"
        )
        _show_left_out(losses, hints, out)
    out.print()
    out.print(headline(made.verdict))
    show_failed(made.verdict, hints, out, all_of_them=True)
    show_strays(made.verdict, out)


def _show_left_out(losses: Losses, hints: Hints, out: Console) -> None:
    from kedgeline.summary import KINDS

    untold = _untold(losses)
    if not losses.left_out:
        out.print(untold or "nothing that is known of them was left out")
        return
    out.print("\nnot in the summary", style="bold")
    counts = table(">", "", "", each={"no_wrap": True}, show_header=False)
    for number, words, section in _counts(losses):
        counts.add_row(f"{number:,}", words, styled(f"--kind {KINDS[section]}", style="dim"))
    out.print(counts)
    if untold:
        out.print(untold)
    out.print(f"list a kind: {hints.facts('KIND')}", soft_wrap=True)
    if losses.named:
        out.print("\nthe most salient of it", style="bold")
        short = {"no_wrap": True}
        long = {"no_wrap": True, "overflow": "ellipsis", "ratio": 1}
        named = table(short, short, long, show_header=False, expand=True)
        for one in losses.named:
            turn = styled(mark(one.turn), style="bold cyan")
            named.add_row(turn, WORDS[one.section][0], shorten(one.text, LONGEST_LOST))
        out.print(named)
        if see := hints.shown(one.turn for one in losses.named):
            out.print(f"see one again: {see}", soft_wrap=True)
    if hints.older:
        out.print(hints.older)


def losses_as_json(losses: Losses | None) -> dict[str, Any] | None:
    if losses is None:
        return None
    found: dict[str, Any] = msgspec.to_builtins(losses)
    for one in found["named"]:
        one["turn"] = one["turn"] if one["turn"] >= 0 else None
    return found


class Judgement(NamedTuple):
    judged: Judged
    calls: tuple[ModelCall, ...]
    """What it took."""


def judge(asked: Asking, probes: Sequence[Probe], text: str) -> Judgement:
    """Have a model answer the probes and judge the text, under its terms."""
    from kedgeline.models import drive, guarded
    from kedgeline.pipeline.handoff import judged

    meter, clean = asked.meter(), make_redactor().clean
    step = guarded(judged(probes, text), asked.terms, model=asked.name, clean=clean, meter=meter)
    with watch_model(asked) as model:
        found = drive(step, model)
    return Judgement(found, meter.calls)


def judgement_as_json(done: Judgement) -> dict[str, Any]:
    """The keys below `judged` of `kedgeline probe --json`."""
    judged = done.judged
    right = {one.probe: one.passed for one in judged.graded}
    return {
        "answered_by": judged.answered_by,
        "score": _share(judged.answers),
        "graded_score": _share(judged.graded),
        "unanswered": judged.unanswered,
        "answers": [
            answer_as_json(one) | {"given": one.given, "graded": right.get(one.probe)}
            for one in judged.answers
        ],
        "by": judged.quality.by if judged.quality else None,
        "dimensions": _quality_as_json(judged.quality),
        "problems": judged.problems,
        "calls": [call_as_json(call) for call in done.calls],
    }


def _share(answers: Sequence[Answer]) -> float | None:
    return round_score(sum(one.passed for one in answers) / len(answers)) if answers else None


def show_judged(judged: Judged, out: Console) -> None:
    """Who answered and who judged."""
    out.print()
    if judged.answers:
        right = sum(one.passed for one in judged.answers)
        marked = sum(one.passed for one in judged.graded)
        line = f"{right:,} of {len(judged.answers):,} answers are right to the letter"
        if judged.graded:
            line += f", {marked:,} of {len(judged.graded):,} right as the judge marks them"
        if judged.unanswered:
            line += f"; no usable reply on {judged.unanswered:,} probes"
        out.print(f"{line}; answered by {shorten(judged.answered_by, NAME)}")
    else:
        out.print("the model gave no usable answer")
    if judged.quality is not None:
        out.print(f"judged by {shorten(judged.quality.by, NAME)}")
    for problem in judged.problems:
        out.print(f"warning: {harmless(problem)}", style="bold red")

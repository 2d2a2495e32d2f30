"""What the probes found, for people and for programs."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from math import floor
from typing import TYPE_CHECKING, Any

from kedge.cli.hints import Hints, mark, shortened
from kedge.cli.output import harmless

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    from kedge.model import Answer, DimensionScore, Quality, Verdict

FAILED_SHOWN = 12
"""Failed probes that are told one by one, unless all are asked for: a screen of them."""
STRAYS_SHOWN = 6
"""Lines without a fact that are shown; there are none but in a text that somebody changed."""
LONGEST = 240
"""Characters of an expected or a found text that are shown: enough to know it again."""
MARK = 5
"""Columns of a turn's mark."""
SCORE_DIGITS = 4
"""Of a score in JSON: more would only be noise."""
NOTHING_ASKED = "there was nothing to ask"


def floored(score: float) -> str:
    """With two digits, never rounded up: what misses the mark is not shown as having reached it."""
    return f"{floor(score * 100 + 1e-9) / 100:.2f}"


def result(verdict: Verdict) -> str:
    """What the probes found, in a line."""
    if verdict.score is None:
        return NOTHING_ASKED
    asked, failed = len(verdict.answers), len(verdict.failed)
    parts = [f"score {floored(verdict.score)}", f"{asked - failed:,} of {asked:,} pass"]
    critical = len(verdict.critical_failures)
    parts.append(_counted(critical, "critical failure") if critical else "no critical failure")
    if verdict.strays:
        parts.append(f"{_counted(len(verdict.strays), 'line')} held by no fact")
    if verdict.failed_first:
        parts.append(f"{verdict.repaired:,} of {verdict.failed_first:,} repaired")
    return ", ".join(parts)


def headline(verdict: Verdict) -> Text:
    from rich.text import Text

    if unasked(verdict):
        line = Text("NO SCORE", style="bold")
    elif verdict.accepted:
        line = Text("ACCEPTED", style="bold green")
    else:
        line = Text("NOT ACCEPTED", style="bold white on red")
    return line.append(f"  {result(verdict)}", style="not bold default on default")


def unasked(verdict: Verdict) -> bool:
    """Whether there is nothing to say: no probe was asked, and no line is without a fact."""
    return verdict.score is None and not verdict.strays


def reasons(verdict: Verdict) -> Iterator[str]:
    """Why a text is not accepted."""
    from kedge.model.probe import ACCEPTED

    if verdict.score is not None and verdict.score < ACCEPTED:
        yield f"the score must be {ACCEPTED:.2f} or more"
    if verdict.critical_failures:
        yield "no critical probe may fail"
    if verdict.strays:
        yield "every line must be held by a fact"


def dimensions_table(quality: Quality, judged: Quality | None = None) -> Table:
    """Targets and scores; a judge's scores have columns of their own."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("dimension", no_wrap=True)
    table.add_column("target", justify="right", no_wrap=True)
    scorers = {"by probes": quality} | ({"by the judge": judged} if judged else {})
    for name in scorers:
        table.add_column(name, justify="right", no_wrap=True)
        table.add_column("", no_wrap=True)
    for rows in zip(*(one.dimensions for one in scorers.values()), strict=True):
        name = rows[0].dimension.replace("_", " ")
        table.add_row(name, f"{rows[0].target:.1f}", *(cell for one in rows for cell in _met(one)))
    return table


def counts_table(
    answers: Sequence[Answer], columns: Mapping[str, Sequence[Answer]] | None = None
) -> Table:
    """Probes by type: how many were asked and passed, and of those in the further columns."""
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold", padding=(0, 2, 0, 0))
    table.add_column("probes", no_wrap=True)
    for name in ("asked", "pass", "fail", "critical fail", *(columns or ())):
        table.add_column(name, justify="right", no_wrap=True)
    asked = Counter(one.probe.type for one in answers)
    failed = Counter(one.probe.type for one in answers if not one.passed)
    critical = Counter(one.probe.type for one in answers if not one.passed and one.probe.critical)
    right = [
        Counter(one.probe.type for one in found if one.passed) for found in (columns or {}).values()
    ]
    for name, count in sorted(asked.items()):
        numbers = (count, count - failed[name], failed[name], critical[name])
        table.add_row(name, *(f"{n:,}" for n in (*numbers, *(one[name] for one in right))))
    return table


def show_failed(verdict: Verdict, hints: Hints, out: Console, *, all_of_them: bool) -> None:
    """The failed probes, critical ones first, with what is missing and where to see it."""
    failed = sorted(verdict.failed, key=lambda one: not one.probe.critical)
    if not failed:
        return
    shown = failed if all_of_them else failed[:FAILED_SHOWN]
    out.print(f"\nfailed: {len(failed):,}", style="bold red")
    for answer in shown:
        out.print(_told(answer))
    if len(shown) < len(failed):
        out.print(f"and {len(failed) - len(shown):,} more: --all shows every probe")
    turns = [one.probe.turn for one in shown]
    if see := hints.shown(turns):
        out.print(f"see the turn of a probe: {see}", markup=False, soft_wrap=True)
    if any(0 <= turn < hints.first for turn in turns):
        out.print(hints.older)


def show_strays(verdict: Verdict, out: Console) -> None:
    if not verdict.strays:
        return
    out.print(f"\nlines held by no fact: {len(verdict.strays):,}", style="bold red")
    for line in verdict.strays[:STRAYS_SHOWN]:
        out.print(f"  {shortened(line, LONGEST)}", markup=False)
    if len(verdict.strays) > STRAYS_SHOWN:
        out.print(f"  and {len(verdict.strays) - STRAYS_SHOWN:,} more: --json has them all")


def every_probe(answers: Sequence[Answer]) -> Table:
    """All probes, a line each; `!` stands at critical ones."""
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, header_style="bold", expand=True)
    table.add_column("", width=2)
    table.add_column("turn", no_wrap=True)
    table.add_column("type", no_wrap=True)
    table.add_column("question", no_wrap=True, overflow="ellipsis", ratio=1)
    table.add_column("expected", no_wrap=True, overflow="ellipsis", ratio=1)
    for one in answers:
        probe = one.probe
        sign = Text("✓", style="green") if one.passed else Text("✗", style="bold red")
        table.add_row(
            sign.append("!" if probe.critical else " "),
            Text(mark(probe.turn), style="bold cyan"),
            probe.type,
            Text(shortened(probe.question, LONGEST)),
            Text(shortened(" · ".join(probe.expected), LONGEST)),
        )
    return table


def as_json(verdict: Verdict | None) -> dict[str, Any]:
    """The verdict in short, for `kedge compact --json`."""
    from kedge.model import Verdict as Empty

    found = verdict or Empty()
    return {
        "score": rounded(found.score),
        "accepted": None if unasked(found) else found.accepted,
        "asked": len(found.answers),
        "failed": len(found.failed),
        "critical_failures": len(found.critical_failures),
        "failed_first": found.failed_first,
        "repaired": found.repaired,
        "strays": list(found.strays),
        "by": found.quality.by if found.quality else "probes",
        "dimensions": quality_as_json(found.quality),
    }


def answer_as_json(answer: Answer) -> dict[str, Any]:
    probe = answer.probe
    return {
        "type": probe.type,
        "matter": probe.matter,
        "question": probe.question,
        "expected": list(probe.expected),
        "found": list(answer.found),
        "passed": answer.passed,
        "critical": probe.critical,
        "turn": probe.turn if probe.turn >= 0 else None,
    }


def quality_as_json(quality: Quality | None) -> dict[str, Any]:
    """By dimension: score, target and criteria."""
    from msgspec import to_builtins

    return {
        one.dimension: {
            "score": rounded(one.score),
            "target": one.target,
            "criteria": [
                to_builtins(criterion) | {"score": rounded(criterion.score)}
                for criterion in one.criteria
            ],
        }
        for one in (quality.dimensions if quality else ())
    }


def rounded(score: float | None) -> float | None:
    return None if score is None else round(score, SCORE_DIGITS)


def _told(answer: Answer) -> Table:
    """A failed probe: its question, what is expected, what of it stands there."""
    from rich.console import Group
    from rich.table import Table
    from rich.text import Text

    probe = answer.probe
    asked = Text("critical ", style="bold red") if probe.critical else Text()
    asked.append(f"{probe.type}: {harmless(probe.question)}", style="not bold default")
    parts = Table.grid(padding=(0, 1, 0, 0))
    parts.add_column(style="dim", no_wrap=True)
    parts.add_column(overflow="fold")
    found = " · ".join(answer.found) or "nothing of it"
    for name, words in (("expected", " · ".join(probe.expected)), ("found", found)):
        parts.add_row(name, Text(shortened(words, LONGEST)))
    told = Table.grid(padding=(0, 1, 0, 0))
    told.add_column(style="bold cyan", width=MARK, no_wrap=True)
    told.add_column()
    told.add_row(mark(probe.turn), Group(asked, parts))
    return told


def _counted(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def _met(one: DimensionScore) -> tuple[str, Text]:
    """A score, and whether it reaches its target."""
    from rich.text import Text

    if one.score is None:
        return "–", Text("not asked", style="dim")
    if one.score < one.target:
        return floored(one.score), Text("MISSED", style="bold red")
    return floored(one.score), Text("met", style="green")

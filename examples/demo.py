"""`make demo`: a long session, what a compaction keeps of it, and what can be found again."""

from __future__ import annotations

import tempfile
import textwrap
import time
from pathlib import Path

from rich.console import Console

from kedgeline import Compaction, Session, stats_of, stream
from kedgeline.tokens import EXACT

SAMPLE = Path(__file__).with_name("claude-code-long.jsonl")
WINDOW = 32_000
LOST = "migration by hand"
"""What somebody asks about turns that were folded."""
ASKED = ("rule", "modified", "decision", "check", "open error")
"""Matters of probes, one question shown of each."""

out = Console(highlight=False)


def heading(number: int, text: str) -> None:
    out.print(f"\n[bold]{number}. {text}[/bold]")


def said(text: str, style: str = "") -> None:
    width = min(out.width, 100)
    told = textwrap.wrap(text, width, initial_indent="   ", subsequent_indent="     ")
    out.print("\n".join(told), style=style, markup=False, soft_wrap=True)


def shortened(text: str, characters: int = 160) -> str:
    return textwrap.shorten(text.strip("-* "), characters, placeholder=" …")


def show_session() -> None:
    stats = stats_of(stream(SAMPLE), EXACT)
    heading(1, "The session")
    said(f"{SAMPLE.name}: two days of Claude Code on the booking service of a harbour")
    calls = stats.tool_calls["total"]
    said(f"{stats.turns} turns, {calls} tool calls; the next window is {WINDOW:,} tokens")


def show_compaction(done: Compaction, seconds: float) -> None:
    folded = done.plan.cut
    heading(2, f"The compaction, {seconds:.1f} seconds, no language model")
    said(f"folded: {folded} old turns into {done.summary_tokens:,} tokens")
    masked = len(done.plan.masked)
    said(f"kept:   all turns since, as they were, but for {masked} old outputs that are masked")
    heading(3, "What the summary says, a few lines of it")
    for name in ("Standing Instructions", "Decisions Made", "Current State"):
        lines = done.summary.partition(f"## {name}\n")[2].partition("\n## ")[0].splitlines()
        out.print(f"   [bold cyan]{name}[/bold cyan]")
        for line in lines[:2]:
            said(f"- {shortened(line)}")


def show_questions(done: Compaction) -> None:
    heading(4, "Questions about the folded turns, answered from the summary alone")
    for matter in ASKED:
        for answer in done.verdict.answers:
            if answer.probe.matter == matter and answer.passed:
                said(answer.probe.question, "bold")
                said(shortened(" · ".join(answer.found)))
                break


def show_original(session: Session) -> None:
    heading(5, f"An original, found again: kedgeline recall '{LOST}'")
    found = session.recall(LOST)[0]
    said(f"{found.mark} · {found.title}", "cyan")
    for line in found.lines[:2]:
        said(shortened(line.text))


def main() -> None:
    show_session()
    with (
        tempfile.TemporaryDirectory() as folder,
        Session.open("harbor", folder, window=WINDOW) as session,
    ):
        session.follow(SAMPLE)
        begun = time.perf_counter()
        done = session.compact()
        show_compaction(done, time.perf_counter() - begun)
        show_questions(done)
        show_original(session)
        heading(6, "The result")
        verdict = done.verdict
        passed = len(verdict.answers) - len(verdict.failed)
        said(
            f"freed:  {done.context_reduction:.0%} of the context, "
            f"{done.tokens_before:,} tokens became {done.tokens_after:,}"
        )
        said(
            f"probes: {passed} of {len(verdict.answers)} questions answered, "
            f"{len(verdict.critical_failures)} critical ones missed"
        )
        said(
            "lost:   nothing; every original is kept, and this compaction is undone by one command"
        )


if __name__ == "__main__":
    main()

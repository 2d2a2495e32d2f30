"""The loss report of a compaction: what is not in the summary, and how to see it again."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from kedge.cli.hints import Hints, mark, shortened
from kedge.cli.verdict import headline, show_failed, show_strays

if TYPE_CHECKING:
    from rich.console import Console
    from rich.table import Table

    from kedge.model import Compaction, Losses, SectionName

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
SALIENT = 3
"""Entries that the one line names; the report has more."""
SALIENT_LENGTH = 48
"""Characters of each of them."""
LONGEST = 400
"""Characters of an entry in the table, which cuts them to its width."""


def in_short(losses: Losses, hints: Hints) -> str:
    """What was left out, in a line."""
    untold = _untold(losses)
    if not losses.left_out:
        return f"left out: {untold or 'nothing that is known of the folded turns'}"
    from kedge.summary import KINDS

    named = "; ".join(
        f"{shortened(one.text, SALIENT_LENGTH)} [{mark(one.turn)}]"
        for one in losses.named[:SALIENT]
    )
    most = max(WORDS, key=lambda section: losses.left_out.get(section, 0))
    ways = (hints.shown(one.turn for one in losses.named), hints.facts(KINDS[most]))
    parts = (
        f"left out: {', '.join(_counts(losses))}",
        untold,
        f"most salient: {named}" if named else "",
        f"see them with {' or '.join(way for way in ways if way)}",
        hints.older,
        "--losses tells more",
    )
    return "; ".join(part for part in parts if part)


def show_losses(made: Compaction, hints: Hints, out: Console) -> None:
    """The whole report, for people."""
    if made.verdict is None:
        out.print(f"nothing was folded: {made.plan.reason}", markup=False)
        return
    losses = made.losses
    if losses is None:
        out.print(
            f"the style {made.method} keeps no state behind its text and cannot say what it left "
            f"out; the probes can",
            markup=False,
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


def as_json(losses: Losses | None) -> dict[str, Any] | None:
    from msgspec import to_builtins

    if losses is None:
        return None
    named = [
        {"section": one.section, "text": one.text, "turn": one.turn if one.turn >= 0 else None}
        for one in losses.named
    ]
    found: dict[str, Any] = to_builtins(losses)
    return found | {"named": named}


def _show_left_out(losses: Losses, hints: Hints, out: Console) -> None:
    untold = _untold(losses)
    if not losses.left_out:
        out.print(untold or "nothing that is known of them was left out")
        return
    out.print("\nnot in the summary", style="bold")
    out.print(_sections(losses))
    if untold:
        out.print(untold)
    out.print(f"list a kind: {hints.facts('KIND')}", markup=False, soft_wrap=True)
    if losses.named:
        out.print("\nthe most salient of it", style="bold")
        out.print(_named(losses))
        if see := hints.shown(one.turn for one in losses.named):
            out.print(f"see one again: {see}", markup=False, soft_wrap=True)
    if hints.older:
        out.print(hints.older)


def _sections(losses: Losses) -> Table:
    """Counts by section, with the kind of facts that tells all of it."""
    from rich.table import Table
    from rich.text import Text

    from kedge.summary import KINDS

    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0))
    table.add_column(justify="right", no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    for section, (one, many) in WORDS.items():
        if count := losses.left_out.get(section, 0):
            words = one if count == 1 else many
            table.add_row(f"{count:,}", words, Text(f"--kind {KINDS[section]}", style="dim"))
    return table


def _named(losses: Losses) -> Table:
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, show_header=False, padding=(0, 2, 0, 0), expand=True)
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True)
    table.add_column(no_wrap=True, overflow="ellipsis", ratio=1)
    for one in losses.named:
        table.add_row(
            Text(mark(one.turn), style="bold cyan"),
            WORDS[one.section][0],
            Text(shortened(one.text, LONGEST)),
        )
    return table


def _untold(losses: Losses) -> str:
    """Files that are named without what changed in them, in words; empty where there are none."""
    if not losses.undetailed:
        return ""
    files = "1 file" if losses.undetailed == 1 else f"{losses.undetailed:,} files"
    return f"what changed in {files} is not told"


def _counts(losses: Losses) -> Iterator[str]:
    """The largest first."""
    found = ((losses.left_out.get(section, 0), words) for section, words in WORDS.items())
    for count, (one, many) in sorted(found, key=lambda pair: -pair[0]):
        if count:
            yield f"{count:,} {one if count == 1 else many}"

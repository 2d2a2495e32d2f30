"""What a model made of a compaction, and what it would be sent."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kedge.cli.asking import Asking, call_as_json, cost_of, spent_in_short
from kedge.cli.hints import shortened
from kedge.cli.output import console, harmless, write_json

if TYPE_CHECKING:
    from kedge.model import Ask, Wording

DryRun = Annotated[
    bool,
    typer.Option(
        "--dry-run",
        help="Only show what the model would be sent, in tokens and money; nothing is sent or "
        "written down.",
    ),
]
NAME = 60
"""Characters of a model's name for people: that of one at an address of its own may be long."""
SENT_NOWHERE = "nothing was sent, and nothing was written down"


def as_json(wording: Wording | None) -> dict[str, Any] | None:
    """The key `wording` of `kedge compact --json`."""
    if wording is None:
        return None
    return {
        "model": wording.model,
        "outcome": wording.outcome,
        "taken": wording.taken,
        "fallback": wording.fallback,
        "why": wording.why,
        "not_taken": wording.not_taken,
        "dropped": [{"text": one.text, "why": one.why} for one in wording.dropped],
        "requests": wording.requests,
        "calls": [call_as_json(call) for call in wording.calls],
        "prompts": list(wording.prompts),
    }


def report(wording: Wording) -> None:
    """What was taken and what was not, for people."""
    name = shortened(wording.model, NAME)
    parts = [f"{wording.taken:,} entries of {name} taken", *_dropped(wording)]
    if wording.calls:
        parts.append(spent_in_short(wording.calls))
    typer.echo(f"model: {harmless('; '.join(parts))}", err=True)


def _dropped(wording: Wording) -> list[str]:
    if not wording.dropped:
        return []
    counts = Counter(one.why for one in wording.dropped)
    why = ", ".join(f"{count:,} {reason}" for reason, count in counts.most_common())
    return [f"{wording.not_taken:,} not ({why})"]


def rehearse(asks: Sequence[Ask], asked: Asking, *, json: bool) -> None:
    """What would be sent, a line for each request."""
    meter = asked.meter()
    needs = [meter.needs(ask) for ask in asks]
    costs = [cost_of(asked.name, need) for need in needs]
    if json:
        write_json(
            {
                "model": asked.name,
                "requests": [
                    {"tokens": need.input, "most_reply_tokens": need.output, "cost": cost}
                    for need, cost in zip(needs, costs, strict=True)
                ],
                "tokens": sum(need.input for need in needs),
                "cost": _sum(costs),
                "repaired_cost": _sum([*costs, *costs]),
            }
        )
        return
    _table(asked.name, [(one.input, one.output) for one in needs], costs)


def _table(name: str, needs: Sequence[tuple[int, int]], costs: Sequence[float | None]) -> None:
    from rich.table import Table

    out = console()
    if not needs:
        out.print("nothing would be folded, so that nothing would be sent", markup=False)
        return
    table = Table(title=harmless(f"what {shortened(name, NAME)} would be sent"))
    for heading in ("request", "tokens", "reply at most", "costs at most"):
        table.add_column(heading, justify="right")
    for number, ((sent, reply), cost) in enumerate(zip(needs, costs, strict=True), 1):
        table.add_row(f"{number}", f"{sent:,}", f"{reply:,}", _dollars(cost))
    sent, reply = (sum(column) for column in zip(*needs, strict=True))
    table.add_section()
    table.add_row("all", f"{sent:,}", f"{reply:,}", _dollars(_sum(costs)))
    out.print(table)
    typer.echo(
        f"{SENT_NOWHERE}; a reply that cannot be used is asked for once more: then all of it "
        f"costs up to {_dollars(_sum([*costs, *costs]))}",
        err=True,
    )


def _sum(costs: Sequence[float | None]) -> float | None:
    """None where one of them is not known."""
    known = [cost for cost in costs if cost is not None]
    return sum(known) if known and len(known) == len(costs) else None


def _dollars(cost: float | None) -> str:
    return "not known" if cost is None else f"${cost:.4f}"

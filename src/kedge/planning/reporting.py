"""A plan as data: what is kept and folded, why, and what would help where that is not enough."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kedge.model import Plan, Repeat, Span, Turn
from kedge.planning.attempts import Attempt, Work
from kedge.planning.selection import Bounds, Cut

WORTH_NAMING = 0.1
"""Share of the target from which on a single thing is named as what would help."""


def planned(attempt: Attempt, work: Work, limits: Bounds, forbidden: Mapping[int, str]) -> Plan:
    turns, cut = work.turns, attempt.cut
    repeated = work.repeated(attempt)
    over = max(0, attempt.tokens - work.budget.target)
    folds = cut.position > work.start
    return Plan(
        cut=cut.position,
        folded=_span(work, work.start, cut.position, "older than the cut") if folds else (),
        kept=tuple(_kept(attempt, work, limits)),
        masked=attempt.masked,
        repeated=repeated,
        anchor=cut.anchor.turn_index if cut.anchor else None,
        reason=_why_here(cut, forbidden) if folds else _why_nothing(work, limits, forbidden),
        tokens_before=work.before,
        tokens_kept=attempt.tokens - attempt.summary,
        summary_room=attempt.summary,
        excess=over,
        advice=tuple(_advice(repeated, work, turns[cut.position :])) if over else (),
    )


def _span(work: Work, first: int, end: int, reason: str) -> tuple[Span, ...]:
    if first >= end:
        return ()
    turns = work.turns
    tokens = work.sizes.between(first, end)
    return (
        Span(first=turns[first].index, last=turns[end - 1].index, tokens=tokens, reason=reason),
    )


def _kept(attempt: Attempt, work: Work, limits: Bounds) -> Iterator[Span]:
    """What stays: from the anchor to the recent window, and the recent window."""
    cut, end = attempt.cut, len(work.turns)
    recent = max(cut.position, limits.recent)
    why = "from the latest anchor on" if cut.anchor else "cannot be parted from what follows"
    if cut.position == work.start:
        why = "there is nothing to gain by folding it"
    yield from _span(work, cut.position, recent, why)
    yield from _span(work, recent, end, "recent window")


def _why_here(cut: Cut, forbidden: Mapping[int, str]) -> str:
    """Why the cut is where it is, and what it parts where a rule had to give way."""
    rule = forbidden.get(cut.position)
    return (
        f"{cut.reason}; else nothing fits, so that a rule gave way: {rule}" if rule else cut.reason
    )


def _why_nothing(work: Work, limits: Bounds, forbidden: Mapping[int, str]) -> str:
    """Why no turn is folded."""
    start, new = work.start, len(work.turns) - work.start
    if not new:
        return "there are no new turns"
    if limits.latest <= start:
        if new > work.budget.recent_turns:
            return f"all {new} turns wait for results of their calls"
        return f"all {new} turns belong to the recent window"
    if not work.before:
        return "the turns have not been counted: read them with a counter"
    if limits.recent <= start:
        return f"all {new} turns fit the recent window"
    if all(cut in forbidden for cut in range(start + 1, limits.recent + 1)):
        return f"the turns before the recent window cannot be parted: {forbidden[limits.recent]}"
    return "what can be folded is too small for a summary to be shorter"


def _advice(repeated: Sequence[Repeat], work: Work, kept: Sequence[Turn]) -> Iterator[str]:
    """The largest things that stay, and how to be rid of them."""
    least = max(1, int(work.budget.target * WORTH_NAMING))
    request = sum(one.tokens for one in repeated if one.what == "request")
    rules = sum(one.tokens for one in repeated if one.what != "request")
    if request >= least:
        yield f"the current request has {request:,} tokens: give long material as a file"
    if rules >= least:
        yield f"instructions take {rules:,} tokens: shorten the rules files"
    for turn in sorted(kept, key=lambda turn: -turn.tokens)[:3]:
        if turn.tokens >= least:
            yield f"t{turn.index}, one of the newest turns, has {turn.tokens:,} tokens"
    yield "a larger window"

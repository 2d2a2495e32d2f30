"""The summary made to fit: what weighs least goes first, and what went is counted."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence

from msgspec.structs import replace

from kedge.model import WEIGHTS, PreservationContext
from kedge.summary.outcomes.lines import Line, LineKind
from kedge.summary.outcomes.text import Outcomes, render

Count = Callable[[str], int]
"""Tokens of a text."""

RANKS: dict[LineKind, int] = {"user": 0, "anchor": 1, "task": 2}
"""The user's words before anchors, these before all else."""
SLACK = 2
"""Lines counted one by one come to more tokens than together, but never to so many times more."""


def fitted(lines: Sequence[Line], room: int, count: Count) -> tuple[Line, ...]:
    """The lines that a room has place for, in their order. What a smaller room holds, a larger one
    holds too."""
    return fit(Outcomes(lines=tuple(lines)), room, count).lines


def fit(outcomes: Outcomes, room: int, count: Count) -> Outcomes:
    """The outcomes in so many tokens. The context goes last, its oldest parts before the newest.

    What cannot be made to fit comes back with nothing but the count of what was left out.
    """
    order = _order(outcomes.lines)
    most = _within(outcomes.lines, order, SLACK * room, count)
    if most == len(order) and count(render(outcomes)) <= room:
        return outcomes
    sizes = range(min(most, len(order) - 1) + 1)
    fitting = bisect_right(sizes, room, key=lambda k: count(render(_first(outcomes, order, k))))
    bare = _first(outcomes, order, max(0, fitting - 1))
    if fitting:
        return bare
    shorter = (replace(bare, context=context) for context in _shorter(outcomes.context))
    least = Outcomes(left_out=bare.left_out)
    return next((one for one in shorter if count(render(one)) <= room), least)


def _order(lines: Sequence[Line]) -> list[int]:
    """Positions of the lines, the weightiest first; among equals the newer (R12)."""

    def weight(position: int) -> tuple[int, float, int]:
        line = lines[position]
        anchor = WEIGHTS[line.anchor] if line.anchor else 0.0
        return RANKS.get(line.kind, len(RANKS)), -anchor, -position

    return sorted(range(len(lines)), key=weight)


def _within(lines: Sequence[Line], order: Iterable[int], room: int, count: Count) -> int:
    """How many lines at the most can have a place: an upper bound, so that texts are counted whole
    only near their right size."""
    taken = spent = 0
    for position in order:
        spent += count(lines[position].text)
        if spent > room:
            break
        taken += 1
    return taken


def _first(outcomes: Outcomes, order: Sequence[int], number: int) -> Outcomes:
    """So many of the weightiest lines, the others counted."""
    kept = set(order[:number])
    lines = outcomes.lines
    gone = [line for position, line in enumerate(lines) if position not in kept]
    return replace(
        outcomes,
        lines=tuple(lines[position] for position in sorted(kept)),
        left_out=outcomes.left_out + _turns_of(gone),
    )


def _turns_of(lines: Iterable[Line]) -> int:
    """Turns that lines speak of, each counted once; a line that names none counts as one."""
    total, reached = 0, -1
    for line in sorted(lines, key=lambda line: line.first):
        total += 1 if line.first < 0 else max(0, line.last - max(line.first, reached + 1) + 1)
        reached = max(reached, line.last)
    return total


def _shorter(context: PreservationContext) -> Iterator[PreservationContext]:
    """The context with less and less in it: files go first, the intent last."""
    for field in ("active_files", "error_states", "current_goals"):
        while items := getattr(context, field):
            context = replace(context, **{field: items[1:]})
            yield context
    yield replace(context, build_status="unknown")

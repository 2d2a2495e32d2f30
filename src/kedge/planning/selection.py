"""Where to cut: on the latest anchor where the budget allows, else on the next one, else on the
recent window."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from typing import NamedTuple

from kedge.model import Anchor, Budget, Turn
from kedge.planning.rules import REACH


class Cut(NamedTuple):
    position: int
    """Turns before it are folded."""
    reason: str
    anchor: Anchor | None = None


class Sizes:
    """Tokens of any run of turns, after one pass."""

    def __init__(self, turns: Sequence[Turn]) -> None:
        self._sums = [0, *accumulate(turn.tokens for turn in turns)]

    def between(self, first: int, end: int) -> int:
        return self._sums[end] - self._sums[first] if end > first else 0


class Bounds(NamedTuple):
    """Between which positions the cut may move."""

    start: int
    """Turns before it were folded earlier."""
    recent: int
    """Where the recent window begins."""
    latest: int
    """Where the turns begin that stay whatever they cost."""


def bounds(turns: Sequence[Turn], budget: Budget, sizes: Sizes, *, start: int = 0) -> Bounds:
    end = len(turns)
    latest = max(start, min(end - budget.recent_turns, _in_flight(turns)))
    recent = latest
    while recent > start and sizes.between(recent - 1, end) <= budget.recent:
        recent -= 1
    return Bounds(start, recent, latest)


def candidates(turns: Sequence[Turn], anchors: Sequence[Anchor], bounds: Bounds) -> Iterator[Cut]:
    """Cuts that fold something and leave the recent window whole, in the order in which they are
    tried.

    R4: the first is the latest anchor, or the recent window where that begins earlier."""
    base, natural = _natural(turns, anchors)
    latest = max(natural, default=None)
    if latest is not None and bounds.start < latest <= bounds.recent:
        yield Cut(latest, f"the latest anchor is t{latest + base}", natural[latest])
    if bounds.recent > bounds.start:
        yield Cut(bounds.recent, _why_recent(latest, bounds, base), natural.get(bounds.recent))


def further(turns: Sequence[Turn], anchors: Sequence[Anchor], bounds: Bounds) -> Iterator[Cut]:
    """Cuts that make the recent window smaller: on the anchors in it, then on every turn, up to
    those that always stay."""
    _, natural = _natural(turns, anchors)
    positions = range(max(bounds.recent, bounds.start) + 1, bounds.latest + 1)
    for position in (*(p for p in positions if p in natural), *positions):
        yield Cut(position, "the recent window had to shrink", natural.get(position))


def allowed(cuts: Iterator[Cut], forbidden: Mapping[int, str], start: int) -> Iterator[Cut]:
    """The same cuts moved to where the provider's rules let them be, each position once.

    A cut moves back, so that more is kept rather than less; where that would be to `start` or
    before it, it is left out. No more than `REACH` cuts in a row are forbidden, so that the way
    back is short."""
    seen: set[int] = set()
    for cut in cuts:
        position, why = cut.position, ""
        while position > start and (rule := forbidden.get(position)):
            position, why = position - 1, why or rule
        if position > start and position not in seen:
            seen.add(position)
            yield cut if not why else Cut(position, f"{cut.reason}; moved back, as {why}")


def _why_recent(latest: int | None, bounds: Bounds, base: int) -> str:
    if latest is None:
        return "there is no anchor: the recent window begins here"
    if latest > bounds.recent:
        return f"the latest anchor, t{latest + base}, lies in the recent window, which begins here"
    if latest <= bounds.start:
        return f"nothing lies before the latest anchor, t{latest + base}: the recent window begins"
    return f"from the latest anchor on, t{latest + base}, too much would stay: the recent window"


def _natural(turns: Sequence[Turn], anchors: Sequence[Anchor]) -> tuple[int, dict[int, Anchor]]:
    """Index of the first turn, and the anchors that were found by their position."""
    base = turns[0].index if turns else 0
    return base, {one.turn_index - base: one for one in anchors if not one.synthetic}


def _in_flight(turns: Sequence[Turn]) -> int:
    """Where the turns begin that wait for results: the last ones, each with a call that nothing
    answers. Where more than `REACH` would wait, the client writes no results down, and none is
    waited for."""
    end = len(turns)
    answered: set[str] = set()
    for position in range(end, max(0, end - REACH - 1), -1):
        turn = turns[position - 1]
        answered.update(result.call_id for result in turn.tool_results)
        if all(call.id in answered for call in turn.tool_calls):
            return position
    return 0 if end <= REACH else end

"""Making a plan: fold, mask, shorten, until the budget is kept or no step is left."""

from __future__ import annotations

from collections.abc import Sequence

from kedge.model import Anchor, Budget, Masked, Plan, Turn
from kedge.planning.attempts import Count, Work
from kedge.planning.masking import maskable
from kedge.planning.reporting import planned
from kedge.planning.rules import EVERYWHERE, Rule, forbidden
from kedge.planning.selection import allowed, bounds, candidates
from kedge.tokens import Estimate, media_tokens

ESTIMATE = Estimate()
"""Counts texts where no counter is given; turns carry their own count."""


def make_plan(
    turns: Sequence[Turn],
    anchors: Sequence[Anchor],
    budget: Budget,
    *,
    rules: Sequence[Rule] = EVERYWHERE,
    count: Count = ESTIMATE.count,
    start: int = 0,
    earlier: int = 0,
    masked: Sequence[Masked] = (),
    masking: bool = False,
    asked: bool = False,
    fixed: int = 0,
) -> Plan:
    """What to keep, fold and mask of a conversation, and why. Nothing happens yet.

    `start` is the first turn that no earlier compaction folded, `earlier` the tokens of what stands
    for those before it, `masked` what that compaction masked. `masking` masks old outputs even
    where the budget is kept. `asked` tells that words of the user wait for an answer. `fixed`
    tokens of the context are in no turn: the system prompt, the tools, words that wait.
    """
    work = Work(
        turns,
        budget,
        count,
        start=start,
        earlier=earlier,
        asked=asked,
        masked=masked,
        fixed=fixed,
    )
    limits = bounds(turns, budget, work.sizes, start=start)
    forbids = forbidden(turns, rules)
    possible = allowed(candidates(turns, anchors, limits), forbids, start)
    attempts = [one for cut in possible if (one := work.attempt(cut)) is not None]
    attempt = work.folded([one for one in attempts if one.cut.position <= limits.recent])
    task = _task(turns, anchors)
    old = list(
        maskable(
            turns[attempt.cut.position :], count=count, task_from=task, count_media=media_tokens
        )
    )
    attempt = attempt.masking(old) if masking else work.masked_enough(attempt, old)
    if not work.fits(attempt):
        later = (one for one in attempts if one.cut.position > attempt.cut.position)
        attempt = work.shrunk(attempt, later)
    attempt = work.squeezed(work.shortened(attempt))
    return planned(attempt, work, limits)


def _task(turns: Sequence[Turn], anchors: Sequence[Anchor]) -> int:
    """Index of the turn the current task begins with: behind the last anchor of the exchange that
    is under way, or with that exchange."""
    first = len(turns)
    while first and turns[first - 1].exchange == turns[-1].exchange:
        first -= 1
    begun = turns[first].index if turns else 0
    done = [anchor.turn_index + 1 for anchor in anchors if not anchor.synthetic]
    return max([begun, *done[-1:]])

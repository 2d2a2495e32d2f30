"""Making a plan: fold, mask, shorten, until the budget is kept or no step is left."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kedge.model import Anchor, Budget, Masked, Plan, Turn
from kedge.planning.attempts import Attempt, Count, Work
from kedge.planning.masking import maskable
from kedge.planning.notices import FILE
from kedge.planning.reporting import planned
from kedge.planning.requests import request_from
from kedge.planning.rules import EVERYWHERE, Rule, forbidden
from kedge.planning.selection import Bounds, allowed, bounds, candidates, further
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
    pending: Turn | None = None,
    fixed: int = 0,
    name: str = FILE,
) -> Plan:
    """What to keep, fold and mask of a conversation, and why. Nothing happens yet.

    `start` is the position of the first turn that no earlier compaction folded, `earlier` the
    tokens of what stands for those before it, `masked` what that compaction masked. `masking` masks
    old outputs even where the budget is kept. `pending` are words of the user that wait for an
    answer; their tokens are no part of the budget. `fixed` tokens of the context are in no turn:
    the system prompt, the tools, words that wait. `name` is the session's, by which `kedge show`
    knows it.
    """
    work = Work(
        turns,
        budget,
        count,
        start=start,
        earlier=earlier,
        pending=pending,
        masked=masked,
        fixed=fixed,
        name=name,
    )
    limits = bounds(turns, budget, work.sizes, start=start)
    strict = forbids = forbidden(turns, rules)
    best = _attempt(work, anchors, limits, forbids, masking=masking)
    for held in range(len(rules) - 1, -1, -1):
        if best.tokens <= budget.usable:
            break
        last, forbids = forbids, forbidden(turns, rules[:held])
        if forbids != last:
            looser = _attempt(work, anchors, limits, forbids, masking=masking)
            best = min(best, looser, key=lambda one: one.tokens)
    return planned(best, work, limits, strict)


def _attempt(
    work: Work,
    anchors: Sequence[Anchor],
    limits: Bounds,
    forbids: Mapping[int, str],
    *,
    masking: bool,
) -> Attempt:
    """The best that can be done under some rules. What would not fit its window under all of them
    is tried again without the weakest: a list that can be sent is worth more."""
    turns, count = work.turns, work.count
    attempt = work.folded(allowed(candidates(turns, anchors, limits), forbids, work.start))
    kept, task = turns[attempt.cut.position :], _task(turns, anchors)
    old = list(
        maskable(kept, count=count, task_from=task, count_media=media_tokens, name=work.name)
    )
    attempt = attempt.masking(old) if masking else work.masked_enough(attempt, old)
    later = allowed(further(turns, anchors, limits), forbids, limits.recent)
    return work.squeezed(work.shortened(work.shrunk(attempt, later)))


def _task(turns: Sequence[Turn], anchors: Sequence[Anchor]) -> int:
    """Index of the turn the current task begins with: behind the last anchor of the request that
    is under way, or with that request."""
    begun = turns[request_from(turns)].index if turns else 0
    done = [anchor.turn_index + 1 for anchor in anchors if not anchor.synthetic]
    return max([begun, *done[-1:]])

"""Whether to compact now, from what the store knows at once; turns are looked at only where an
anchor among them could decide."""

from __future__ import annotations

from msgspec.structs import replace

from kedge.anchors import Finder
from kedge.living.adding import Keeping
from kedge.living.journal import Journal
from kedge.living.showing import in_force, pinned_beside
from kedge.living.values import Recorded
from kedge.model import Rates
from kedge.planning import Decision, Policy, Signals, should_compact
from kedge.planning.policy import reached
from kedge.tokens import overhead_tokens


class Watch:
    """Remembers the anchors since the last compaction, so that each turn is looked at once, and
    the last decision."""

    def __init__(self) -> None:
        self._finder = Finder()
        self._since = self._next = 0
        self._newest: str | None = None
        self.last: Decision | None = None

    def trigger(self) -> str:
        """What the last decision says made a compaction begin; it is asked once."""
        decision, self.last = self.last, None
        return decision.trigger if decision is not None and decision.compacts else ""

    def newest(self, journal: Journal, since: int) -> str | None:
        """What the newest anchor is, among the turns from an index on."""
        count = journal.count()
        if since != self._since or count < self._next:
            self._finder, self._newest = Finder(), None
            self._since = self._next = since
        for turn in journal.turns(self._next, count - 1) if count > self._next else ():
            anchor = self._finder.add(turn)
            self._newest = anchor.description if anchor else self._newest
        self._next = count
        return self._newest


def context_tokens(journal: Journal, done: Recorded | None, pinned: int = 0) -> int:
    """Of the conversation as it would be sent now."""
    waiting = sum(entry.tokens for entry in journal.waiting())
    total = journal.tokens() + waiting + pinned
    if done is None:
        return total
    plan = done.compaction.plan
    place = journal.place(plan.cut)
    folded = place.before if place else journal.tokens()
    masked = sum(one.tokens_before - one.tokens_after for one in plan.masked)
    return total - folded - masked + done.leads


def decided(journal: Journal, signals: Signals, policy: Policy, watch: Watch) -> Decision:
    """The decision, with a task that was finished where that could be a reason."""
    decision = should_compact(signals, policy)
    usable = signals.usable(policy)
    since = signals.history.tokens_since
    near = signals.context_tokens >= reached(policy.target, usable)
    if decision.compacts or not usable or not near or since < reached(policy.boundary, usable):
        return decision
    first = journal.count() - signals.history.turns_since
    anchor = watch.newest(journal, max(0, first))
    if anchor is None:
        return decision
    return should_compact(
        replace(signals, history=replace(signals.history, anchor_since=anchor)), policy
    )


def decision_on(
    journal: Journal,
    keeping: Keeping,
    policy: Policy,
    watch: Watch,
    *,
    window: int,
    rates: Rates | None,
    manual: bool,
    remaining_turns: int | None,
) -> Decision:
    """The decision on a session as it is now; the watch remembers it."""
    done = in_force(journal)
    pinned = sum(map(keeping.counter.count, pinned_beside(journal, done)))
    signals = Signals(
        context_tokens=context_tokens(journal, done, pinned),
        window=window,
        overhead=overhead_tokens(journal.about(), keeping.counter),
        history=journal.history(),
        manual=manual,
        turns=journal.count(),
        remaining_turns=remaining_turns,
        rates=rates,
    )
    watch.last = decided(journal, signals, policy, watch)
    return watch.last

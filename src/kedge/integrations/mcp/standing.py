"""The summary of a living session as it stands: what was folded, and what came since."""

from __future__ import annotations

from kedge.earlier import earlier_summary, told
from kedge.facts import facts_of
from kedge.living.journal import Journal
from kedge.living.region import Clean, Region, for_compaction
from kedge.model import Summary
from kedge.summary import merged


def standing_summary(journal: Journal, clean: Clean, *, window: int) -> Summary:
    """What the compaction that stands knows, with the facts of all turns since. Nothing is written,
    and no more is loaded than for a compaction into a window of so many tokens."""
    standing = journal.recorded()
    done = standing.record.compaction if standing else None
    region = for_compaction(journal, done, window=window, clean=clean)
    first = region.previous.plan.cut if region.previous else 0
    since = (fact for fact in facts_of(region.transcript) if fact.turn >= first)
    waiting = region.transcript.pending
    last = waiting.index if waiting is not None else journal.count() - 1
    return merged(_earlier(region), since, through=last)


def _earlier(region: Region) -> Summary:
    if region.previous is None:
        return earlier_summary(region.transcript)
    return region.previous.state or told(region.previous.summary)

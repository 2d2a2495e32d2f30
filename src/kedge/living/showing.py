"""A session as it is read back: as the agent goes on with it, and as it was said."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from kedge.living.journal import Journal
from kedge.living.masks import as_it_stands
from kedge.living.pinning import pinned_texts
from kedge.living.region import as_kept
from kedge.living.values import Recorded
from kedge.model import Transcript, Turn
from kedge.viewing import pinned_alone, view


def in_force(journal: Journal) -> Recorded | None:
    """The compaction that the view rests on."""
    standing = journal.recorded()
    return as_it_stands(journal, standing.record) if standing else None


def pinned_beside(journal: Journal, done: Recorded | None) -> list[str]:
    """What the view says word for word beside what that compaction keeps."""
    return pinned_texts(journal, done.compaction.plan.cut if done else 0)


def context_of(journal: Journal) -> Transcript:
    """The session as the agent goes on with it."""
    done = in_force(journal)
    pinned = pinned_beside(journal, done)
    made = done.compaction if done else None
    transcript = as_kept(journal, made)
    if made is not None:
        return view(transcript, made, pinned=pinned)
    return replace(transcript, turns=(*pinned_alone(pinned), *transcript.turns))


def about_of(journal: Journal) -> Transcript:
    """What is known beside the turns, with the words that wait for an answer."""
    agents = (replace(journal.about(thread=one), agent=one) for one in journal.threads())
    return replace(journal.about(), pending=journal.pending(), agents=tuple(agents))


def turns_of(journal: Journal) -> Iterator[Turn]:
    """The turns that stand, one by one; those of sub-agents first, as they explain others."""
    for thread in (*journal.threads(), ""):
        yield from journal.turns(thread=thread)

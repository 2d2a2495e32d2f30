"""Every turn of a session that was paid for, those that were taken back included."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from kedge.living.growing import grown, written
from kedge.living.journal import Journal
from kedge.model import Turn
from kedge.store import Kind, Reading

TURNS: tuple[Kind, ...] = ("turn",)


def paid_turns(store: Reading, session: str) -> Iterator[Turn]:
    """In the order of writing. A turn that was written again with more in it comes once, as it was
    last; one in whose place another came after a rewind is given too."""
    journal = Journal(store, session)
    last: dict[str, Turn] = {}
    for entry in store.entries(session, kinds=TURNS, light=True):
        turn = replace(written(journal, entry.index, entry.number), agent=entry.thread)
        before = last.get(entry.thread)
        if before is not None and not (before.index == turn.index and grown(before, turn)):
            yield before
        last[entry.thread] = turn
    yield from last.values()

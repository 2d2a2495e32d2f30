"""Whether what is kept can be found, and the passages that find it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from kedge.archive import Damaged, passages_of, readable
from kedge.archive.packing import Blob
from kedge.checking.entries import SPOKEN
from kedge.checking.reading import UNREADABLE, entries_left
from kedge.living.growing import Growing
from kedge.model import Turn
from kedge.store import Entry, Passage, Query, Store

SOUGHT = 8
"""Turns of a session that are looked for. An index that is broken inside has the right number of
passages and does not find them; a few turns show it."""
ENOUGH = 64
"""Answers among which the turn must be: sub-agents have turns of the same number."""

Clean = Callable[[str], str]


def is_indexed(entry: Entry, passages: int, blob: Blob) -> bool:
    """Whether each text of a turn can have a passage. How many a long one has depends on what was
    left out as a secret when it was written, and nobody knows that now."""
    turn = readable(entry.data, Turn, blob)
    return passages >= len({passage.field for passage in passages_of(turn)})


def is_found(store: Store, session: str, entry: Entry) -> bool:
    """Whether a turn is found by where it stands: its words may not be there, if they were left out
    as a secret."""
    query = Query(sessions=(session,), first=entry.index, last=entry.index, limit=ENOUGH)
    try:
        return any(found.number == entry.number for found in store.find(query))
    except UNREADABLE:
        return False


def passages_anew(
    store: Store, session: str, clean: Clean, *, every: bool = False
) -> Iterator[tuple[int, Sequence[Passage]]]:
    """The passages of the entries that are not found, as `Store.reindex` takes them; of `every`
    entry where the index is broken. A turn that was written again with more in it is found once.

    What is found stays as it is: what was left out of it as a secret may not be known as one now.
    """
    growing = Growing()
    entries = entries_left(store, session, light=True)
    replaced = {growing.instead_of(entry) for entry in entries}
    there = {} if every else store.indexed(session)
    for entry in entries_left(store, session):
        if entry.kind not in SPOKEN or entry.number in replaced:
            continue
        try:
            if is_indexed(entry, there.get(entry.number, 0), store.blob):
                continue
            turn = readable(entry.data, Turn, store.blob)
        except Damaged:
            continue  # nothing of it can be read, and `check` says so
        yield entry.number, tuple(passages_of(turn, clean))

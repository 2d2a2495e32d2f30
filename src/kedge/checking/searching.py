"""Whether what is kept can be found, and the passages that find it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from kedge.archive import Damaged, passages_of, readable
from kedge.archive.packing import Blob
from kedge.archive.passages import as_it_is
from kedge.checking.entries import SPOKEN
from kedge.checking.reading import UNREADABLE, entries_left
from kedge.living.growing import Growing
from kedge.model import Turn
from kedge.store import Entry, Passage, Phrase, Query, Store, words

SOUGHT = 8
"""Turns of a session that are looked for by their words. An index that is broken inside has the
right number of passages and does not find them; a few turns show it."""
WORDS = 8
"""Words of a passage that are looked for side by side."""
ENOUGH = 64
"""Answers among which the turn must be: sub-agents have turns of the same number."""

Clean = Callable[[str], str]


def is_indexed(entry: Entry, passages: int, blob: Blob, clean: Clean) -> bool:
    """Whether a turn has as many passages as it should have. What was taken out of the index as a
    secret is looked for only where there are fewer than the text as it was said would have."""
    turn = readable(entry.data, Turn, blob)
    return any(passages >= sum(1 for _ in passages_of(turn, each)) for each in (as_it_is, clean))


def is_found(store: Store, session: str, entry: Entry, clean: Clean) -> bool:
    """Whether a turn is found by the words it begins with."""
    turn = readable(entry.data, Turn, store.blob)
    begins = (next(passages_of(turn, each), None) for each in (as_it_is, clean))
    return any(
        passage is None or _answers(store, session, entry, passage.text) for passage in begins
    )


def _answers(store: Store, session: str, entry: Entry, text: str) -> bool:
    sought = tuple(words(text)[:WORDS])
    query = Query(
        phrases=(Phrase(words=sought),) if sought else (),
        sessions=(session,),
        first=entry.index,
        last=entry.index,
        limit=ENOUGH,
    )
    try:
        return any(found.number == entry.number for found in store.find(query))
    except UNREADABLE:
        return False


def passages_anew(
    store: Store, session: str, clean: Clean
) -> Iterator[tuple[int, Sequence[Passage]]]:
    """The passages of a session with the numbers of their entries, as `Store.reindex` takes them.
    A turn that was written again with more in it is found once."""
    growing = Growing()
    entries = entries_left(store, session, light=True)
    replaced = {growing.instead_of(entry) for entry in entries}
    for entry in entries_left(store, session):
        if entry.kind in SPOKEN and entry.number not in replaced:
            try:
                turn = readable(entry.data, Turn, store.blob)
            except Damaged:
                continue  # nothing of it can be read, and `check` says so
            yield entry.number, tuple(passages_of(turn, clean))

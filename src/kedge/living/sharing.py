"""Which entry has the ids of which messages: what is taken back takes its ids with it."""

from __future__ import annotations

from collections.abc import Sequence

from kedge.living.alignment import Said
from kedge.living.tail import items_of
from kedge.model import Turn


def shared_out(
    ids: Sequence[str], new: Sequence[Said], first: int, entries: Sequence[Turn]
) -> list[list[str]]:
    """For each entry the ids of its messages. `new` are those of the messages that were read, from
    the place `first` on; the other ids go with the message before them. The order of all ids stays
    that of the messages, also where a late result belongs to an earlier turn."""
    shares: list[list[str]] = [[] for _ in entries]
    places = [set(items_of((entry,))) for entry in entries]
    read = current = 0
    for id in ids:
        if read < len(new) and id == new[read].id:
            home = (n for n in range(current, len(entries)) if first + read in places[n])
            current = next(home, current)
            read += 1
        shares[current].append(id)
    return shares

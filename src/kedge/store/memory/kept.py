"""What a store in memory keeps."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import dataclass, field

from kedge.store.memory.matching import Candidate, Indexed
from kedge.store.values import Entry, Head, Place


@dataclass
class Kept:
    """The entries of a session, and what follows from them."""

    entries: list[Entry] = field(default_factory=list)
    ranks: list[int] = field(default_factory=list)
    """When each entry was written, counted over all sessions."""
    places: dict[str, list[Place]] = field(default_factory=dict)
    said: list[str] = field(default_factory=list)
    keys: dict[str, int] = field(default_factory=dict)
    passages: dict[int, list[Indexed]] = field(default_factory=dict)

    def copy(self) -> Kept:
        return Kept(
            entries=list(self.entries),
            ranks=list(self.ranks),
            places={thread: list(places) for thread, places in self.places.items()},
            said=list(self.said),
            keys=dict(self.keys),
            passages=dict(self.passages),
        )

    def head(self) -> Head:
        if not self.entries:
            return Head()
        return Head(number=self.entries[-1].number, chain=self.entries[-1].chain)

    def take(self, entry: Entry, rank: int) -> None:
        self.entries.append(entry)
        self.ranks.append(rank)
        self.said.extend(entry.said)
        if entry.key:
            self.keys[entry.key] = entry.number
        if entry.kind in ("turn", "cut"):
            self._place(entry)

    def _place(self, entry: Entry) -> None:
        places = self.places.setdefault(entry.thread, [])
        while places and places[-1].index >= entry.index:
            places.pop()
        if entry.kind == "cut":
            return
        before = places[-1].before + places[-1].tokens if places else 0
        places.append(
            Place(
                index=entry.index,
                number=entry.number,
                tokens=entry.tokens,
                before=before,
                id=entry.id,
            )
        )

    def candidates(self, name: str) -> Iterator[Candidate]:
        for number, passages in self.passages.items():
            for part, each in enumerate(passages):
                rank = (self.ranks[number - 1], part)
                yield Candidate(rank, name, self.entries[number - 1], each)


@dataclass
class Owned:
    """What one owner has."""

    sessions: dict[str, Kept] = field(default_factory=dict)
    blobs: dict[str, bytes] = field(default_factory=dict)

    def loose(self) -> dict[str, int]:
        needed = {
            hash for kept in self.sessions.values() for each in kept.entries for hash in each.blobs
        }
        return {hash: len(data) for hash, data in self.blobs.items() if hash not in needed}


class Memory:
    """What the stores of one name share: the things of all owners, and the writer's lock."""

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.owners: dict[str, Owned] = {}
        self.rank = 0
        self.held = False

    def of(self, owner: str) -> Owned:
        return self.owners.setdefault(owner, Owned())

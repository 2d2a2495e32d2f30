"""Which records stand: rewinds and cleared contexts, from the chain of parents."""

from __future__ import annotations

from typing import NamedTuple, TypeVar

REMEMBERED = 65_536
"""Records whose place is remembered. A rewind goes back within one context window, which never
holds as many; remembering all would let memory grow with the file."""


Kept = TypeVar("Kept")


class Place(NamedTuple):
    chain: int
    """Number of the root this record hangs on; a client that clears the context begins a new one.
    """
    next_turn: int
    """Index the next turn would have had behind this record."""
    exchange: int


def remember(known: dict[str, Kept], key: str, value: Kept, *, most: int = REMEMBERED) -> None:
    """Keep a value, and no more than `most`: the oldest goes."""
    if len(known) >= most:
        del known[next(iter(known))]
    known[key] = value


class Chain:
    """Follows `parentUuid` from record to record."""

    def __init__(self) -> None:
        self._places: dict[str, Place] = {}
        self._chains = 0
        self.current = 0

    def add(
        self, uuid: str | None, parent: str | None, *, root: bool, next_turn: int, exchange: int
    ) -> None:
        """Remember a record; `root` when it begins a chain of its own."""
        if uuid is None:
            return
        chain = self.chain_of(None if root else parent or "")
        self._chains = max(self._chains, chain)
        remember(self._places, uuid, Place(chain, next_turn, exchange))

    def chain_of(self, parent: str | None) -> int:
        """The chain a record with this parent is on; without a parent it begins the next one."""
        if parent is None:
            return self._chains + 1
        behind = self._places.get(parent)
        return behind.chain if behind else self.current

    def seen(self, uuid: str | None) -> bool:
        return uuid is not None and uuid in self._places

    def behind(self, parent: str | None) -> Place | None:
        """The place a record with this parent continues from; None when it is not in the file."""
        return self._places.get(parent or "")

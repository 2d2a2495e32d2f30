"""Which records stand: rewinds and cleared contexts, from the chain of parents."""

from __future__ import annotations

from typing import NamedTuple

from kedge.formats.turns.memory import remember


class Place(NamedTuple):
    """Where the conversation stood behind a record."""

    next_turn: int
    """Index the next turn would have had."""
    exchange: int
    compactions: int
    """How many there had been."""
    branch: int = 0
    """Which of the branches that rewinds have made."""


class Chain:
    """Follows `parentUuid` from record to record.

    Records that hang on one root are one chain; a client that clears the context begins a new one.
    """

    def __init__(self) -> None:
        self._known: dict[str, tuple[int, Place]] = {}
        self._chains = 0
        self.current = 0
        """Number of the chain the conversation is on."""

    def add(self, uuid: str | None, parent: str | None, place: Place) -> None:
        """Remember a record; without a parent it begins a chain."""
        if uuid is not None:
            chain = self.chain_of(parent)
            self._chains = max(self._chains, chain)
            remember(self._known, uuid, (chain, place))

    def chain_of(self, parent: str | None) -> int:
        """The chain a record with this parent is on; the current one if the parent is not known."""
        if parent is None:
            return self._chains + 1
        known = self._known.get(parent)
        return known[0] if known else self.current

    def seen(self, uuid: str | None) -> bool:
        return uuid is not None and uuid in self._known

    def behind(self, parent: str | None) -> Place | None:
        """Where a record with this parent continues from; None when it is not in the file."""
        known = self._known.get(parent or "")
        return known[1] if known else None

"""Opening it by its place."""

from __future__ import annotations

from kedge.store.memory.kept import Memory
from kedge.store.memory.store import MemoryStore
from kedge.store.values import Durability

_SHARED: dict[str, Memory] = {}


def open_memory(place: str, *, owner: str = "", durability: Durability = "durable") -> MemoryStore:
    """`memory:` is a fresh store; `memory:NAME` is one for all in this process who name it. Nothing
    is on disk, whatever the durability."""
    name = place.partition(":")[2]
    memory = _SHARED.setdefault(name, Memory()) if name else Memory()
    return MemoryStore(memory, place=place, owner=owner)

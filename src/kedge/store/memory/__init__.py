"""A store in memory: for tests, for what need not last, and as the model of what a store does."""

from kedge.store.memory.opening import open_memory
from kedge.store.memory.store import MemoryStore

__all__ = ["MemoryStore", "open_memory"]

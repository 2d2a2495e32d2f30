"""The store: entries in order, blobs by hash, passages to search; behind one small protocol."""

from kedge.store.protocol import Reading, Store, Writing
from kedge.store.values import (
    Durability,
    Entry,
    Found,
    Head,
    Kind,
    Passage,
    Phrase,
    Place,
    Problem,
    Query,
    SessionInfo,
)
from kedge.store.words import spaced, words

__all__ = [
    "Durability",
    "Entry",
    "Found",
    "Head",
    "Kind",
    "Passage",
    "Phrase",
    "Place",
    "Problem",
    "Query",
    "Reading",
    "SessionInfo",
    "Store",
    "Writing",
    "spaced",
    "words",
]
